"""A run again with one knob changed, or once for each of several values."""

from __future__ import annotations

import streamlit as st

from app.shared import page_frame, queueing
from lab.core.knobs import describe
from lab.runs import Run


@page_frame.guarded
def form(run: Run, place: str) -> None:
    """What to change in a run, and to what. place: tells forms of one run on one page apart."""
    knobs = dict.fromkeys(queueing.single_knobs(run.config))
    knob = st.selectbox(
        "Change", list(knobs), index=None, key=f"clone knob {place} {run.name}", placeholder="a setting"
    )
    section, _, name = (knob or "").partition(".")
    now = ""
    if knob:
        chosen = getattr(run.config, section)
        none = next((one.none_in_words for one in describe(type(chosen.knobs)) if one.name == name), "none")
        now = none if chosen.values[name] is None else str(chosen.values[name])
    values = st.text_input(
        "To",
        key=f"clone values {place} {run.name}",
        placeholder=f"now {now}; several values: a, b" if knob else "",
        disabled=knob is None,
    )
    if st.button("Queue the clone", key=f"clone {place} {run.name}", disabled=knob is None, width="stretch") and knob:
        made = queueing.enqueue(queueing.grid(run.config, knob, values), f"{run.name}-{name}", ())
        st.toast(page_frame.as_text(f"Waiting: {', '.join(made[:3])}"))
