"""What counts as a step of the browser's Back: what the person did, and not that a page filled in its address."""

from __future__ import annotations

import streamlit as st

from app.components import component


def listen() -> None:
    """Have one press of Back lead to the page before; draws nothing."""
    with st.container(key="listening-steps"):
        component("steps")(key="steps", data={})
