"""The queue on a page: what works, what waits, and its buttons."""

from collections.abc import Callable
from typing import Any

import streamlit as st

import lab.runs
from app.forms import knob_forms
from app.shared import page_frame, queueing
from lab.runs import Run
from lab.runs.launching.queue import Queue


@st.fragment(run_every=2.0)
@page_frame.guarded
def panel() -> None:
    """What works and what waits, with its buttons; looks again every two seconds."""
    if knob_forms.FILLED in st.session_state:
        st.rerun()  # a button here, which draws no more than the queue, has filled the form
    queue = queueing.queue()
    names, paused = queue.names, queue.paused
    at_work = {run.name: run for run in (*queueing.here(), *queueing.elsewhere())}
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader("Queue", anchor=False)
        idle = not (names or paused)
        _button("Continue" if paused else "Pause", "pause queue", _pause, queue, not paused, disabled=idle)
    if not at_work and not names:
        st.caption("The queue is empty.")
    for run in at_work.values():
        _at_work(run)
    if queue.abandoned:
        st.warning("The process that runs the queue has stopped, perhaps because the machine restarted.")
        _button("Restart the queue", "work it off", queue.ensure_worker, icon=":material/play_arrow:")
    for place, name in enumerate(names):
        _waiting(queue, place, name, last=place == len(names) - 1)


def _at_work(run: Run) -> None:
    status = run.status
    with st.container(horizontal=True, vertical_alignment="center"):
        done = (status.get("step") or 0) / max(1, status.get("steps") or 1)
        st.progress(min(1.0, done), text=page_frame.as_text(f"{run.name}: {queueing.progress_words(status)}"))
        stopping = queueing.is_stopping(run.name)
        _button("Stop", f"stop {run.name}", queueing.ask_to_stop, run.name, disabled=stopping)
    if where := queueing.where(run):
        page_frame.say(where)


def _waiting(queue: Queue, place: int, name: str, *, last: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.text(f"{place + 1}. {name}", width="stretch")
        up, down, out = (f":material/{icon}:" for icon in ("arrow_upward", "arrow_downward", "close"))
        _button(up, f"up {name}", queue.move, name, place - 1, help="Move up", disabled=place == 0)
        _button(down, f"down {name}", queue.move, name, place + 1, help="Move down", disabled=last)
        _button(":material/content_copy:", f"copy {name}", _copy, queue, name, help="Put its settings into the form")
        _button(out, f"remove {name}", queue.remove, name, help="Remove from the queue; the run itself stays")


def _button(label: str, key: str, change: Callable, *arguments: Any, **look: Any) -> None:
    """A button that changes the queue; a change that another tab was quicker with is told and no more."""

    def clicked() -> None:
        with page_frame.refusals(st.toast):
            change(*arguments)

    st.button(label, key=key, on_click=clicked, **look)


def _copy(queue: Queue, name: str) -> None:
    knob_forms.fill(lab.runs.open(queue.root / name).config)
    st.session_state["name"] = ""


def _pause(queue: Queue, paused: bool) -> None:
    queue.pause(paused)
    if not paused:
        queue.ensure_worker()
