"""003, table 3: repeller, minimum norm and initialisation, each on and off."""

import itertools
from typing import Any

import numpy as np
import torch

from lab import losses
from lab.core import style
from lab.core.estimates import deviation
from lab.figures import _toy
from lab.figures._base import (
    BESIDE,
    DOTTED,
    LEFT,
    Figure,
    Numbers,
    PlotlyFigure,
    knob,
    marks,
    once,
    panel,
)


class AnchorAblation(Figure):
    """mAP of the eight combinations of the parts of the class-anchor loss, and the final distance of their anchors."""

    title = "Which part of the class-anchor loss does the work?"
    source = "CAM, table 3"
    tier = "toy_training"
    question = "What happens to random anchors without repeller and without minimum norm?"
    stops = {"init_scale": (0.001, 0.01, 0.1, 1.0, 10.0), "p": (0.0, 1.0, 3.0)}

    m: float = knob("Radius around each anchor.", default=2.0, ge=0.1, le=5, source="CAM, eq. 2")
    p: float = knob("Minimum length of an anchor.", default=1.0, ge=0, le=5, source="CAM, eq. 3")
    init_scale: float = knob(
        "Standard deviation of random anchors; CAM does not state its own.",
        default=0.01,
        ge=0.001,
        le=10,
        scale="log",
    )
    steps: int = knob("Training steps.", default=60, ge=1, le=150)
    classes: int = knob("Number of classes and of dimensions.", default=8, ge=2, le=12)
    noise: float = knob("Spread of each class (noise).", default=0.5, ge=0.1, le=2)
    seeds: int = knob("Number of seeds.", default=2, ge=1, le=3)

    def training_steps(self) -> int:
        return 8 * self.knobs.seeds * self.knobs.steps

    def numbers(self) -> Numbers:
        k = self.knobs
        rows = []
        for init, repeller, min_norm in itertools.product(
            ("base", "random"), (True, False), (True, False)
        ):
            parts = {"init": init, "repeller": repeller, "min_norm": min_norm}
            settings = {
                **parts,
                "m": k.m,
                # A knob that this variant ignores has a fixed value, so that its trainings can be reused.
                "init_scale": k.init_scale if init == "random" else 1.0,
                "p": k.p if min_norm else 0.0,
            }
            knobs = tuple(settings.items())
            runs = np.array(
                [once(_run, seed, k.classes, k.noise, k.steps, knobs) for seed in range(k.seeds)]
            )
            mean = runs.mean(axis=0)
            spread = deviation(runs, axis=0)
            rows.append({**parts, "mean": mean[0], "deviation": spread[0], "apart": mean[1]})
        return {"rows": rows}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        rows = numbers["rows"]
        m = self.knobs.m
        worst = min(rows, key=lambda row: row["mean"])
        others = [row["mean"] for row in rows if row is not worst]
        figure = self.canvas(
            f"worst: {_named(worst)}, mAP <b>{worst['mean']:.2f}</b>, its anchors {worst['apart']:.2f} apart; the "
            f"other seven reach {min(others):.2f} to {max(others):.2f}. Mean and deviation over {self.knobs.seeds} "
            f"seeds, {self.knobs.steps} steps",
            panels=("score", "distance of the anchors at the end"),
            shared_yaxes=True,
            horizontal_spacing=0.06,
            x=("mAP on unseen points", "mean distance (embedding units)"),
            y=("parts of the loss",),
        )
        for index, init in enumerate(("base", "random")):
            variants = []
            scores = []
            deviations = []
            distances = []
            for row in rows:
                if row["init"] == init:
                    repeller = style.RIGHT if row["repeller"] else style.WRONG
                    min_norm = style.RIGHT if row["min_norm"] else style.WRONG
                    variants.append(f"repeller {repeller}<br>minimum norm {min_norm}")
                    scores.append(row["mean"])
                    deviations.append(row["deviation"])
                    distances.append(row["apart"])
            if init == "base":
                name = "anchors start on base vectors"
            else:
                name = "anchors start at random"
            bars = {"array": deviations, "thickness": 2}
            marks(figure, index, name, scores, variants, size=13, error_x=bars, **panel(1, init))
            marks(figure, index, name, distances, variants, size=13, error_x=None, **panel(2, init))
        figure.add_vline(
            x=2 * m,
            line=DOTTED,
            annotation_text="2m: the repeller ends ",
            annotation_position="top left",
            **BESIDE,
        )
        figure.update_xaxes(range=[0, 1], **LEFT)
        figure.update_xaxes(rangemode="tozero", **BESIDE)
        figure.update_yaxes(range=[3.5, -0.9], type="category")
        return style.legend_below(figure)

    def alt(self, numbers: Numbers) -> str:
        best = max(numbers["rows"], key=lambda row: row["mean"])
        worst = min(numbers["rows"], key=lambda row: row["mean"])
        return (
            f"mAP of eight variants of the class-anchor loss: best {best['mean']:.3f} ({_named(best)}), worst "
            f"{worst['mean']:.3f} ({_named(worst)}), where the anchors end {worst['apart']:.2f} apart."
        )


def _run(
    seed: int, classes: int, noise: float, steps: int, knobs: tuple[tuple[str, Any], ...]
) -> tuple[float, float]:
    """Train once; return the mAP on unseen points and the mean distance between the anchors at the end."""
    toy = _toy.hidden_classes(classes, 16, noise=noise, shared=True, seed=seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        loss = losses.create("class_anchor_margin", num_classes=classes, dim=classes, **dict(knobs))
    anchors: Any = loss.anchors
    score = _toy.train(loss, toy, dim=classes, steps=steps, normalise=False, seed=seed).test[-1][
        "AP"
    ]
    return score, float(torch.pdist(anchors.detach().double()).mean())


def _named(row: dict[str, Any]) -> str:
    """Return the name of a variant."""
    start = "base vectors" if row["init"] == "base" else "random start"
    parts = []
    if row["repeller"]:
        parts.append("repeller")
    if row["min_norm"]:
        parts.append("minimum norm")
    return f"{start}, {' and '.join(parts) or 'neither repeller nor minimum norm'}"
