"""004, figure 6: label noise, foreign images and few classes, loss by loss."""

from typing import Any, Literal

from lab import losses
from lab.figures import _toy
from lab.figures._base import Numbers, knob
from lab.figures._toy_sweep import Axis, Data, ToySweep, data_knob
from lab.figures.neighbourhoods.train_test_paths import RECIPES, check_recipes

MADE = {"wrong labels": "wrong_labels", "foreign images": "foreign", "classes kept": "classes"}
"""Argument of the toy that does each damage."""


class NoiseRobustness(ToySweep):
    """Test r@1 of several losses as the training data get worse."""

    title = "How robust are losses to bad training data?"
    source = "Contextual, figure 6"
    question = "Which loss loses least from clean to noisy?"
    moves = ("data", "damage")
    chosen_by = "damage"
    note = "mean and deviation over {seeds} seeds, {steps} steps"
    words = "Test r@1 by {damage}, from {first:g} to {last:g}"
    axes = {
        "wrong labels": Axis(
            "share of wrong training labels",
            (0.0, 0.1, 0.2, 0.4),
            ("contextual_noise", "wrong labels", None),
        ),
        "foreign images": Axis("share of training images of no class", (0.0, 0.1, 0.2, 0.4)),
        "classes kept": Axis(
            "training classes kept", (6, 9, 12, 16), ("contextual_classes", "classes", None)
        ),
    }

    data: Data = data_knob()
    damage: Literal["wrong labels", "foreign images", "classes kept"] = knob(
        "Kind of damage to the training data.", default="wrong labels"
    )
    losses: tuple[str, ...] = knob(
        "Losses to train.", default=("contextual", "contrastive", "ROADMAP")
    )
    steps: int = knob("Training steps.", default=60, ge=1, le=120)
    noise: float = knob("Spread of each class (noise).", default=0.5, ge=0.1, le=2)
    seeds: int = knob("Number of seeds.", default=2, ge=1, le=3)

    def lines(self) -> dict[str, tuple[str, str]]:
        return {name: (name, "r@1") for name in self.knobs.losses}

    def toy(self, setting: Any, seed: int) -> _toy.Toy:
        return _toy.hidden_classes(
            noise=self.knobs.noise, seed=seed, **{MADE[self.knobs.damage]: setting}
        )

    def scores(self, loss: str, setting: Any, seed: int) -> dict[str, float]:
        toy = self.toy(setting, seed)
        name, knobs = RECIPES[loss]
        return _toy.train(
            losses.create(name, **knobs), toy, steps=self.knobs.steps, seed=seed
        ).test[-1]

    def numbers(self) -> Numbers:
        if self.knobs.data == "toy":
            check_recipes(self)
        title = self.axes[self.knobs.damage].title
        if self.knobs.data != "toy" and self.knobs.damage == "classes kept":
            title = "share of the training classes kept"
        return super().numbers() | {"axis": title}
