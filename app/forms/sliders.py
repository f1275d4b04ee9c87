"""Sliders for the parameters of a figure or a loss."""

from collections.abc import Iterable, Sequence
from typing import Any

import streamlit as st

from app.forms import knob_forms
from app.shared import address, page_frame
from lab.core.knobs import Knob, labels
from lab.core.knobs.sliders import linear_steps, log_steps, tidy
from lab.runs.config import SECTIONS, Choice


def panel(knobs: Iterable[Knob], root: str) -> dict[str, Any]:
    """Draw a slider, switch or field for each parameter, and return their values.

    root: the session keys are `ROOT.NAME`.
    """
    values = {}
    for knob in knobs:
        value = slider(knob, f"{root}.{knob.name}")
        if value is not knob_forms.MISSING:
            values[knob.name] = value
    return values


def put(knobs: Iterable[Knob], root: str, values: dict[str, Any]) -> None:
    """Set the widgets of a panel that is not drawn yet. Parameters without a value get their default."""
    for knob in knobs:
        key = f"{root}.{knob.name}"
        value = values.get(knob.name, knob.default)
        if not _is_slider(knob):
            value = knob_forms.widget_value(knob, value)
        st.session_state[key] = value
        st.session_state.pop(f"{key} stop", None)


def slider(knob: Knob, key: str) -> Any:
    """Draw a parameter: a number as a linear or logarithmic slider, anything else as a field of the forms."""
    if not _is_slider(knob):
        return knob_forms.knob_widget(knob, key)
    page_frame.keep(key, knob.default)
    # Streamlit returns a slider's stop from another page as text
    if isinstance(st.session_state[key], str):
        st.session_state[key] = knob.kind(float(st.session_state[key]))
    value = st.session_state[key]
    label = labels.label(knob)
    common: dict[str, Any] = {
        "key": key,
        "help": knob_forms.help_text(knob),
        "persist_state": "session",
    }
    # A value of the URL may be between two stops. It stays a stop, so that the slider's scale does not change.
    stop = st.session_state.setdefault(f"{key} stop", value)
    if knob.scale == "log":
        return st.select_slider(
            label, log_steps(knob, stop), format_func=lambda number: f"{number:g}", **common
        )

    # A linear slider. Streamlit needs a value of the slider's type within its range.
    low, high, step = linear_steps(knob, stop)
    if knob.kind is int:
        return st.slider(label, low, high, step=step, **common)
    if not low <= value <= high or not isinstance(value, float):
        st.session_state[key] = min(max(float(value), low), high)
    return tidy(knob, st.slider(label, low, high, step=step, format="%.4g", **common))


def _is_slider(knob: Knob) -> bool:
    return knob.kind in (int, float) and not (
        knob.many or knob.optional or knob.choices or knob.required
    )


def initial_values(
    trained: Choice, name: str, changed: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the initial parameters of a loss: those of a run's loss `trained` if it is the same, else the defaults.

    Args:
        changed: values in place of the initial ones.

    Raises:
        ValueError: the loss does not have a parameter, or a value is out of range.
    """
    values = {**(changed or {}), "name": name}
    if name == trained.name:
        values = {**trained.values, **values}
    return Choice.of(SECTIONS["loss"], values).values


def load(trained: Choice, name: str, knobs: Sequence[Knob], root: str) -> None:
    """Set the sliders to the values of a new URL if they are legal. A new loss starts at its initial values."""

    def read(text: str) -> dict[str, Any]:
        return initial_values(trained, name, address.read_object(text))

    key = f"{root} given"
    started = f"{root} begun"
    initial = initial_values(trained, name)
    address.load("knobs", read, key=key, default=initial)
    values = st.session_state.pop(key, None)
    if values or started not in st.session_state:
        put(knobs, root, values or initial)
        st.session_state[started] = True


def store(trained: Choice, name: str, values: dict[str, Any]) -> None:
    """Put the parameters that differ from their initial values into the URL."""
    initial = initial_values(trained, name)
    changed = {}
    for knob, value in values.items():
        if knob not in initial or value != initial[knob]:
            changed[knob] = value
    address.store_object("knobs", changed)
