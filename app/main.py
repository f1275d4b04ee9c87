"""The dashboard's list of pages. `python -m app` serves it.

The pages lie in `views`: a folder named `pages` Streamlit would serve by itself, past the door.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from app import access
from app.shared import page_frame

BROWSE = st.Page("pages/browse/page.py", title="Browse", icon=":material/image_search:", default=True, url_path="")
"""The first page: it lives at `/`."""


def browse_by_name() -> None:
    """`/browse` leads to the first page, with all that the address says."""
    st.switch_page(BROWSE, query_params=st.query_params.to_dict())


PAGES = [
    st.Page("pages/train/page.py", title="Train", icon=":material/model_training:", url_path="train"),
    st.Page("pages/watch/page.py", title="Watch", icon=":material/monitoring:", url_path="watch"),
    st.Page("pages/runs/page.py", title="Runs", icon=":material/table_rows:", url_path="runs"),
    BROWSE,
    st.Page("pages/two_stage/page.py", title="Two-stage", icon=":material/sprint:", url_path="two_stage"),
    st.Page("pages/map/page.py", title="Map", icon=":material/bubble_chart:", url_path="map"),
    st.Page("pages/inspect/page.py", title="Inspect", icon=":material/troubleshoot:", url_path="inspect"),
    st.Page("pages/figures/page.py", title="Losses", icon=":material/function:", url_path="losses"),
    st.Page(browse_by_name, title="Browse", url_path="browse", visibility="hidden"),
]

st.set_page_config(page_title="Rankscope", page_icon=str(Path(__file__).with_name("icon.svg")), layout="wide")
page_frame.style()
chosen = st.navigation(PAGES, position="top")
if access.opened():
    page_frame.guarded(chosen.run)()
