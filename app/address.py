"""The browser's address as a deep link: every page can be bookmarked, and a new address wins over what was shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

_WRITTEN = "_address"


def adopt(name: str, read: Callable[[str], Any], legal: Sequence | Callable[[Any], bool] | None = None) -> None:
    """Take `?name=...` into the session state, when it is new and legal; an illegal value is ignored."""
    shown = st.query_params.get(name)
    known = st.session_state.setdefault(_WRITTEN, {})
    if shown is None or shown == known.get(name):
        return
    known[name] = shown  # taken once, so that a choice on the page wins from now on
    try:
        value = read(shown)
    except ValueError:
        return
    if legal is None or (legal(value) if callable(legal) else value in legal):
        st.session_state[name] = value


def publish(**values: Any) -> None:
    """Write what is on screen into the address; None leaves a name out."""
    shown = {name: str(value) for name, value in values.items() if value is not None}
    if dict(st.query_params) != shown:
        st.query_params.from_dict(shown)
    st.session_state[_WRITTEN] = shown
