"""004, figure 9: the decomposability gap along training, for several weights of the contextual part."""

import numpy as np
import torch

from lab import losses
from lab.core import style
from lab.figures import _toy
from lab.figures._base import BESIDE, DOTTED, LEFT, Figure, Numbers, PlotlyFigure, curve, knob, once
from lab.inspect import decomposability


class GapInTraining(Figure):
    """AP in batches and AP of everything while a small network trains."""

    title = "The decomposability gap while a network learns"
    source = "Contextual, figure 9 and appendix D; ROADMAP, eq. 6"
    tier = "toy_training"
    question = "Does the contrastive part (small λ) close the gap, as the paper says?"
    stops = {"batch": (4, 8, 16, 32), "noise": (0.3, 0.5, 1.0)}

    lam: tuple[float, ...] = knob(
        "Weights of the contextual part.",
        default=(0.0, 0.4, 1.0),
        ge=0,
        le=1,
        source="Contextual, eq. 6",
    )
    batch: int = knob("Points in a batch on which AP is measured.", default=16, ge=4, le=64)
    classes: int = knob("Classes in a training batch, of 12.", default=8, ge=2, le=12)
    per_class: int = knob(
        "Points of each class in a training batch; 12 of 12 classes are the whole set.",
        default=4,
        ge=2,
        le=12,
    )
    steps: int = knob("Training steps.", default=60, ge=6, le=120)
    noise: float = knob("Spread of each class (noise).", default=0.5, ge=0.1, le=2)
    seed: int = knob("Random seed.", default=0, ge=0, le=99)

    def training_steps(self) -> int:
        return len(self.knobs.lam) * self.knobs.steps

    def numbers(self) -> Numbers:
        k = self.knobs
        paths = {}
        for lam in k.lam:
            trace, labels = once(_trained, lam, k.classes, k.per_class, k.steps, k.noise, k.seed)
            gaps = [decomposability(e, labels, [k.batch], splits=2) for e, _ in trace.embeddings]
            paths[lam] = {
                "steps": trace.steps,
                "inside": np.array([g.batch_ap.mean() for g in gaps]),
                "whole": np.array([g.global_ap for g in gaps]),
            }
        raw = _toy.untrained(_toy.hidden_classes(noise=k.noise, seed=k.seed).train)["AP"]
        return {"paths": paths, "raw": raw}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        figure = self.canvas(
            f"training classes; trained on batches of {self.knobs.classes * self.knobs.per_class}, measured in batches "
            f"of {self.knobs.batch}",
            panels=("AP in batches (thin) and of everything (thick)", "decomposability gap"),
            x="training step",
            y=("AP", "AP in batches minus AP of all"),
        )
        for index, (lam, path) in enumerate(numbers["paths"].items()):
            inside = path["inside"]
            whole = path["whole"]
            for column, y, width in ((1, inside, 1.2), (1, whole, 3.5), (2, inside - whole, 2.5)):
                curve(
                    figure,
                    index,
                    f"λ = {lam:g}",
                    path["steps"],
                    y,
                    width=width,
                    size=6,
                    legendgroup=str(lam),
                    showlegend=column == 2,
                    row=1,
                    col=column,
                )
        figure.add_hline(
            y=numbers["raw"],
            line=DOTTED,
            annotation_text="AP of all raw points, no training",
            **LEFT,
        )
        figure.update_yaxes(rangemode="tozero", **BESIDE)
        return style.legend_below(figure)

    def alt(self, numbers: Numbers) -> str:
        values = ", ".join(
            f"{p['inside'][-1] - p['whole'][-1]:.3f} at lambda {lam:g}"
            for lam, p in numbers["paths"].items()
        )
        return f"Decomposability gap along training for batches of {self.knobs.batch}; at the end {values}."


def _trained(
    lam: float, classes: int, per_class: int, steps: int, noise: float, seed: int
) -> tuple[_toy.Trace, torch.Tensor]:
    """Train once; return the trace and the labels of the points."""
    toy = _toy.hidden_classes(noise=noise, seed=seed)
    loss = losses.create("contextual", lam=lam, gamma=0.0)
    trace = _toy.train(
        loss,
        toy,
        classes=classes,
        per_class=per_class,
        steps=steps,
        every=max(1, steps // 6),
        seed=seed,
    )
    return trace, toy.train.labels
