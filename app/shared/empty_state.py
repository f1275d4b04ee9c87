"""What a page shows while there is nothing to show: the ways to begin, each one click away."""

from __future__ import annotations

import streamlit as st

from app.shared import page_frame, queueing
from lab.runs import RunConfig
from lab.runs.config import read_yaml

DEMO = "emoji7_first_look"
"""The preset that is trained on one click."""


def starts() -> None:
    """Draw every way to begin, side by side."""
    demo, folder, vectors = st.columns(3, gap="medium", border=True)
    with demo:
        _head("Try it out", "Train a small network on the emoji that come with Rankscope; it takes about a minute.")
        if st.button("Train a first run", key="train the demo", type="primary", icon=":material/play_arrow:"):
            try:
                made = queueing.enqueue({"": RunConfig.of(read_yaml(DEMO))}, "", ())
            except (ValueError, OSError) as error:
                page_frame.say_error(error)
            else:
                st.switch_page("views/watch/page.py", query_params={"watched": made[0]})
    with folder:
        _head("Your own images", "Choose a folder with one folder of images for each class, and train on it.")
        page_frame.link_to("train", "Open a folder", {"mine": "yes"})
    with vectors:
        _head(
            "Without training",
            "Import the vectors of another model, or embed a folder of pictures, to search and map them.",
        )
        page_frame.link_to("runs", "Import vectors or pictures", {"bring": "yes"})


def _head(title: str, sentence: str) -> None:
    st.markdown(f"**{title}**")
    st.caption(sentence)
