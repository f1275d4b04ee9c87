"""003, figure 3: what cross-entropy, contrastive loss and class anchors do with two dimensions."""

from typing import Any

import numpy as np
import torch

from lab import losses
from lab.core import style
from lab.figures import _toy
from lab.figures._base import LEFT, Figure, Numbers, PlotlyFigure, knob, marks
from lab.figures.points import letters, set_metrics


class Embeddings2d(Figure):
    """Three losses, two-dimensional output: training points above, test points below, with the anchors.

    Our contrastive loss lives on the unit circle; CAM gives no details of its own. Nor does this toy show the paper's
    order of the losses: cross-entropy stays ahead of the anchors here, at m = 4 as at m = 2.
    """

    title = "Two dimensions, three losses"
    source = "CAM, figure 3"
    tier = "toy_training"
    question = "Which loss leaves room between the classes, and which spreads them into rays?"
    stops = {"steps": (0, 30, 60, 120, 200, 300), "m": (1.0, 2.0, 4.0)}

    steps: int = knob("Training steps.", default=120, ge=0, le=300)
    classes: int = knob("Number of classes.", default=5, ge=2, le=8)
    per_class: int = knob("Points per class in each set.", default=30, ge=4, le=60)
    m: float = knob("Radius around each anchor.", default=4.0, ge=0.1, le=5, source="CAM, figure 3")
    p: float = knob("Minimum length of an anchor.", default=1.0, ge=0, le=5, source="CAM, eq. 3")
    noise: float = knob("Spread of each class (noise).", default=0.35, ge=0.1, le=2)
    lr: float = knob("Learning rate.", default=0.02, ge=0.001, le=0.1, scale="log")
    density: bool = knob("Draw the density of the points.", default=False)
    seed: int = knob("Random seed.", default=0, ge=0, le=99)

    def training_steps(self) -> int:
        return 3 * self.knobs.steps

    def numbers(self) -> Numbers:
        k = self.knobs
        toy = _toy.hidden_classes(
            k.classes, k.per_class, signal=3, nuisance=5, noise=k.noise, shared=True, seed=k.seed
        )
        owned = {"num_classes": k.classes, "dim": 2}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(k.seed)
            recipes: dict[str, tuple[Any, bool]] = {
                "cross-entropy": (losses.create("cross_entropy", **owned), False),
                "contrastive": (losses.create("contrastive"), True),
                "class anchors": (
                    losses.create("class_anchor_margin", m=k.m, p=k.p, init="random", **owned),
                    False,
                ),
            }
        panes = {}
        for name, (loss, normalise) in recipes.items():
            trace = _toy.train(
                loss,
                toy,
                dim=2,
                steps=k.steps,
                classes=k.classes,
                per_class=8,
                lr=k.lr,
                normalise=normalise,
                seed=k.seed,
            )
            both = trace.embeddings[-1]
            panes[name] = {
                "train": both[0],
                "test": both[1],
                "anchors": loss.anchors.detach().double().numpy()
                if name == "class anchors"
                else None,
                "MAP@R": set_metrics(both[1], toy.test.labels.numpy())["MAP@R"],
            }
        return {"panes": panes, "train": toy.train.labels.numpy(), "test": toy.test.labels.numpy()}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        panes = numbers["panes"]
        best = max(panes, key=lambda name: panes[name]["MAP@R"])
        figure = self.canvas(
            f"after {self.knobs.steps} steps; both axes of a column have one scale. In the paper class anchors part "
            f"unseen points best; here {'they do, too' if best == 'class anchors' else f'{best} does'}",
            panels=(
                *(f"{n}, test MAP@R <b>{p['MAP@R']:.2f}</b>" for n, p in panes.items()),
                *[""] * len(panes),
            ),
            rows=2,
            cols=3,
            height=700,
            horizontal_spacing=0.06,
            vertical_spacing=0.06,
        )
        for column, pane in enumerate(panes.values(), 1):
            every = np.concatenate([pane["train"], pane["test"]])
            middle = (every.max(0) + every.min(0)) / 2
            half = 0.56 * np.ptp(every, axis=0).max()
            for row, part in enumerate(("train", "test"), 1):
                self._panel(figure, pane, part, numbers[part], row, column)
                number = 3 * (row - 1) + column
                figure.update_xaxes(range=[middle[0] - half, middle[0] + half], row=row, col=column)
                figure.update_yaxes(
                    range=[middle[1] - half, middle[1] + half],
                    constrain="domain",
                    scaleanchor="x" if number == 1 else f"x{number}",
                    row=row,
                    col=column,
                )
        figure.update_xaxes(title_text="first coordinate", row=2)
        figure.update_yaxes(title_text="training · second coordinate", **LEFT)
        figure.update_yaxes(title_text="unseen · second coordinate", row=2, col=1)
        return style.legend_below(figure)

    def _panel(
        self, figure: PlotlyFigure, pane: dict, part: str, labels: np.ndarray, row: int, column: int
    ) -> None:
        """Draw one set under one loss: the points, the letter of each class at its mean, and the anchors."""
        points = pane[part]
        where = {"row": row, "col": column}
        if self.knobs.density:
            figure.add_histogram2dcontour(
                x=points[:, 0],
                y=points[:, 1],
                ncontours=8,
                showscale=False,
                hoverinfo="skip",
                colorscale=[[0, "rgba(255,255,255,0)"], [1, "rgba(110,110,110,0.45)"]],
                contours={"coloring": "fill", "showlines": False},
                **where,
            )
        for c in np.unique(labels):
            mine = points[labels == c]
            marks(
                figure,
                int(c),
                f"class {letters([c])[0]}",
                mine[:, 0],
                mine[:, 1],
                size=7,
                legendgroup=str(c),
                showlegend=column == row == 1,
                **where,
            )
            # an anchor stands in the middle of its class
            above = 0 if pane["anchors"] is None else 20
            style.note(
                figure,
                f"<b>{letters([c])[0]}</b>",
                *np.median(mine, axis=0),
                yshift=above,
                font={"size": 14},
                **where,
            )
        if pane["anchors"] is not None:
            figure.add_scatter(
                x=pane["anchors"][:, 0],
                y=pane["anchors"][:, 1],
                mode="markers",
                name="anchors",
                showlegend=row == 1,
                marker={
                    "symbol": "star",
                    "size": 15,
                    "color": "white",
                    "line": {"width": 2, "color": style.BLACK},
                },
                **where,
            )

    def alt(self, numbers: Numbers) -> str:
        values = ", ".join(f"{name} {pane['MAP@R']:.3f}" for name, pane in numbers["panes"].items())
        return f"Two-dimensional embeddings of three losses after {self.knobs.steps} steps. Test MAP@R: {values}."
