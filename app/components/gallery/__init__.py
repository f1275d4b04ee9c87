"""A gallery of images as one component. Sixty thumbnails take a fifth of the time of sixty `st.image` calls.

Correct is blue with a check mark and a solid border, wrong is vermillion with a cross and a dashed border, unknown is
grey with a question mark and a dotted border, so that colour is never needed.
"""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import streamlit as st

from app.components import checked_report, component, reported, whole_numbers


@dataclass(frozen=True)
class Move:
    """The change of a card's rank between two rankings. way: up, down or same. text: contains an arrow."""

    way: str
    text: str
    spoken: str


@dataclass(frozen=True)
class Bar:
    """A small bar under a card. share: filled part, 0 to 1. wrong: draw it hatched. text: describes it."""

    share: float
    text: str
    wrong: bool = False


@dataclass(frozen=True)
class Card:
    """One image.

    src: a data URI, or a URL of `app.served`.
    right: whether the image has the query's class, "unknown" if its class is not known, None to show nothing.
    cut: draw a line after this card, because it has rank k.
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
    """A grid of cards with a heading.

    empty: sentence shown if there are no cards. current: id of the highlighted card.
    turns: the keys N and P pick the next and the previous card.
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
    """The query image, with facts as (name, value, help)."""

    src: str
    alt: str
    title: str
    lines: Sequence[str] = ()
    facts: Sequence[tuple[str, str, str]] = field(default_factory=tuple)


@dataclass(frozen=True)
class Frame:
    """The panel for judging the card `id`: one or two large pictures, and rows of other pictures.

    suggested: name of a likely class, or "". repeats: label of the answer that it is a duplicate.
    """

    id: int
    shown: Sequence[Query]
    sections: Sequence[CardSection]
    suggested: str
    repeats: str


@dataclass(frozen=True)
class JudgingAction:
    """An action of the user on the cards `ids`: keep, relabel, drop, duplicate, undo, or go to another card.

    label: the typed class, or "" for the suggested one. at: the card to judge next. last: all cards are judged.
    """

    does: str
    ids: tuple[int, ...]
    label: str
    at: int
    last: bool


@dataclass(frozen=True)
class Judging:
    """The judging of the cards of a gallery.

    frames: panels of the current card and the next ones.
    marks: card to its answer and new class.
    classes: legal class names; empty allows any name.
    undoable: there is an answer to undo.
    on_act: called once for each action, before the page is drawn again. It returns updates of the session's state.

    A newer click may end `on_act` wherever it uses the session's state. The browser then reports the action again. So
    on_act reads that state first and does not use it after it has stored anything.
    """

    frames: Sequence[Frame]
    marks: Mapping[int, tuple[str, str]]
    classes: Sequence[str]
    undoable: bool
    on_act: Callable[[JudgingAction], Mapping[str, Any]]

    def data(self, key: str) -> dict[str, Any]:
        """Return the data for the browser. key: of the gallery."""
        return {
            "marks": self.marks,
            "classes": self.classes,
            "undoable": self.undoable,
            "frames": [asdict(frame) for frame in self.frames],
            "heard": _progress(key).number,
        }

    def hear(self, key: str, shown: Set[int]) -> None:
        """Handle the actions that the browser reports. It repeats numbered actions until they are confirmed."""
        progress = _progress(key)
        for entry in reported(key, "told", log=list)["log"]:
            checked_report(entry, n=int, does=str)
            ids = entry.get("ids") or []
            label = entry.get("label") or ""
            checked_report({"ids": ids, "label": label}, ids=list, label=str)
            known_ids = tuple(card for card in whole_numbers(ids) if card in shown)
            updates: dict[str, Any] = {}
            with progress.lock:  # another request of this session may report the same action
                if entry["n"] <= progress.number:
                    continue
                for at in whole_numbers([entry.get("at")]):
                    if at in shown:
                        action = JudgingAction(
                            entry["does"], known_ids, label, at, bool(entry.get("last"))
                        )
                        updates.update(self.on_act(action))
                progress.number = entry["n"]
            st.session_state.update(updates)


@dataclass
class _Progress:
    """number: the last action that was handled."""

    number: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def _progress(key: str) -> _Progress:
    return st.session_state.setdefault(f"{key} told", _Progress())


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
    """Draw sections of cards, beside the query if there is one.

    The callbacks run before the page is drawn again.

    Args:
        on_pick: called with the ids of section and card after a click or Enter on a card.
        on_select: called with the ids of all selected cards after the selection has changed: by the box of a card, by
            X, with Shift for a range of cards, and without `on_pick` also by a click.
        selected: ids of the selected cards. Ids of other cards are ignored.
        stacked: draw the first two sections as two lists, one above the other, with lines between the same images.
        judging: judge the cards of the only section, with the panel of the current card above.
    """
    shown = {card.id for section in sections for card in section.cards}

    def on_picked() -> None:
        if on_pick is not None:
            card = reported(key, "picked", section=str, id=int)
            on_pick(card["section"], card["id"])

    def on_chosen() -> None:
        if on_select is not None:
            report = reported(key, "chosen", count=int, ids=list)
            on_select([card for card in whole_numbers(report["ids"]) if card in shown])
            # last, so that an interrupted report is sent again
            st.session_state[f"{key} count"] = report["count"]

    data: dict[str, Any] = {
        "sections": [asdict(section) for section in sections],
        "stacked": stacked,
        "query": asdict(query) if query else None,
    }
    callbacks: dict[str, Any] = {"on_picked_change": on_picked, "on_chosen_change": on_chosen}
    if on_select is not None:
        data["selected"] = sorted(shown & set(selected))
        data["heard"] = st.session_state.get(f"{key} count", 0)
        data["picks"] = on_pick is not None
    if judging is not None:
        data["judge"] = judging.data(key)
        callbacks["on_told_change"] = lambda: judging.hear(key, shown)
    component("gallery", "judge")(key=key, data=data, **callbacks)
