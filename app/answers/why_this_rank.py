"""Why this rank: what a loss would do to each item of the list that is on screen."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import lab.inspect
import lab.losses
from app.forms import knob_labels, loss_knobs, sliders
from app.results import run_choice
from app.results.cache import RunView
from app.results.collection import Collection
from app.shared import background, page_frame
from lab.core.knobs import describe
from lab.inspect import ListGradients
from lab.runs.config import SECTIONS, Choice

NOTHING = ""
NOT_HERE = ("variant", "include_self", "simix", "seed", "k")
"""Knobs that make no difference to one list, and k, which the page has already."""


@dataclass(frozen=True)
class Weighed:
    """A list with its gradients. items: int64 [g], the image of each. gradients: None where there is no true match, so
    that no loss moves anything."""

    items: np.ndarray
    gradients: ListGradients | None

    def of(self, item: int) -> float | None:
        """The gradient of one image, in units of the largest; None when it is not on the list."""
        place = self._place.get(item)
        if self.gradients is None or place is None:
            return None
        return float(self.gradients.gradients[place]) / (self.gradients.scale or 1.0)

    @cached_property
    def _place(self) -> dict[int, int]:
        return {int(item): at for at, item in enumerate(self.items)}


def options() -> list[str]:
    """What one can ask a gradient of; the empty name asks nothing."""
    return [NOTHING, *lab.inspect.list_losses()]


def choose(run: RunView, k: int) -> tuple[str, dict[str, Any]]:
    """Draw the loss and its knobs; the name is empty while nobody asks why."""
    name = page_frame.select(
        "Loss", options(), key="why", format=lambda one: knob_labels.named(one) or "none", link="why",
        help="Each picture then shows how strongly this loss, computed for the query over the whole gallery, pulls it "
        "closer or pushes it away.",
    )  # fmt: skip
    if not name:
        return "", {}
    declared = lab.losses.get(name).Knobs
    knobs = [knob for knob in describe(declared) if knob.name not in NOT_HERE]
    trained = Choice.of(SECTIONS["loss"], run_choice.described(run_choice.library()[run.name]).get("loss"), stored=True)
    root = f"why.{name}"
    loss_knobs.adopt(trained, name, knobs, root)
    values = sliders.panel(knobs, root)
    loss_knobs.tell(trained, name, values)
    return name, values | ({"k": (k,)} if "k" in declared.model_fields else {})


@background.job("Computing how the loss moves every image", keep=16)
def weighed(
    name: str, split: str, stamp: float, item: int, code: str, _loss: str, _knobs: dict[str, Any], _whole: Collection
) -> Weighed:
    """The gradients of one query's list. code: tells losses apart, see `code_of`. Mostly a few hundredths of a second;
    half a minute for 6,000 true matches among 60,000 images. Memory is that of a tile of pairs.

    Raises:
        ValueError: knobs that do not fit together.
    """
    items, similarities, relevant = _whole.whole_list(item)
    if not relevant.any():
        return Weighed(items, None)
    gradients = lab.inspect.list_gradients(lab.losses.create(_loss, **_knobs), similarities, relevant)
    return Weighed(items, replace(gradients, name=knob_labels.named(_loss)))


def code_of(loss: str, knobs: dict[str, Any]) -> str:
    """Equal for equal losses."""
    return json.dumps([loss, knobs], sort_keys=True)
