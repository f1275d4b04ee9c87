"""003, table 3: repeller, minimum norm and initialisation, each on and off."""

from __future__ import annotations

import itertools

import torch

from lab import losses
from lab.core import style
from lab.core.knobs import Knobs, knob
from lab.figures import _toy
from lab.figures._base import Figure, Numbers, PlotlyFigure


class AnchorAblation(Figure):
    """mAP of the eight combinations of the parts of the class-anchor loss."""

    title = "Which part of the class-anchor loss does the work?"
    source = "CAM, table 3"
    tier = "toy_training"
    question = "What happens to random anchors without repeller and without minimum norm?"

    class Knobs(Knobs):
        """The toy and the margins."""

        m: float = knob(2.0, "Radius around each anchor.", ge=0.1, le=5, source="CAM, eq. 2")
        p: float = knob(1.0, "Least length of an anchor.", ge=0, le=5, source="CAM, eq. 3")
        init_scale: float = knob(
            0.01, "Deviation of random anchors; CAM does not tell its own.", ge=0.001, le=10, scale="log"
        )
        steps: int = knob(60, "Training steps.", ge=1, le=150)
        classes: int = knob(8, "Number of classes and of dimensions.", ge=2, le=12)
        noise: float = knob(0.5, "Spread of each class (noise).", ge=0.1, le=2)
        seeds: int = knob(2, "Number of seeds.", ge=1, le=3)

    def training_steps(self) -> int:
        return 8 * self.knobs.seeds * self.knobs.steps

    def numbers(self) -> Numbers:
        k = self.knobs

        def run(knobs: dict, seed: int) -> float:
            toy = _toy.hidden_classes(k.classes, 16, noise=k.noise, shared=True, seed=seed)
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                loss = losses.create("class_anchor_margin", num_classes=k.classes, dim=k.classes, m=k.m, p=k.p, **knobs)
            return _toy.train(loss, toy, dim=k.classes, steps=k.steps, normalise=False, seed=seed).test[-1]["AP"]

        rows = []
        for init, repeller, min_norm in itertools.product(("base", "random"), (True, False), (True, False)):
            parts = {"init": init, "repeller": repeller, "min_norm": min_norm}
            knobs = {**parts, "init_scale": k.init_scale}
            mean, deviation = _toy.sweep(lambda _, seed, knobs=knobs: run(knobs, seed), [0], k.seeds)
            rows.append({**parts, "mean": mean[0], "deviation": deviation[0]})
        return {"rows": rows}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        import plotly.graph_objects as go

        figure = style.canvas(
            self.title,
            f"mean and deviation over {self.knobs.seeds} seeds, {self.knobs.steps} steps",
            x="parts of the loss",
            y="mAP on unseen points",
        )
        for index, init in enumerate(("base", "random")):
            rows = [row for row in numbers["rows"] if row["init"] == init]
            names = [
                f"repeller {style.RIGHT if row['repeller'] else style.WRONG}<br>"
                f"minimum norm {style.RIGHT if row['min_norm'] else style.WRONG}"
                for row in rows
            ]
            figure.add_trace(
                go.Bar(
                    x=names, y=[row["mean"] for row in rows], error_y={"array": [row["deviation"] for row in rows]},
                    name=f"anchors start on {init} vectors" if init == "base" else "anchors start at random",
                    marker={"color": style.COLOURS[index], "pattern": {"shape": ["", "/"][index]}},
                    text=[f"{row['mean']:.3f}" for row in rows], textposition="inside", insidetextanchor="start",
                )
            )  # fmt: skip
        figure.update_yaxes(range=[0, 1])
        style.legend_below(figure)
        figure.update_layout(margin={"b": 125})
        return figure

    def alt(self, numbers: Numbers) -> str:
        best = max(numbers["rows"], key=lambda row: row["mean"])
        worst = min(numbers["rows"], key=lambda row: row["mean"])
        words = [
            f"{row['mean']:.3f} ({row['init']} start, repeller {row['repeller']}, minimum norm {row['min_norm']})"
            for row in (best, worst)
        ]
        return f"mAP of eight variants: best {words[0]}, worst {words[1]}."
