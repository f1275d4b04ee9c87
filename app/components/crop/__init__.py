"""A picture on which a rectangle is drawn, with the mouse, a finger or the keyboard."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

import streamlit as st

from app.components import component

Box = tuple[float, float, float, float]
"""Left, top, right and bottom, as shares of the picture's width and height."""

SMALLEST = 0.04
"""Least side of a rectangle."""


def crop(src: str, alt: str, box: Box | None, *, key: str, on_crop: Callable[[Box], None]) -> None:
    """Draw the picture, a data URI, and the rectangle `box`, or none.

    on_crop: called with the new rectangle, before the page is drawn again, when somebody has let go.
    """

    def drawn() -> None:
        value = st.session_state[key]["drawn"]
        rectangle = checked(value.get("box") if isinstance(value, dict) else None)
        if rectangle:
            on_crop(rectangle)

    component("crop")(key=key, data={"src": src, "alt": alt, "box": box, "smallest": SMALLEST}, on_drawn_change=drawn)


def checked(box: Any) -> Box | None:
    """A rectangle as a browser or an address told it, rounded to thousandths; None for what is none."""
    if not isinstance(box, list | tuple) or len(box) != 4 or not all(isinstance(one, int | float) for one in box):
        return None
    if not all(isfinite(one) and 0 <= one <= 1 for one in box):
        return None
    left, top, right, bottom = (round(float(one), 3) for one in box)
    return (left, top, right, bottom) if min(right - left, bottom - top) >= SMALLEST - 0.002 else None
