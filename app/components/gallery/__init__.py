"""A gallery of result images as one component: sixty thumbnails cost a fifth of what sixty `st.image` calls do.

Right is blue, a check mark and a solid border; wrong is vermillion, a cross and a dashed border: never colour alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

import streamlit as st

from app.components import component


@dataclass(frozen=True)
class Move:
    """How far a card moved between two rankings: `way` is up, down or same; the text carries an arrow."""

    way: str
    text: str
    spoken: str


@dataclass(frozen=True)
class Bar:
    """A small bar under a card: `share` of full, 0..1; `wrong` makes it hatched; the text says the same."""

    share: float
    text: str
    wrong: bool = False


@dataclass(frozen=True)
class Card:
    """One image. `src` is a data URI; `right` is None where there is no right or wrong; strings are shown as text.

    cut: the list is cut after this card (it stands at rank k).
    """

    id: int
    src: str
    alt: str
    title: str
    rank: int | str | None = None
    right: bool | None = None
    value: str = ""
    subtitle: str = ""
    tooltip: str = ""
    move: Move | None = None
    bar: Bar | None = None
    cut: bool = False


@dataclass(frozen=True)
class CardSection:
    """A headed grid of cards; `empty` is what it says when there are none; `current` is the id of the marked card.

    turns: the keys N and P pick the card after or before the marked one.
    """

    id: str
    title: str
    cards: Sequence[Card]
    note: str = ""
    empty: str = ""
    size: str = "normal"
    current: int | None = None
    turns: bool = False


@dataclass(frozen=True)
class Query:
    """The image that was asked for, with facts as (name, value, help)."""

    src: str
    alt: str
    title: str
    lines: Sequence[str] = ()
    facts: Sequence[tuple[str, str, str]] = field(default_factory=tuple)


def gallery(
    sections: Sequence[CardSection],
    *,
    key: str,
    on_pick: Callable[[str, int], None],
    query: Query | None = None,
    columns: bool = False,
) -> None:
    """Draw sections of cards, beside the query when there is one, side by side when `columns`.

    `on_pick(section id, card id)` runs before the page is drawn again, after a click or Enter on a card.
    """

    def picked() -> None:
        value = st.session_state[key]["picked"]
        if isinstance(value, dict) and isinstance(value.get("id"), int):
            on_pick(str(value.get("section", "")), value["id"])

    data = {"sections": [asdict(s) for s in sections], "query": asdict(query) if query else None, "columns": columns}
    component("gallery")(key=key, data=data, on_picked_change=picked)
