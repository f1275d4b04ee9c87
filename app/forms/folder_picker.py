"""A folder of this machine, found by walking there or by typing its path; never one that the dashboard may not read."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from app.shared import page_frame, settings
from lab.core import files

MOST = 5_000
"""Folders that are listed of one."""
RECENT = 8
"""Recent folders that are offered at first."""
OWNERS = "Only the owner of this dashboard brings images and vectors; a guest sees those of the runs."
"""What a guest reads in the place of the picker, who must not look through the owner's folders."""


def pick(label: str, *, key: str, link: str = "", recent: Sequence[str] = ()) -> Path | None:
    """Draw the picker, which begins with all folders that may be read and `recent` ones; None while no folder is
    chosen, and a sentence, too, while what was typed is none that may be read. A guest reads `OWNERS` and gets None.
    link: see `keep`."""
    if files.guest():
        st.caption(f":material/visibility: {OWNERS}")
        return None
    roots = settings.data_roots()
    page_frame.keep(key, str(roots[0]) if len(roots) == 1 else "", link=link)

    def go_up() -> None:
        st.session_state[key] = "" if at in roots else str(at.parent) if at else ""

    def go_into() -> None:
        if name := st.session_state.get(f"{key} into"):
            st.session_state[key], st.session_state[f"{key} into"] = str(at / name if at else name), None

    with st.container(horizontal=True, vertical_alignment="bottom"):
        at = _typed(key)
        look: dict[str, Any] = {"icon": ":material/arrow_upward:", "disabled": at is None or (at,) == roots}
        st.button("Up", key=f"{key} up", on_click=go_up, help="Go up one folder", **look)
        known = [path for path in (Path(one).expanduser() for one in recent) if path.is_dir()]
        known = [path for path in known if any(path.is_relative_to(root) for root in roots)]
        below = _below(at) if at else list(dict.fromkeys(map(str, [*roots, *known[:RECENT]])))
        st.selectbox(
            "Open a folder",
            below,
            index=None,
            key=f"{key} into",
            on_change=go_into,
            placeholder=f"{len(below):,} folder{'s' * (len(below) > 1)} here" if below else "no folder here",
            help="Type to search. Folders whose name begins with a dot are left out.",
        )
    help = f"Below {' or '.join(map(str, roots))}."
    words = st.text_input(label, key=key, persist_state="session", placeholder="open one, or type its path", help=help)
    with page_frame.refusals():
        return settings.confine_folder(Path(words.strip())) if words.strip() else None
    return None


def _typed(key: str) -> Path | None:
    """The folder where the picker stands, if it is one that may be read."""
    words = st.session_state[key].strip()
    try:
        return settings.confine_folder(Path(words)) if words else None
    except (ValueError, OSError):
        return None


def _below(folder: Path) -> list[str]:
    """Names of the folders in a folder, as far as they may be read."""
    try:
        with os.scandir(folder) as entries:  # which tells what is a folder without a look at each of a million files
            names = [one.name for one in entries if not one.name.startswith(".") and one.is_dir()]
    except OSError:
        return []
    return sorted(names, key=str.lower)[:MOST]
