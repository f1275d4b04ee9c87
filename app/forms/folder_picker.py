"""Choose a folder of this machine that the dashboard may read, by opening folders or typing a path."""

import os
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from app.shared import page_frame, settings
from lab.core import files
from lab.core.formats import counted

MOST = 5_000
"""Most subfolders to list."""

RECENT = 8
"""Most recent folders to list at first."""

OWNER_ONLY = "Only the owner of this dashboard can use images and embeddings from files; guests see those of the runs."
"""Message for guests, who must not see the owner's folders."""


def pick(label: str, *, key: str, link: str = "", recent: Sequence[str] = ()) -> Path | None:
    """Draw the picker and return the chosen folder, or None.

    If the user types a folder that the dashboard may not read, an error box says so. A guest reads `OWNER_ONLY`.

    Args:
        link: the URL parameter, see `keep`.
        recent: folders to list at first, after all readable ones.
    """
    if files.guest():
        st.caption(f":material/visibility: {OWNER_ONLY}")
        return None
    roots = settings.data_roots()
    page_frame.keep(key, str(roots[0]) if len(roots) == 1 else "", link=link)

    def go_up() -> None:
        if current is None or current in roots:
            st.session_state[key] = ""
        else:
            st.session_state[key] = str(current.parent)

    def open_folder() -> None:
        name = st.session_state.get(f"{key} into")
        if name:
            st.session_state[key] = str(current / name) if current else name
            st.session_state[f"{key} into"] = None

    # A button that goes up, and a list of the folders to open.
    with st.container(horizontal=True, vertical_alignment="bottom"):
        current = _typed(key)
        disabled = current is None or (current,) == roots
        icon = ":material/arrow_upward:"
        st.button(
            "Up",
            key=f"{key} up",
            on_click=go_up,
            help="Go up one folder",
            icon=icon,
            disabled=disabled,
        )
        folders = _subfolders(current) if current else _first_folders(roots, recent)
        st.selectbox(
            "Open a folder",
            folders,
            index=None,
            key=f"{key} into",
            on_change=open_folder,
            placeholder=f"{counted(len(folders), 'folder')} here" if folders else "no folder here",
            help="Type to search. Folders whose name begins with a dot are left out.",
        )

    # The path itself can be typed, too.
    help = f"Inside {' or '.join(map(str, roots))}."
    placeholder = "open a folder, or type its path"
    words = st.text_input(
        label, key=key, persist_state="session", placeholder=placeholder, help=help
    ).strip()
    if words:
        with page_frame.refusals():
            return settings.confine_folder(Path(words))
    return None


def _typed(key: str) -> Path | None:
    """Return the current folder if the dashboard may read it."""
    words = st.session_state[key].strip()
    if not words:
        return None
    try:
        return settings.confine_folder(Path(words))
    except (ValueError, OSError):
        return None


def _first_folders(roots: Sequence[Path], recent: Sequence[str]) -> list[str]:
    """Return the readable folders, and those recent folders that exist inside them."""
    inside = []
    for name in recent:
        folder = Path(name).expanduser()
        if folder.is_dir() and any(folder.is_relative_to(root) for root in roots):
            inside.append(folder)
    return list(dict.fromkeys(map(str, [*roots, *inside[:RECENT]])))


def _subfolders(folder: Path) -> list[str]:
    """Return the names of the subfolders of a folder, or none if it cannot be read."""
    try:
        # knows which entries are folders without a further call for each
        with os.scandir(folder) as entries:
            names = [
                entry.name for entry in entries if not entry.name.startswith(".") and entry.is_dir()
            ]
    except OSError:
        return []
    return sorted(names, key=str.lower)[:MOST]
