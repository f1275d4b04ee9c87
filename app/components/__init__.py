"""Pieces of page that Streamlit does not have."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st


def told(key: str, event: str) -> dict[str, Any]:
    """What the browser has just said of an event of the component `key`."""
    return st.session_state[key].get(event) or {}


@cache
def component(name: str, *parts: str) -> Callable[..., Any]:
    """What the folder `name` here draws: its NAME.js, in its NAME.css, in an empty <div> of that class. parts: more
    files of that folder, which belong to these."""
    folder = Path(__file__).parent / name

    def read(kind: str) -> str:
        return "".join((folder / f"{one}.{kind}").read_text("utf-8") for one in (name, *parts))

    return st.components.v2.component(
        f"rankscope_{name}",
        html=f'<div class="{name}"></div>\n',
        css=read("css"),
        js=read("js"),
    )
