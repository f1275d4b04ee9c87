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
    """Folder to page, in the order in which they are shown."""
    folders = [module.name for module in pkgutil.iter_modules(app.views.__path__) if module.ispkg]
    facts = {folder: importlib.import_module(f"app.views.{folder}") for folder in folders}
    return {
        folder: st.Page(
            f"views/{folder}/page.py",
            title=facts[folder].TITLE,
            icon=facts[folder].ICON,
            default=folder == palette.HOME,
            url_path="" if folder == palette.HOME else folder,
        )
        for folder in sorted(folders, key=lambda one: facts[one].PLACE)
    }


UNKNOWN = "_unknown page"
"""In the session's state: the name of a page that somebody asked for and that there is not."""
PAGES = found_pages()


def unknown_page() -> None:
    """What stands at an address that is no page's."""
    st.warning(page_frame.as_text(f"There is no page {st.session_state[UNKNOWN]}. Choose one of these:"))
    for page in PAGES.values():
        st.page_link(page)


def hidden_pages() -> list[st.Page]:
    """Pages that the menu does not show: any other that somebody asked for."""
    context = get_script_run_ctx()
    asked = getattr(getattr(context, "pages_manager", None), "intended_page_name", "")
    if asked and (asked == palette.HOME or asked not in PAGES) and "/" not in asked:
        st.session_state[UNKNOWN] = asked
    name = st.session_state.get(UNKNOWN)
    return [st.Page(unknown_page, title="Not found", url_path=name, visibility="hidden")] if name else []


st.set_page_config(page_title="Rankscope", page_icon=str(Path(__file__).with_name("icon.svg")), layout="wide")
chosen = st.navigation([*PAGES.values(), *hidden_pages()], position="top")
if access.stands():
    displays.listen()
    palette.listen(PAGES)
    if access.is_guest():
        st.caption(":material/visibility: You are a guest: you may look at everything and change nothing.")
    if chosen is PAGES[palette.HOME] and "run" in st.query_params:  # a link to Browse, which was here before
        st.switch_page(PAGES["browse"], query_params={key: st.query_params.get_all(key) for key in st.query_params})
    page_frame.guarded(chosen.run)()
else:
    st.error("Started like this the dashboard lets everybody in, so it shows nothing: start it with `lab app`.")
