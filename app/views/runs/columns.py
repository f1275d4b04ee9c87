"""Which columns the table of runs shows: chosen on the page, in its address, and kept with the folder of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from app.shared import page_frame, settings
from lab.core.files import read_json, write_json

FILE = ".dashboard.json"
"""In the folder of runs: what the dashboard keeps for everybody who opens this folder."""


def choose(known: Sequence[str]) -> list[str]:
    """The control, and what is chosen of the columns there are, in their order."""
    before = kept(settings.runs_root())
    default = list(known) if before is None else [name for name in known if name in before]
    with st.popover("Columns", icon=":material/view_column:", width="stretch"):
        page_frame.keep("columns", default, lambda chosen: set(chosen) <= set(known), link="column")
        chosen = st.multiselect("Columns", known, key="columns", persist_state="session", placeholder="only the name")
        left, right = st.columns(2)
        left.button("All", on_click=_set, args=(list(known),), width="stretch")
        if right.button("Save", help="Saves this choice for everybody who opens this folder of runs", width="stretch"):
            try:
                keep(settings.runs_root(), chosen if set(chosen) != set(known) else None)
                st.toast("These columns are saved with the folder of runs.")
            except OSError as error:
                page_frame.say_error(
                    f"The columns could not be saved in the folder of runs: {error.strerror or error}."
                )
    return [name for name in known if name in chosen]


def _set(names: list[str]) -> None:
    st.session_state["columns"] = names


def kept(root: Path) -> list[str] | None:
    """The columns that were kept with a folder of runs; None where all are shown."""
    try:
        names = read_json(root / FILE).get("columns")
        return None if names is None else [str(name) for name in names]
    except (OSError, ValueError, TypeError):
        return None


def keep(root: Path, names: Sequence[str] | None) -> None:
    """Keep columns with a folder of runs; None keeps all there are and will be.

    Raises:
        OSError: the folder cannot be written.
    """
    write_json(root / FILE, {"columns": None if names is None else list(names)})
