"""Pieces of page that Streamlit does not have."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st


@cache
def component(name: str) -> Callable[..., Any]:
    """What the folder `name` here draws: its NAME.js, in its NAME.css, in an empty <div> of that class."""
    folder = Path(__file__).parent / name
    return st.components.v2.component(
        f"rankscope_{name}",
        html=f'<div class="{name}"></div>\n',
        css=(folder / f"{name}.css").read_text("utf-8"),
        js=(folder / f"{name}.js").read_text("utf-8"),
    )
