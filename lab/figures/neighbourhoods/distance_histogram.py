"""004, figure 12: without the complement M- the embeddings huddle; with it they use the sphere."""

import math

import numpy as np

from lab import losses
from lab.core import style
from lab.figures import _toy
from lab.figures._base import DASHED, Figure, Numbers, PlotlyFigure, knob
from lab.figures.points import squared_distances


class DistanceHistogram(Figure):
    """Histogram of all pairwise distances after training with M+ alone and with both terms."""

    title = "Who uses the sphere? M₊ alone, and M₊ with M₋"
    source = "Contextual, figure 12"
    tier = "toy_training"
    question = "The paper finds that M₋ keeps the embeddings apart. After how many steps does the toy agree?"
    stops = {"steps": (0, 20, 40, 80, 150), "gamma": (0.0, 0.1, 0.5)}

    alone: bool = knob("Train with M+ alone.", default=True)
    both: bool = knob("Train with M+ and M-.", default=True)
    gamma: float = knob(
        "Weight of the similarity regulariser.", default=0.0, ge=0, le=1, source="Contextual, eq. 7"
    )
    dim: int = knob("Width of the embeddings.", default=16, ge=2, le=64)
    steps: int = knob("Training steps.", default=80, ge=0, le=150)
    seed: int = knob("Random seed.", default=0, ge=0, le=99)

    def training_steps(self) -> int:
        return (self.knobs.alone + self.knobs.both) * self.knobs.steps

    def numbers(self) -> Numbers:
        k = self.knobs
        toy = _toy.hidden_classes(noise=0.5, seed=k.seed)
        edges = np.linspace(0, 2, 51)
        curves = {}
        for name, trained, complement in (
            ("M₊ alone", k.alone, False),
            ("M₊ and M₋", k.both, True),
        ):
            if not trained:
                continue
            loss = losses.create("contextual", lam=1.0, gamma=k.gamma, complement=complement)
            points = _toy.train(loss, toy, dim=k.dim, steps=k.steps, seed=k.seed).embeddings[-1][0]
            distances = np.sqrt(squared_distances(points, points)[np.triu_indices(len(points), 1)])
            share = np.histogram(distances, edges)[0] / len(distances)
            curves[name] = {"share": share, "mean": float(distances.mean())}
        return {"edges": edges, "curves": curves}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        subtitle = " · ".join(
            f"{name}: mean <b>{curve['mean']:.3f}</b>" for name, curve in numbers["curves"].items()
        )
        figure = self.canvas(
            f"{subtitle} · uniform √2 = 1.414",
            x="distance of two embeddings",
            y="share of the pairs",
        )
        for index, (name, curve) in enumerate(numbers["curves"].items()):
            figure.add_scatter(
                x=numbers["edges"],
                y=np.append(curve["share"], curve["share"][-1]),
                name=name,
                fill="tozeroy",
                line={**style.line(1 - index), "shape": "hv"},
                opacity=0.8,
            )
        figure.add_vline(
            x=math.sqrt(2),
            line=DASHED,
            annotation_text="√2, uniform",
            annotation_position="top left",
        )
        return figure

    def alt(self, numbers: Numbers) -> str:
        values = ", ".join(
            f"{name} {curve['mean']:.3f}" for name, curve in numbers["curves"].items()
        )
        return (
            f"Histograms of pairwise distances after {self.knobs.steps} steps. "
            f"Means: {values}; uniform would be 1.414."
        )
