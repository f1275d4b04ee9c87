"""The dashboard's list of pages, one for each folder of `app.views`."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import streamlit as st

import app.views
from app import access
from app.components import displays
from app.results import palette
from app.shared import page_frame

FIRST = "browse"
"""The page that lives at `/`."""


def found_pages() -> dict[str, st.Page]:
    """Folder to page, in the order in which they are shown."""
    folders = [module.name for module in pkgutil.iter_modules(app.views.__path__) if module.ispkg]
    facts = {folder: importlib.import_module(f"app.views.{folder}") for folder in folders}
    return {
        folder: st.Page(
            f"views/{folder}/page.py",
            title=facts[folder].TITLE,
            icon=facts[folder].ICON,
            default=folder == FIRST,
            url_path="" if folder == FIRST else folder,
        )
        for folder in sorted(folders, key=lambda one: facts[one].PLACE)
    }


PAGES = found_pages()


def first_by_name() -> None:
    """`/browse` leads to the first page, with all that the address says."""
    st.switch_page(PAGES[FIRST], query_params=st.query_params.to_dict())


st.set_page_config(page_title="Rankscope", page_icon=str(Path(__file__).with_name("icon.svg")), layout="wide")
chosen = st.navigation(
    [*PAGES.values(), st.Page(first_by_name, title="Browse", url_path=FIRST, visibility="hidden")], position="top"
)
if access.stands():
    displays.listen()
    palette.listen(PAGES)
    if access.is_guest():
        st.caption(":material/visibility: You are a guest: you may look at everything and change nothing.")
    page_frame.guarded(chosen.run)()
else:
    st.error("Started like this the dashboard lets everybody in, so it shows nothing: start it with `lab app`.")
