"""Why this rank: what a loss would do to each item of the list that is on screen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import streamlit as st

import lab.inspect
import lab.losses
from app import frame, library, sliders
from app.cache import RunView
from app.collection import Collection
from lab.inspect import ListGradients
from lab.knobs import describe

NOTHING = ""
NOT_HERE = ("variant", "include_self", "simix", "seed", "k")
"""Knobs that make no difference to one list, and k, which the page has already."""
AT_ONCE = 30_000_000
"""Pairs of a positive and an item that can be compared while a person waits."""


@dataclass(frozen=True)
class Weighed:
    """A list with its gradients. items: int64 [g], the image of each."""

    items: np.ndarray
    found: ListGradients

    def of(self, item: int) -> float | None:
        """The gradient of one image, in units of the largest; None when it is not on the list."""
        place = self._place.get(item)
        return None if place is None else float(self.found.gradients[place]) / (self.found.scale or 1.0)

    @cached_property
    def _place(self) -> dict[int, int]:
        return {int(item): at for at, item in enumerate(self.items)}


def options() -> list[str]:
    """What one can ask a gradient of; the empty name asks nothing."""
    return [NOTHING, *lab.inspect.list_losses()]


def choose(run: RunView, k: int) -> tuple[str, dict[str, Any]]:
    """Draw the loss and its knobs; the name is empty while nobody asks why."""
    name = frame.select(
        "Gradient of", options(), key="why", format=lambda one: one.replace("_", " ") or "nothing",
        help="The loss of the shown query over the whole gallery: each card then says how it is moved.",
    )  # fmt: skip
    if not name:
        return "", {}
    knobs = [knob for knob in describe(lab.losses.get(name).Knobs) if knob.name not in NOT_HERE]
    own = library.described(library.library()[run.name]).get("loss")
    root = f"why.{name}"
    if isinstance(own, dict) and own.get("name") == name and f"{root} begun" not in st.session_state:
        sliders.put(knobs, root, own)
    st.session_state[f"{root} begun"] = True
    asked = sliders.panel(knobs, root)
    return name, asked | ({"k": (k,)} if "k" in lab.losses.get(name).Knobs.model_fields else {})


def weigh(name: str, knobs: dict[str, Any], collection: Collection, item: int) -> Weighed | None:
    """The gradients of one query's list; None when it has no true match, so that no loss moves anything.

    Raises:
        ValueError: knobs that do not fit together, or too many matches to compare while somebody waits.
    """
    items, similarities, relevant = collection.whole_list(item)
    if not relevant.any():
        return None
    if len(items) * int(relevant.sum()) > AT_ONCE:
        raise ValueError(
            f"This query has {int(relevant.sum()):,} true matches among {len(items):,} images, too many to compare "
            "while somebody waits; choose a query of a smaller class."
        )
    return Weighed(items, lab.inspect.list_gradients(lab.losses.create(name, **knobs), similarities, relevant))
