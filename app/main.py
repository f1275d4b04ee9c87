"""The dashboard's list of pages. `python -m app` serves it.

The pages lie in `views`: a folder named `pages` Streamlit would serve by itself, past the door.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from app import door, frame

BROWSE = st.Page("views/browse.py", title="Browse", icon=":material/image_search:", default=True, url_path="")
"""The first page: it lives at `/`."""


def browse_by_name() -> None:
    """`/browse` leads to the first page, with all that the address says."""
    st.switch_page(BROWSE, query_params=st.query_params.to_dict())


PAGES = [
    st.Page("views/train.py", title="Train", icon=":material/model_training:", url_path="train"),
    st.Page("views/watch.py", title="Watch", icon=":material/monitoring:", url_path="watch"),
    st.Page("views/runs.py", title="Runs", icon=":material/table_rows:", url_path="runs"),
    BROWSE,
    st.Page("views/two_stage.py", title="Two-stage", icon=":material/sprint:", url_path="two_stage"),
    st.Page("views/map.py", title="Map", icon=":material/bubble_chart:", url_path="map"),
    st.Page("views/inspect.py", title="Inspect", icon=":material/troubleshoot:", url_path="inspect"),
    st.Page("views/losses.py", title="Losses", icon=":material/function:", url_path="losses"),
    st.Page(browse_by_name, title="Browse", url_path="browse", visibility="hidden"),
]

st.set_page_config(page_title="Ranklab", page_icon=str(Path(__file__).with_name("icon.svg")), layout="wide")
frame.style()
chosen = st.navigation(PAGES, position="top")
if door.stands():
    frame.guarded(chosen.run)()
else:
    st.error("Started like this the dashboard lets everybody in, so it shows nothing: start it with `lab app`.")
