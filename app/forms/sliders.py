"""The knobs of a figure or a loss as sliders, for pages that answer while something moves."""

from collections.abc import Iterable, Sequence
from typing import Any

import streamlit as st

from app.forms import knob_forms
from app.shared import address, page_frame
from lab.core.knobs import Knob, labels
from lab.core.knobs.sliders import linear_steps, log_steps, tidy
from lab.runs.config import SECTIONS, Choice


def panel(knobs: Iterable[Knob], root: str) -> dict[str, Any]:
    """Draw a slider, switch or field for each knob, one below the other, and return their values.

    root: the values live in the session's state under `ROOT.NAME`.
    """
    return {
        knob.name: value for knob in knobs if (value := slider(knob, f"{root}.{knob.name}")) is not knob_forms.MISSING
    }


def put(knobs: Iterable[Knob], root: str, values: dict[str, Any]) -> None:
    """Move the sliders of a panel that has not been drawn yet; knobs that are not named go to their defaults."""
    for knob in knobs:
        value, key = values.get(knob.name, knob.default), f"{root}.{knob.name}"
        st.session_state[key] = value if _slides(knob) else knob_forms.widget_value(knob, value)
        st.session_state.pop(f"{key} stop", None)


def slider(knob: Knob, key: str) -> Any:
    """One knob: numbers slide, logarithmically where they are declared so; everything else is a field of the forms."""
    if not _slides(knob):
        return knob_forms.knob_widget(knob, key)
    page_frame.keep(key, knob.default)
    if isinstance(st.session_state[key], str):  # so Streamlit hands the stop of a slider back from another page
        st.session_state[key] = knob.kind(float(st.session_state[key]))
    value = st.session_state[key]
    label = labels.label(knob)
    common: dict[str, Any] = {"key": key, "help": knob_forms.help_text(knob), "persist_state": "session"}
    # A value from an address may lie between two stops; it stays one, or the slider would change under the hand.
    stop = st.session_state.setdefault(f"{key} stop", value)
    if knob.scale == "log":
        return st.select_slider(label, log_steps(knob, stop), format_func=lambda number: f"{number:g}", **common)
    low, high, step = linear_steps(knob, stop)
    if knob.kind is int:
        return st.slider(label, low, high, step=step, **common)
    if not low <= value <= high or not isinstance(value, float):
        st.session_state[key] = min(max(float(value), low), high)
    return tidy(knob, st.slider(label, low, high, step=step, format="%.4g", **common))


def _slides(knob: Knob) -> bool:
    return knob.kind in (int, float) and not (knob.many or knob.optional or knob.choices or knob.required)


def at_first(trained: Choice, name: str, moved: dict[str, Any] | None = None) -> dict[str, Any]:
    """The knobs with which a loss is first shown, those of a run's `trained` if it is that; `moved` ones are checked.

    Raises:
        ValueError: a knob that the loss does not have, or a value out of range.
    """
    begin = trained.values if name == trained.name else {}
    return Choice.of(SECTIONS["loss"], {**begin, **(moved or {}), "name": name}).values


def adopt(trained: Choice, name: str, knobs: Sequence[Knob], root: str) -> None:
    """Put the sliders where a new address says, as far as that is legal; a loss that is new here begins `at_first`."""
    key, begun, first = f"{root} given", f"{root} begun", at_first(trained, name)
    address.adopt("knobs", lambda text: at_first(trained, name, address.read_object(text)), key=key, default=first)
    sent = st.session_state.pop(key, None)
    if sent or begun not in st.session_state:
        put(knobs, root, sent or first)
        st.session_state[begun] = True


def tell(trained: Choice, name: str, values: dict[str, Any]) -> None:
    """Have the knobs that were moved in the address."""
    first = at_first(trained, name)
    address.tell_object("knobs", {knob: v for knob, v in values.items() if knob not in first or v != first[knob]})
