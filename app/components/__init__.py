"""Pieces of page that Streamlit does not have."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from app.shared import page_frame

LARGEST = 2**53
"""Above this a number of the browser is not exact, so it counts nothing."""


def told(key: str, event: str, **kinds: type) -> dict[str, Any]:
    """Return what the browser has just reported of an event of the component `key`.

    Args:
        kinds: the type of each value that belongs to the event.

    Raises:
        ValueError: the report has another form. No page of the dashboard sends such a one, but a visitor's program may.
    """
    state = st.session_state.get(key)  # Streamlit drops it while another page takes the place of this one
    return checked(state.get(event) if state else None, **kinds)


def checked(found: Any, **kinds: type) -> dict[str, Any]:
    """Return a report of the browser, or one entry of it, if its values are of these types; see `told`.

    Raises:
        ValueError: they are not.
    """
    if isinstance(found, dict) and all(_is_of(found.get(name), kind) for name, kind in kinds.items()):
        return found
    raise ValueError(f"The browser reported what no page asks for ({', '.join(kinds)} expected); reload the page.")


def whole_numbers(values: list[Any]) -> list[int]:
    """Return the whole numbers among what the browser reported."""
    return [one for one in values if _is_of(one, int)]


def _is_of(value: Any, kind: type) -> bool:
    if kind in (int, float) and isinstance(value, int):
        return not isinstance(value, bool) and abs(value) < LARGEST
    return isinstance(value, kind)


def guarding(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Let a component draw as before, and turn what its reports raise into a sentence on the page."""

    def drawn(**look: Any) -> Any:
        for name, answer in look.items():
            if name.startswith("on_"):
                look[name] = page_frame.guarded(answer)
        return draw(**look)

    return drawn


@cache
def component(name: str, *parts: str) -> Callable[..., Any]:
    """What the folder `name` here draws: its NAME.js, in its NAME.css, in an empty <div> of that class. parts: more
    files of that folder, which belong to these."""
    folder = Path(__file__).parent / name

    def read(kind: str) -> str:
        return "".join((folder / f"{one}.{kind}").read_text("utf-8") for one in (name, *parts))

    made = st.components.v2.component(
        f"rankscope_{name}",
        html=f'<div class="{name}"></div>\n',
        css=read("css"),
        js=read("js"),
    )
    return guarding(made)
