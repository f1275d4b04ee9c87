"""A slider that advances by itself. The browser keeps the time, so the page stays responsive."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from app.shared import changes, page_frame


def follow(key: str, stops: Sequence[Any]) -> None:
    """Keep the widget `key` at the last stop, also when new stops are added, until the user moves it.

    The key is also the URL parameter, which is written while the widget is not at the last stop. Call this before the
    widget is drawn.
    """
    last = f"{key} last"
    if st.session_state.get(key) == st.session_state.get(last):
        st.session_state[key] = stops[-1]
    st.session_state[last] = stops[-1]
    page_frame.keep(key, stops[-1], stops, link=key)


def slider(label: str, stops: Sequence[Any], *, key: str, beat: float, **kwargs: Any) -> Any:
    """Draw a slider over stops that can play and follows the last stop. kwargs: further arguments of the slider."""
    follow(key, stops)
    if len(stops) == 1:
        return stops[0]
    advance(key, stops)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        button(key, stops, beat)
        return st.select_slider(label, stops, key=key, persist_state="session", **kwargs)


def advance(key: str, stops: Sequence[Any]) -> None:
    """Move the widget `key` to the next stop when a beat is over, and stop at the last. Call this before it is
    drawn."""
    if not st.session_state.pop(f"{key} due", False):
        return
    index = min(_index(key, stops) + 1, len(stops) - 1)
    st.session_state[key] = stops[index]
    if index == len(stops) - 1:
        stop(key)


def button(key: str, stops: Sequence[Any], beat: float) -> None:
    """Draw Play or Pause. beat: seconds between two stops. Play at the last stop starts from the first."""
    is_playing = st.session_state.get(f"{key} plays", False)

    def toggle() -> None:
        st.session_state[f"{key} plays"] = not is_playing
        if not is_playing and _index(key, stops) == len(stops) - 1:
            st.session_state[key] = stops[0]

    def mark_due() -> None:
        st.session_state[f"{key} due"] = True

    label = "Pause" if is_playing else "Play"
    icon = ":material/pause:" if is_playing else ":material/play_arrow:"
    st.button(label, icon=icon, on_click=toggle, key=f"{key} play button")
    if is_playing:
        changes.later(beat, st.session_state.get(key), mark_due, key=f"{key} beat")


def stop(key: str) -> None:
    """Stop the widget where it is."""
    st.session_state.pop(f"{key} plays", None)


def _index(key: str, stops: Sequence[Any]) -> int:
    value = st.session_state.get(key)
    return stops.index(value) if value in stops else -1
