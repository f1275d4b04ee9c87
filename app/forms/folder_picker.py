"""A folder of this machine, found by walking there or by typing its path; never one that the dashboard may not read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import streamlit as st

from app.shared import page_frame, settings

MOST = 5_000
"""Folders that are listed of one."""


def pick(label: str, *, key: str, link: str = "") -> Path | None:
    """Draw the picker; None, and a sentence, while what was typed is no folder that may be read. link: see `keep`."""
    roots = settings.data_roots()
    page_frame.keep(key, str(roots[0]), link=link)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        at = _typed(key)
        look: dict[str, Any] = {"icon": ":material/arrow_upward:", "disabled": at is None or at in roots}
        st.button("Up", key=f"{key} up", on_click=_go, args=(key, at), help="Go up one folder", **look)
        below = _below(at)
        st.selectbox(
            "Open a folder",
            below,
            index=None,
            key=f"{key} into",
            on_change=_go_into,
            args=(key, at),
            placeholder=f"{len(below):,} folders here" if below else "no folder here",
            help="Type to search. Folders whose name begins with a dot are left out.",
        )
    words = st.text_input(label, key=key, persist_state="session", help=f"Below {' or '.join(map(str, roots))}.")
    with page_frame.refusals():
        return settings.confine_folder(Path(words.strip()))
    return None


def _typed(key: str) -> Path | None:
    """The folder where the picker stands, if it is one that may be read."""
    try:
        return settings.confine_folder(Path(st.session_state[key].strip()))
    except (ValueError, OSError):
        return None


def _below(folder: Path | None) -> list[str]:
    """Names of the folders in a folder, as far as they may be read."""
    if folder is None:
        return []
    try:
        with os.scandir(folder) as entries:  # which tells what is a folder without a look at each of a million files
            names = [one.name for one in entries if not one.name.startswith(".") and one.is_dir()]
    except OSError:
        return []
    return sorted(names, key=str.lower)[:MOST]


def _go(key: str, folder: Path) -> None:
    st.session_state[key] = str(folder.parent)


def _go_into(key: str, folder: Path) -> None:
    if name := st.session_state.get(f"{key} into"):
        st.session_state[key] = str(folder / name)
        st.session_state[f"{key} into"] = None
