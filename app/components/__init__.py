"""Widgets that Streamlit does not have."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from app.shared import page_frame

LARGEST = 2**53
"""JavaScript's whole numbers are exact below this."""


def reported(key: str, event: str, **types: type) -> dict[str, Any]:
    """Return the values that the browser has just reported for an event of the component `key`.

    Args:
        types: the type of each value of the event.

    Raises:
        ValueError: the report has another form. The dashboard's pages never send one, but another program could.
    """
    state = st.session_state.get(key)  # Streamlit drops it while another page replaces this one
    return checked_report(state.get(event) if state else None, **types)


def checked_report(report: Any, **types: type) -> dict[str, Any]:
    """Return a report of the browser, or an entry of it, if its values have these types.

    Raises:
        ValueError: it has another form.
    """
    if isinstance(report, dict) and all(
        _is_of(report.get(name), kind) for name, kind in types.items()
    ):
        return report
    raise ValueError(
        f"The browser sent an unexpected report ({', '.join(types)} expected); reload the page."
    )


def whole_numbers(values: list[Any]) -> list[int]:
    """Return those values of a report that are whole numbers."""
    return [value for value in values if _is_of(value, int)]


def _is_of(value: Any, kind: type) -> bool:
    if kind in (int, float) and isinstance(value, int):
        return not isinstance(value, bool) and abs(value) < LARGEST
    return isinstance(value, kind)


def guarding(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Show errors of a component's callbacks as a sentence on the page."""

    def draw_guarded(**kwargs: Any) -> Any:
        for name, value in kwargs.items():
            if name.startswith("on_"):
                kwargs[name] = page_frame.guarded(value)
        return draw(**kwargs)

    return draw_guarded


@cache
def component(name: str, *parts: str) -> Callable[..., Any]:
    """Return the component of the folder `name`: its NAME.js draws into an empty <div> with the style of NAME.css.

    parts: further files of that folder, whose code and style are appended.
    """
    folder = Path(__file__).parent / name

    def read(suffix: str) -> str:
        return "".join((folder / f"{part}.{suffix}").read_text("utf-8") for part in (name, *parts))

    return guarding(
        st.components.v2.component(
            f"rankscope_{name}",
            html=f'<div class="{name}"></div>\n',
            css=read("css"),
            js=read("js"),
        )
    )
