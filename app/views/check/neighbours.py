"""The nearest images of every image, looked for once: the page itself is run anew at each click and keeps nothing."""

from __future__ import annotations

import streamlit as st

from app.results.collection import Collection
from app.shared import background, page_frame
from lab.core.results import Ranking

DEPTH = 20
"""Neighbours that are kept of every image."""


@background.job("Looking for the neighbours of every image", keep=4)
def neighbours(name: str, split: str, stamp: float, _whole: Collection) -> Ranking:
    """The first `DEPTH` of the gallery for every query of a split."""
    return _whole.exact(DEPTH).rank(_whole.query, same_source=_whole.same_source)


def ask_k() -> int:
    """Draw the slider that says how many of them count."""
    page_frame.keep("check k", 5, range(1, DEPTH + 1), link="k")
    return st.slider("Neighbours per image", 1, DEPTH, key="check k", width=280, persist_state="session")
