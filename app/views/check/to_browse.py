"""From an image of the page Check to the same image on Browse."""

from __future__ import annotations

import streamlit as st

from app.results.cache import RunView

ITEM = "check item"
"""In the session's state: the image that was clicked."""


def link(run: RunView, split: str, item: int, label: str = "Browse this image") -> None:
    """A link to Browse with an image as the query."""
    st.page_link(
        "views/browse/page.py", label=label, icon=":material/image_search:",
        query_params={"run": run.name, "split": split, "query": str(item)},
    )  # fmt: skip


def choose(_section: str, item: int) -> None:
    """An image was clicked."""
    st.session_state[ITEM] = item
