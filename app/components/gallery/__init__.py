"""A gallery of result images as one component: sixty thumbnails cost a fifth of what sixty `st.image` calls do.

Right is blue, a check mark and a solid border; wrong is vermillion, a cross and a dashed border; unknown is grey, a
question mark and a dotted border: never colour alone.
"""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import streamlit as st

from app.components import checked, component, told, whole_numbers


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
    """One image. `right` is None where there is no right or wrong, and "unknown" where the class of an image is not
    known; strings are shown as text.

    src: a data URI, or an address of `app.served`. cut: the list is cut after this card (it stands at rank k).
    """

    id: int
    src: str
    alt: str
    title: str
    rank: int | str | None = None
    right: bool | Literal["unknown"] | None = None
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


@dataclass(frozen=True)
class Frame:
    """What is shown while the card `id` is judged: one or two large pictures, and rows of others.

    suggested: name of the class that it may be of, or nothing. repeats: words of the answer that it is a duplicate.
    """

    id: int
    shown: Sequence[Query]
    sections: Sequence[CardSection]
    suggested: str
    repeats: str


@dataclass(frozen=True)
class Told:
    """What a person did to the cards `ids`: keep, relabel, drop, duplicate, undo, or go to another. label: the class
    that was typed, or nothing for the suggested one. at: the card that is judged next. last: all are judged."""

    does: str
    ids: tuple[int, ...]
    label: str
    at: int
    last: bool


@dataclass(frozen=True)
class Judging:
    """frames: of the current card, and of those that come next. marks: card to its answer and the class of a new label.
    classes: names that may be typed; none: any. undoable: there is an answer to take back. on_tell: called once for
    everything that a person did, before the page is drawn again; it returns what the session's state is to hold then.

    A newer click may end `on_tell` wherever it touches the session's state. The browser then tells the same again, so
    on_tell reads that state first, and touches it no more once it has kept something."""

    frames: Sequence[Frame]
    marks: Mapping[int, tuple[str, str]]
    classes: Sequence[str]
    undoable: bool
    on_tell: Callable[[Told], Mapping[str, Any]]

    def data(self, key: str) -> dict[str, Any]:
        """What the browser is given. key: of the gallery."""
        given = {name: getattr(self, name) for name in ("marks", "classes", "undoable")}
        return given | {"frames": [asdict(one) for one in self.frames], "heard": _heard(key).number}

    def hear(self, key: str, shown: Set[int]) -> None:
        """Read what the browser tells: everything that it does not know to be heard, each with its number."""
        log, heard = told(key, "told", log=list)["log"], _heard(key)
        for one in log:
            entry = checked(one, n=int, does=str)
            more = checked({"ids": entry.get("ids") or [], "label": entry.get("label") or ""}, ids=list, label=str)
            ids = tuple(one for one in whole_numbers(more["ids"]) if one in shown)
            then: dict[str, Any] = {}
            with heard.lock:  # of a request that follows at once, which tells the same again
                if entry["n"] <= heard.number:
                    continue
                for at in shown & set(whole_numbers([entry.get("at")])):
                    then |= self.on_tell(Told(entry["does"], ids, more["label"], at, bool(entry.get("last"))))
                heard.number = entry["n"]
            st.session_state.update(then)


@dataclass
class _Heard:
    """number: of the last thing that a person did which was taken in."""

    number: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def _heard(key: str) -> _Heard:
    return st.session_state.setdefault(f"{key} told", _Heard())


def gallery(
    sections: Sequence[CardSection],
    *,
    key: str,
    on_pick: Callable[[str, int], None] | None = None,
    on_select: Callable[[list[int]], None] | None = None,
    selected: Collection[int] = (),
    query: Query | None = None,
    stacked: bool = False,
    judging: Judging | None = None,
) -> None:
    """Draw sections of cards, beside the query when there is one.

    Args:
        on_pick: called with the ids of section and card, before the page is drawn again, after a click or Enter on a
            card.
        on_select: called with the ids of all shown cards that are selected, before the page is drawn again, after that
            has changed: by the box of a card or X, with Shift for all cards since the last one. Without `on_pick` a
            click on a card does so, too.
        selected: ids of the selected cards, and maybe of others.
        stacked: the first two sections are two lists, one above the other, with lines between the same images.
        judging: the cards of the one section are judged, with the panel for its current card above.
    """
    shown = {card.id for section in sections for card in section.cards}

    def picked() -> None:
        if on_pick is not None:
            card = told(key, "picked", section=str, id=int)
            on_pick(card["section"], card["id"])

    def chosen() -> None:
        if on_select is not None:
            report = told(key, "chosen", count=int, ids=list)
            on_select([one for one in whole_numbers(report["ids"]) if one in shown])
            st.session_state[f"{key} count"] = report["count"]  # heard, once it is selected

    data: dict[str, Any] = {"sections": [asdict(s) for s in sections], "stacked": stacked}
    data["query"] = asdict(query) if query else None
    if on_select is not None:
        heard = st.session_state.get(f"{key} count", 0)
        data |= {"selected": sorted(shown & set(selected)), "heard": heard, "picks": on_pick is not None}
    more: dict[str, Any] = {}
    if judging is not None:
        data["judge"], more = judging.data(key), {"on_told_change": lambda: judging.hear(key, shown)}
    component("gallery", "judge")(key=key, data=data, on_picked_change=picked, on_chosen_change=chosen, **more)
