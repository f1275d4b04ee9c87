"""The knobs of a loss as sliders, and in the address those that somebody has moved."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import streamlit as st

from app.forms import sliders
from app.shared import address
from lab.core.knobs import Knob
from lab.runs.config import SECTIONS, Choice


def at_first(trained: Choice, name: str, moved: dict[str, Any] | None = None) -> dict[str, Any]:
    """The knobs with which a loss is first shown, those of a run's `trained` if it is that; `moved` ones are checked.

    Raises:
        ValueError: a knob that the loss does not have, or a value out of range.
    """
    begin = trained.values if name == trained.name else {}
    return Choice.of(SECTIONS["loss"], {**begin, **(moved or {}), "name": name}).values


def adopt(trained: Choice, name: str, knobs: Sequence[Knob], root: str) -> None:
    """Put the sliders where a new address says, as far as that is legal; a loss that is new here begins `at_first`."""

    def read(text: str) -> dict[str, Any]:
        values = json.loads(text)
        if not isinstance(values, dict):
            raise ValueError("knobs must be an object")
        return at_first(trained, name, values)

    key, begun = f"{root} given", f"{root} begun"
    address.adopt("knobs", read, key=key, default=at_first(trained, name))
    sent = st.session_state.pop(key, None)
    if sent or begun not in st.session_state:
        sliders.put(knobs, root, sent or at_first(trained, name))
        st.session_state[begun] = True


def tell(trained: Choice, name: str, values: dict[str, Any]) -> None:
    """Have the knobs that were moved in the address."""
    begun = at_first(trained, name)
    moved = {knob: value for knob, value in values.items() if knob not in begun or value != begun[knob]}
    address.tell("knobs", json.dumps(moved, separators=(",", ":")) if moved else None)
