"""A run again with one knob changed, or once for each of several values."""

from __future__ import annotations

import streamlit as st

from app.shared import page_frame, queueing
from lab.core.knobs import describe
from lab.runs import Run
from lab.runs.config import Choice


def clone(run: Run, knob: str, values: str) -> list[str]:
    """Let copies of a run wait that differ from it in one knob; returns their names.

    Args:
        knob: `section.knob`.
        values: one, or several separated by commas.

    Raises:
        ValueError: no value, or one that the knob refuses.
        OSError: the disk is full or the folder cannot be written.
    """
    return queueing.enqueue(queueing.grid(run.config, knob, values), f"{run.name}-{knob.rpartition('.')[2]}", ())


def _now(chosen: Choice, name: str) -> str:
    """A knob's value; none in the words of the forms."""
    value = chosen.values[name]
    if value is not None:
        return str(value)
    return next((knob.none_in_words for knob in describe(type(chosen.knobs)) if knob.name == name), "none")


@page_frame.guarded
def form(run: Run, place: str) -> None:
    """What to change in a run, and to what. place: tells forms of one run on one page apart."""
    knobs = dict.fromkeys(queueing.single_knobs(run.config))
    knob = st.selectbox(
        "Change", list(knobs), index=None, key=f"clone knob {place} {run.name}", placeholder="a setting"
    )
    section, _, name = (knob or "").partition(".")
    now = _now(getattr(run.config, section), name) if knob else ""
    values = st.text_input(
        "To",
        key=f"clone values {place} {run.name}",
        placeholder=f"now {now}; several values: a, b" if knob else "",
        disabled=knob is None,
    )
    if st.button("Queue the clone", key=f"clone {place} {run.name}", disabled=knob is None, width="stretch") and knob:
        made = clone(run, knob, values)
        st.toast(page_frame.as_text(f"Waiting: {', '.join(made[:3])}"))
