"""What a page shows while there is nothing to show: the ways to begin, each one click away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from app.shared import page_frame, queueing
from lab.runs import RunConfig
from lab.runs.config import read_yaml

DEMO = "emoji7_first_look"
"""The preset that is trained on one click."""


@dataclass(frozen=True)
class Start:
    """A way to begin. draw: its button or link."""

    title: str
    sentence: str
    draw: Callable[[], None]


def starts() -> None:
    """Draw every way to begin, side by side."""
    for column, start in zip(st.columns(len(STARTS), gap="medium", border=True), STARTS, strict=True):
        with column:
            st.markdown(f"**{start.title}**")
            st.caption(start.sentence)
            start.draw()


def _demo() -> None:
    if st.button("Train a first run", key="train the demo", type="primary", icon=":material/play_arrow:"):
        try:
            made = queueing.enqueue({"": RunConfig.of(read_yaml(DEMO))}, "", ())
        except (ValueError, OSError) as error:
            page_frame.say_error(error)
            return
        st.switch_page("views/watch/page.py", query_params={"watched": made[0]})


def _folder() -> None:
    st.page_link("views/train/page.py", label="Open a folder", icon=":material/folder:", query_params={"mine": "yes"})


def _vectors() -> None:
    st.page_link(
        "views/runs/page.py",
        label="Import vectors or pictures",
        icon=":material/input:",
        query_params={"bring": "yes"},
    )


STARTS: list[Start] = [
    Start("Try it out", "Train a small network on the emoji that come with Rankscope; it takes about a minute.", _demo),
    Start("Your own images", "Choose a folder with one folder of images for each class, and train on it.", _folder),
    Start(
        "Without training",
        "Import the vectors of another model, or embed a folder of pictures, to search and map them.",
        _vectors,
    ),
]
"""The ways to begin, in their order."""
