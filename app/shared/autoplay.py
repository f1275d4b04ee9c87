"""A control that moves by itself, one stop a beat. The browser keeps the time, so the page answers meanwhile."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from app.shared import changes, page_frame


def follow(key: str, stops: Sequence[Any]) -> None:
    """Let the control `key` stand at the last stop, also when new ones come, until it is moved. It is also its name in
    the address, which holds it while it is not at the last. Call it before the control is drawn."""
    last = f"{key} last"
    if st.session_state.get(key) == st.session_state.get(last):
        st.session_state[key] = stops[-1]
    st.session_state[last] = stops[-1]
    page_frame.keep(key, stops[-1], stops, link=key)


def slider(label: str, stops: Sequence[Any], *, key: str, beat: float, **look: Any) -> Any:
    """Draw a slider over stops that can play, and follows the last one. look: what the slider takes besides."""
    follow(key, stops)
    if len(stops) == 1:
        return stops[0]
    advance(key, stops)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        button(key, stops, beat)
        return st.select_slider(label, stops, key=key, persist_state="session", **look)


def advance(key: str, stops: Sequence[Any]) -> None:
    """Move the control `key` on by one stop when a beat is over; it rests at the last one. Call it before the control
    is drawn."""
    if not st.session_state.pop(f"{key} due", False):
        return
    at = _place(key, stops) + 1
    st.session_state[key] = stops[min(at, len(stops) - 1)]
    if at >= len(stops) - 1:
        stop(key)


def button(key: str, stops: Sequence[Any], beat: float) -> None:
    """Draw Play or Pause. beat: seconds between two stops. Playing from the last stop begins anew."""
    playing = st.session_state.get(f"{key} plays", False)

    def toggle() -> None:
        st.session_state[f"{key} plays"] = not playing
        if not playing and _place(key, stops) == len(stops) - 1:
            st.session_state[key] = stops[0]

    words = ("Pause", ":material/pause:") if playing else ("Play", ":material/play_arrow:")
    st.button(words[0], icon=words[1], on_click=toggle, key=f"{key} play button")
    if playing:
        shown = st.session_state.get(key)
        changes.later(beat, shown, lambda: st.session_state.update({f"{key} due": True}), key=f"{key} beat")


def stop(key: str) -> None:
    """Let the control rest where it is."""
    st.session_state.pop(f"{key} plays", None)


def _place(key: str, stops: Sequence[Any]) -> int:
    value = st.session_state.get(key)
    return stops.index(value) if value in stops else -1
