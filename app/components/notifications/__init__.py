"""A message when a run ends: on every open page of the dashboard, and on the desktop where the person allows it."""

from __future__ import annotations

import streamlit as st

from app.components import component
from app.run_events import ADDRESS

EVERY = 5
"""Seconds between two questions of a page; browsers make that a minute for tabs that nobody looks at."""


def listen() -> None:
    """Have this page ask which runs have ended; it shows nothing until one has."""
    with st.container(key="listening"):
        component("notifications")(key="bell listens", data=_data(button=False))


def button() -> None:
    """The button that allows desktop messages, and what they are."""
    component("notifications")(key="bell", data=_data(button=True))


def _data(button: bool) -> dict[str, object]:
    return {"button": button, "address": ADDRESS, "every": EVERY}
