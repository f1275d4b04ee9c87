"""Which columns the table of runs shows: chosen on the page, in its address, and kept with the folder of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from lab.core import sealed
from lab.dashboard.shared import page_frame, settings

FILE = ".dashboard.json"
"""In the folder of runs: what the dashboard keeps for everybody who opens this folder."""


def choose(known: Sequence[str]) -> list[str]:
    """The control, and what is chosen of the columns there are, in their order."""
    before = kept(settings.runs_root())
    default = [name for name in known if name in before] or list(known)
    with st.popover("Columns", icon=":material/view_column:", width="stretch"):
        page_frame.keep("columns", default, lambda chosen: set(chosen) <= set(known), link="column")
        chosen = st.multiselect("Columns", known, key="columns", persist_state="session", placeholder="the name alone")
        left, right = st.columns(2)
        left.button("All", on_click=_set, args=(list(known),), width="stretch")
        if right.button("Keep", help="For everybody who opens this folder of runs", width="stretch"):
            keep(settings.runs_root(), chosen)
            st.toast("These columns are kept with the folder of runs.")
    return [name for name in known if name in chosen]


def _set(names: list[str]) -> None:
    st.session_state["columns"] = names


def kept(root: Path) -> list[str]:
    """The columns that were kept with a folder of runs; none where nobody kept any."""
    try:
        read, _ = sealed.read(root / FILE)
        return [str(name) for name in read.get("columns", [])]
    except (OSError, ValueError, TypeError):
        return []


def keep(root: Path, names: Sequence[str]) -> None:
    """Keep columns with a folder of runs.

    Raises:
        OSError: the folder cannot be written.
    """
    sealed.write(root / FILE, {"columns": list(names)})
