"""Widgets for drawing a rectangle, for dragging points and figures, and for the keyboard."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import streamlit as st

import lab
from app.components import component, guarding, reported

Box = tuple[float, float, float, float]
"""Left, top, right and bottom, as fractions of the picture's width and height."""

SMALLEST = 0.04
"""Smallest side of a rectangle."""


def crop(src: str, alt: str, box: Box | None, *, key: str, on_crop: Callable[[Box], None]) -> None:
    """Draw a picture on which the user can draw a rectangle.

    Args:
        src: the picture, a data URI.
        box: the current rectangle.
        on_crop: called with a new rectangle before the page is drawn again.
    """

    def on_drawn() -> None:
        box = checked(reported(key, "drawn", box=list)["box"])
        if box:
            on_crop(box)

    data = {"src": src, "alt": alt, "box": box, "smallest": SMALLEST}
    component("crop")(key=key, data=data, on_drawn_change=on_drawn)


def checked(box: Sequence[float]) -> Box | None:
    """Return a rectangle of the browser or the URL, rounded to thousandths, or None if it is invalid."""
    if len(box) != 4 or not all(isinstance(side, int | float) and 0 <= side <= 1 for side in box):
        return None
    left, top, right, bottom = (round(float(side), 3) for side in box)
    if min(right - left, bottom - top) < SMALLEST - 0.002:
        return None
    return (left, top, right, bottom)


WIDGETS = Path(lab.__file__).parent / "widgets"


@cache
def _draggable(name: str) -> Callable[..., Any]:
    here = Path(__file__).parent / "drag"
    parts = "".join(f'<div class="{part}"></div>' for part in ("knobs", "picture", "words", "code"))
    return guarding(
        st.components.v2.component(
            f"rankscope_drag_{name}",
            html=f'<div class="drag">{parts}</div>\n',
            css=(WIDGETS / "drag.css").read_text("utf-8") + (here / "drag.css").read_text("utf-8"),
            js=(here / f"{name}.js").read_text("utf-8"),
            isolate_styles=name != "live",  # Plotly needs the styles of the page
        )
    )


def drag(
    name: Literal["points", "live"],
    data: Mapping[str, Any],
    *,
    key: str,
    on_move: Callable[[dict[str, Any]], None],
) -> None:
    """Draw a widget of the notebooks, or a figure that the browser computes.

    Args:
        name: "points" uses `lab/widgets/points.js`, "live" uses `lab/figures/live.js`.
        data: the content. While the user drags, the browser's values win over those of the server.
        on_move: called with the moved values before the page is drawn again.
    """

    def on_moved() -> None:
        report = reported(key, "moved", count=int, values=dict)
        on_move(report["values"])
        # last, so that an interrupted report is sent again
        st.session_state[f"{key} count"] = report["count"]

    count = st.session_state.get(f"{key} count", 0)
    _draggable(name)(key=key, data={**data, "heard": count}, on_moved_change=on_moved)


@dataclass(frozen=True)
class Target:
    """A line of the palette. kind: page, run, class or image; address: its URL, relative to any page."""

    kind: str
    title: str
    address: str
    note: str = ""


def keys(
    pages: Sequence[tuple[str, Target]],
    results: Sequence[Target],
    words: str | None,
    draw_count: int,
    *,
    key: str,
    on_ask: Callable[[str], None],
) -> None:
    """Listen to the keyboard on every page: a palette (Ctrl + K), shortcuts, and a list of them ("?").

    Both dialogs are dialogs of the browser: it keeps the focus inside, returns it afterwards, and closes them on
    Escape. Shortcuts do nothing while the user types in a field, and can be turned off in the list (voice control types
    letters). The browser opens a chosen page without the server, as it does for Back, so that no choice is lost while
    the server is busy.

    Args:
        pages: each with the letter that opens it after G.
        results: what the palette shows for `words`; without words it keeps its content.
        draw_count: how often pages have been drawn; a new number means that the chosen page is on screen.
        on_ask: called with the typed words.
    """

    def on_asked() -> None:
        words = ""
        # Streamlit may drop it while another page replaces this one
        state = st.session_state.get(key)
        if state and isinstance(state.get("asked"), dict):
            words = str(state["asked"].get("words", ""))
        on_ask(words)

    data = {
        "pages": [{"letter": letter, **asdict(page)} for letter, page in pages],
        "places": [asdict(target) for target in results],
        "words": words,
        "drawn": draw_count,
    }
    component("keys")(key=key, data=data, on_asked_change=on_asked)
