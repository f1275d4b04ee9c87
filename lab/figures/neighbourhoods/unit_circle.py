"""004, figure 4: one point rolls around the circle, and contextual and contrastive loss watch it."""

import numpy as np
import torch

from lab.core import style
from lab.figures._base import (
    BESIDE,
    DOTTED,
    Figure,
    Numbers,
    PlotlyFigure,
    knob,
    marks,
    slack,
    slope,
)
from lab.kernels.plain.neighbours import Steps, contextual_similarity
from lab.surrogates import ConstantGradient


class UnitCircle(Figure):
    """Two classes on the unit circle; a point of the second moves from the first centroid to its own."""

    title = "Contextual and contrastive gradient on a circle"
    source = "Contextual, figure 4"
    tier = "instant"
    question = "Where does the contextual gradient stop, and where does the contrastive one?"

    place: float = knob(
        "Position of the point: 0 at the wrong centroid, 1 at its own.", default=0.3, ge=0, le=1
    )
    points: int = knob(
        "Number of points on the circle, half of each class.", default=64, ge=8, le=64
    )
    spread: float = knob(
        "Spread of a class along the circle.",
        default=0.2,
        ge=0.02,
        le=1,
        scale="log",
        unit="radians",
    )
    k: int = knob(
        "Number of neighbours, the point itself included.",
        default=32,
        ge=2,
        le=32,
        source="Contextual, eq. 2",
    )
    eps: float = slack(0.05)
    alpha: float = slope()
    delta_pos: float = knob(
        "Contrastive margin for positives.",
        default=0.75,
        ge=-1,
        le=1,
        unit="cosine",
        source="Contextual, eq. 29",
    )
    delta_neg: float = knob(
        "Contrastive margin for negatives.",
        default=0.6,
        ge=-1,
        le=1,
        unit="cosine",
        source="Contextual, eq. 29",
    )
    positions: int = knob(
        "Number of positions at which the losses are computed.", default=19, ge=5, le=101
    )
    seed: int = knob("Random seed.", default=0, ge=0, le=999)

    def numbers(self) -> Numbers:
        k = self.knobs
        random = np.random.default_rng(k.seed)
        labels = np.arange(k.points) % 2
        angles = np.where(labels == 0, np.pi / 2, 0.0) + k.spread * random.normal(size=k.points)
        mover = 1  # a point of the second class
        places = np.union1d(np.linspace(0, 1, k.positions), [k.place])
        same = torch.from_numpy(labels[:, None] == labels[None, :])
        values = {name: np.zeros((len(places), 2)) for name in ("contextual", "contrastive")}
        for row, place in enumerate(places):
            for name, loss in (("contextual", self.contextual), ("contrastive", self.contrastive)):
                phi = torch.tensor((1 - place) * np.pi / 2, dtype=torch.float64, requires_grad=True)
                turned = torch.from_numpy(angles).index_copy(0, torch.tensor([mover]), phi[None])
                units = torch.stack([turned.cos(), turned.sin()], dim=1)
                value = loss(units @ units.T, same)
                (grad,) = torch.autograd.grad(value, phi)
                values[name][row] = value.item(), grad.item()
        return {
            "angles": angles,
            "labels": labels,
            "mover": mover,
            "places": places,
            "values": values,
        }

    def contextual(self, s: torch.Tensor, same: torch.Tensor) -> torch.Tensor:
        """Return L_context of 004, eq. 5, given cosines [n n]."""
        k = self.knobs
        steps = Steps(k=min(k.k, k.points), eps=k.eps, theta=ConstantGradient(k.alpha))
        w = contextual_similarity((2 - 2 * s).clamp_min(0), steps)
        return (same.to(w) - w).square().fill_diagonal_(0).mean()

    def contrastive(self, s: torch.Tensor, same: torch.Tensor) -> torch.Tensor:
        """Return L_contrast of 004, eq. 29, given cosines [n n]."""
        other = ~torch.eye(len(s), dtype=torch.bool)
        parts = (
            (self.knobs.delta_pos - s)[same & other].relu(),
            (s - self.knobs.delta_neg)[~same].relu(),
        )
        return sum(p.sum() / (p > 0).sum().clamp(min=1) for p in parts)

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        place = self.knobs.place
        places = numbers["places"]
        at = int(np.searchsorted(places, place))
        here = {name: v[at] for name, v in numbers["values"].items()}
        figure = self.canvas(
            f"pull towards its own class here: contextual <b>{here['contextual'][1]:.3f}</b>, contrastive "
            f"<b>{here['contrastive'][1]:.3f}</b> (loss / radian)",
            panels=("contextual loss", "the points", "contrastive loss"),
            cols=3,
            height=430,
            column_widths=[0.36, 0.28, 0.36],
            horizontal_spacing=0.12,
            specs=[[{"secondary_y": True}, {}, {"secondary_y": True}]],
        )
        for column, name in ((1, "contextual"), (3, "contrastive")):
            value, pull = numbers["values"][name].T
            for index, (what, y) in enumerate(
                (("loss", value), ("pull towards its own class", pull))
            ):
                figure.add_scatter(
                    x=places,
                    y=y,
                    name=what,
                    legendgroup=what,
                    showlegend=column == 1,
                    mode="lines",
                    line={
                        **style.line(index),
                        "shape": "hv" if name == "contextual" and index == 0 else "linear",
                    },
                    row=1,
                    col=column,
                    secondary_y=index == 1,
                )
            figure.update_yaxes(
                title_text="loss", rangemode="tozero", row=1, col=column, secondary_y=False
            )
            figure.update_yaxes(
                title_text="pull (loss / radian)",
                showgrid=False,
                rangemode="tozero",
                tickmode="auto",
                nticks=6,
                row=1,
                col=column,
                secondary_y=True,
            )
            figure.add_vline(x=place, line=DOTTED, row=1, col=column)
            figure.update_xaxes(title_text="place (0 wrong, 1 own class)", row=1, col=column)
        self._draw_points(figure, numbers)
        return style.legend_below(figure)

    def _draw_points(self, figure: PlotlyFigure, numbers: Numbers) -> None:
        """Draw both classes on the circle, and the point that moves between them."""
        angles = numbers["angles"].copy()
        angles[numbers["mover"]] = (1 - self.knobs.place) * np.pi / 2
        x = np.cos(angles)
        y = np.sin(angles)
        mover = numbers["mover"]
        for index, name in enumerate(("first class", "second class")):
            mine = (numbers["labels"] == index) & (np.arange(len(angles)) != mover)
            marks(figure, index, name, x[mine], y[mine], size=8, opacity=0.6, **BESIDE)
        figure.add_scatter(
            x=[x[mover]],
            y=[y[mover]],
            mode="markers",
            name="the moving point",
            marker={
                "symbol": "star",
                "size": 17,
                "color": style.VERMILLION,
                "line": {"width": 1.5, "color": style.BLACK},
            },
            **BESIDE,
        )
        around = np.linspace(0, 2 * np.pi, 73)
        figure.add_scatter(
            x=np.cos(around),
            y=np.sin(around),
            mode="lines",
            line={"color": style.GREY, "width": 1},
            hoverinfo="skip",
            showlegend=False,
            **BESIDE,
        )
        figure.update_xaxes(title_text="first coordinate", **BESIDE)
        figure.update_yaxes(scaleanchor="x2", **BESIDE)

    def alt(self, numbers: Numbers) -> str:
        at = int(np.searchsorted(numbers["places"], self.knobs.place))
        each = ", ".join(
            f"{n} {v[at][0]:.3f} with pull {v[at][1]:.3f}" for n, v in numbers["values"].items()
        )
        return (
            "Losses as one point rolls from the wrong centroid to its own; at "
            f"{self.knobs.place:g} of the way: {each}."
        )
