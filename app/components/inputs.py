"""What is drawn, dragged or typed: a rectangle on a picture, the notebooks' controls that are dragged, the keyboard."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import streamlit as st

import lab
from app.components import component, guarding, told

Box = tuple[float, float, float, float]
"""Left, top, right and bottom, as shares of the picture's width and height."""

SMALLEST = 0.04
"""Least side of a rectangle."""


def crop(src: str, alt: str, box: Box | None, *, key: str, on_crop: Callable[[Box], None]) -> None:
    """Draw the picture, a data URI, and the rectangle `box`, or none.

    on_crop: called with the new rectangle, before the page is drawn again, when somebody has let go.
    """

    def drawn() -> None:
        if box := checked(told(key, "drawn", box=list)["box"]):
            on_crop(box)

    component("crop")(key=key, data={"src": src, "alt": alt, "box": box, "smallest": SMALLEST}, on_drawn_change=drawn)


def checked(box: Sequence[float]) -> Box | None:
    """A rectangle as a browser or an address told it, rounded to thousandths; None for what is none."""
    if len(box) != 4 or not all(isinstance(one, int | float) and 0 <= one <= 1 for one in box):
        return None
    left, top, right, bottom = (round(float(one), 3) for one in box)
    return (left, top, right, bottom) if min(right - left, bottom - top) >= SMALLEST - 0.002 else None


WIDGETS = Path(lab.__file__).parent / "widgets"


@cache
def _draggable(name: str) -> Callable[..., Any]:
    here = Path(__file__).parent / "drag"
    parts = "".join(f'<div class="{part}"></div>' for part in ("knobs", "picture", "words", "code"))
    made = st.components.v2.component(
        f"rankscope_drag_{name}",
        html=f'<div class="drag">{parts}</div>\n',
        css=(WIDGETS / "drag.css").read_text("utf-8") + (here / "drag.css").read_text("utf-8"),
        js=(here / f"{name}.js").read_text("utf-8"),
        isolate_styles=name != "live",  # plotly's styles are the page's
    )
    return guarding(made)


def drag(
    name: Literal["points", "live"], data: Mapping[str, Any], *, key: str, on_move: Callable[[dict[str, Any]], None]
) -> None:
    """Draw one of the notebooks' controls, or a figure that the page computes by itself.

    Args:
        name: points are drawn by `lab/widgets/points.js`, only the model behind them differs; what is live by
            `lab/figures/live.js`.
        data: what it shows. While somebody drags, the browser's own values win over those that come back from here.
        on_move: called with what was moved, before the page is drawn again.
    """

    def moved() -> None:
        report = told(key, "moved", count=int, values=dict)
        on_move(report["values"])
        st.session_state[f"{key} count"] = report["count"]  # heard, once it is moved

    count = st.session_state.get(f"{key} count", 0)
    _draggable(name)(key=key, data={**data, "heard": count}, on_moved_change=moved)


@dataclass(frozen=True)
class Place:
    """A line of the palette. kind: page, run, class or image; address: where it leads, seen from any page."""

    kind: str
    title: str
    address: str
    note: str = ""


def keys(
    pages: Sequence[tuple[str, Place]],
    places: Sequence[Place],
    words: str | None,
    drawn: int,
    *,
    key: str,
    on_ask: Callable[[str], None],
) -> None:
    """Listen to the keyboard on every page: a palette (Ctrl + K), shortcuts, and a list of them ("?").

    Both dialogs are the browser's own: it keeps the focus inside while one is open, gives it back, and closes it at
    Escape. A key alone does nothing while somebody types, and whoever does not want such keys (voice control types
    letters) turns them off in the list. The browser goes to what is chosen by itself, as it does at Back: whatever the
    server is drawing meanwhile, no choice is lost.

    Args:
        pages: each with the letter that, after G, leads there.
        places: what the palette offers for `words`; for None it keeps what it has.
        drawn: how many times pages have been drawn; a new number says that the page that was gone to has come.
        on_ask: called with the words that were typed.
    """

    def ask() -> None:
        # While a page takes the place of another, Streamlit may have dropped the state of the one before.
        state = st.session_state.get(key)
        value = state.get("asked") if state else None
        on_ask(str(value.get("words", "")) if isinstance(value, dict) else "")

    data = {
        "pages": [{"letter": letter, **asdict(page)} for letter, page in pages],
        "places": [asdict(place) for place in places],
        "words": words,
        "drawn": drawn,
    }
    component("keys")(key=key, data=data, on_asked_change=ask)
