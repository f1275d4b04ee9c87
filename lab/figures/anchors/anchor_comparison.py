"""003, figures 4 to 6: class anchors, cross-entropy and contrastive loss by width, by time and by shots."""

from typing import Any, Literal

import torch

from lab import losses
from lab.figures import _toy
from lab.figures._base import knob
from lab.figures._toy_sweep import Axis, Data, ToySweep, data_knob

LOSSES = {
    "cross-entropy": "cross_entropy",
    "contrastive": "contrastive",
    "class anchors": "class_anchor_margin",
}


class AnchorComparison(ToySweep):
    """mAP of three losses on unseen points of the training classes by axis; toys start at 2 shots, the paper at 1."""

    title = "Class anchors by width, time and images a class"
    source = "CAM, figures 4, 5 and 6"
    question = "Which loss needs the fewest dimensions, the fewest steps, the fewest images?"
    moves = ("data", "axis")
    chosen_by = "axis"
    protocol = "seen"
    note = "mean and deviation over {seeds} seeds, {classes} classes"
    words = "mAP by {title}, from {first} to {last}"
    axes = {
        "dim": Axis(
            "width of the embeddings (log scale)",
            (2, 4, 8, 16, 32),
            ("anchor_widths", "width", "mAP"),
            "log",
        ),
        "steps": Axis(
            "training steps (log scale)",
            (5, 15, 30, 60, 120),
            ("anchor_epochs", "steps", "mAP"),
            "log",
        ),
        "shots": Axis(
            "training images a class (log scale)",
            (2, 4, 8, 16),
            ("anchor_shots", "shots", "mAP"),
            "log",
        ),
    }

    data: Data = data_knob()
    _axis: Literal["dim", "steps", "shots"] = knob("Setting to vary.", default="dim", alias="axis")
    classes: int = knob("Number of classes.", default=8, ge=2, le=12)
    steps: int = knob("Training steps, unless they are varied.", default=60, ge=1, le=150)
    dim: int = knob("Width of the embeddings, unless it is varied.", default=8, ge=2, le=64)
    noise: float = knob("Spread of each class (noise).", default=0.5, ge=0.1, le=2)
    seeds: int = knob("Number of seeds.", default=2, ge=1, le=3)

    def lines(self) -> dict[str, tuple[str, str]]:
        return {name: (loss, "AP") for name, loss in LOSSES.items()}

    def toy(self, setting: float, seed: int) -> _toy.Toy:
        shots = int(setting) if self.knobs.axis == "shots" else 16
        return _toy.hidden_classes(
            self.knobs.classes, shots, noise=self.knobs.noise, shared=True, seed=seed
        )

    def scores(self, loss: str, setting: float, seed: int) -> dict[str, float]:
        k = self.knobs
        size = {"dim": k.dim, "steps": k.steps, "shots": 16} | {k.axis: int(setting)}
        toy = self.toy(setting, seed)
        knobs: dict[str, Any]
        if loss == "contrastive":
            knobs = {}
        else:
            knobs = {"num_classes": k.classes, "dim": size["dim"]}
        if loss == "class_anchor_margin":
            knobs["init"] = "base" if k.classes <= size["dim"] else "random"
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            made = losses.create(loss, **knobs)
        return _toy.train(
            made,
            toy,
            dim=size["dim"],
            steps=size["steps"],
            per_class=min(4, size["shots"]),
            normalise=loss == "contrastive",
            seed=seed,
        ).test[-1]

    def score_title(self) -> str:
        return f"mAP on unseen {'images' if self.knobs.data == 'Emoji-7' else 'points'}"
