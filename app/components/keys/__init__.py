"""What the keyboard does on every page: a palette (Ctrl + K), shortcuts, and a list of them ("?").

Both dialogs are the browser's own: it keeps the focus inside while one is open, gives it back, and closes it at Escape.
A key alone does nothing while somebody types, and whoever does not want such keys (voice control types letters) turns
them off in the list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import streamlit as st

from app.components import component


@dataclass(frozen=True)
class Place:
    """A line of the palette. kind: page, run, class or image; name: what tells it apart among these."""

    kind: str
    name: str
    title: str
    note: str = ""


def keys(
    letters: dict[str, tuple[str, str]],
    places: Sequence[Place],
    words: str | None,
    *,
    key: str,
    on_ask: Callable[[str], None],
    on_choose: Callable[[str, str], None],
) -> None:
    """Listen to the keyboard.

    Args:
        letters: page's name to the letter that, after G, leads there, and the page's title.
        places: what the palette offers for `words`; for None it keeps what it has.
        on_ask: called with the words that were typed.
        on_choose: called with kind and name of what was chosen. They come from a browser: check them.
    """

    def reported(name: str) -> dict:
        # While a page takes the place of another, Streamlit may have dropped the state of the one before.
        state = st.session_state.get(key)
        value = state.get(name) if state else None
        return value if isinstance(value, dict) else {}

    def asked() -> None:
        on_ask(str(reported("asked").get("words", "")))

    def chosen() -> None:
        on_choose(str(reported("chosen").get("kind", "")), str(reported("chosen").get("name", "")))

    data = {
        "pages": [{"name": name, "letter": letter, "title": title} for name, (letter, title) in letters.items()],
        "places": [asdict(place) for place in places],
        "words": words,
    }
    component("keys")(key=key, data=data, on_asked_change=asked, on_chosen_change=chosen)
