"""The dashboard's list of pages, one for each folder of `app.views`."""

import importlib
import pkgutil
from pathlib import Path

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

import app.views
from app import access
from app.components import displays
from app.results import palette
from app.shared import page_frame


def found_pages() -> dict[str, st.Page]:
    """Return folder to page, in the order of the menu."""
    packages = []
    for module in pkgutil.iter_modules(app.views.__path__):
        if module.ispkg:
            packages.append((module.name, importlib.import_module(f"app.views.{module.name}")))
    packages.sort(key=lambda entry: entry[1].PLACE)
    pages = {}
    for folder, package in packages:
        is_home = folder == palette.HOME
        pages[folder] = st.Page(
            f"views/{folder}/page.py",
            title=package.TITLE,
            icon=package.ICON,
            default=is_home,
            url_path="" if is_home else folder,
        )
    return pages


# Session key of the name of a page that the URL names and that does not exist.
UNKNOWN = "_unknown page"
PAGES = found_pages()


def unknown_page() -> None:
    """Draw the page of a URL that names no page."""
    st.warning(
        page_frame.as_text(f"There is no page {st.session_state[UNKNOWN]}. Choose one of these:")
    )
    for page in PAGES.values():
        st.page_link(page)


def hidden_pages() -> list[st.Page]:
    """Return a page that is not in the menu, for a URL that names no page."""
    context = get_script_run_ctx()
    requested = getattr(getattr(context, "pages_manager", None), "intended_page_name", "")
    if requested and (requested == palette.HOME or requested not in PAGES) and "/" not in requested:
        st.session_state[UNKNOWN] = requested
    name = st.session_state.get(UNKNOWN)
    if not name:
        return []
    return [st.Page(unknown_page, title="Not found", url_path=name, visibility="hidden")]


st.set_page_config(
    page_title="Rankscope", page_icon=str(Path(__file__).with_name("icon.svg")), layout="wide"
)
chosen = st.navigation([*PAGES.values(), *hidden_pages()], position="top")
if access.is_active():
    displays.listen()
    palette.listen(PAGES)
    if access.is_guest():
        st.caption(
            ":material/visibility: You are a guest: you may look at everything and change nothing."
        )
    # an old link to Browse, which was the first page
    if chosen is PAGES[palette.HOME] and "run" in st.query_params:
        st.switch_page(
            PAGES["browse"],
            query_params={key: st.query_params.get_all(key) for key in st.query_params},
        )
    page_frame.guarded(chosen.run)()
else:
    st.error("Without access control the dashboard shows nothing: start it with `lab app`.")
