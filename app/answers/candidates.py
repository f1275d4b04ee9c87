"""Queries to choose from: drawn at random, worst by a metric, or those of a class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from app.answers.comparison_choice import ComparisonChoice
from app.answers.ranked_answer import ONE_QUERY
from app.components.gallery import Section, gallery
from app.results import cards
from app.results.cache import RunView
from app.shared import address, background, page_frame
from app.shared.background import Job
from lab.evaluation.collection import Collection
from lab.evaluation.comparison import changes

SOURCES = {
    "random": "Random",
    "worst": "Worst by a metric",
    "class": "Of one class",
    "upload": "Your own picture",
}
COMPARED = {
    "improved": "Most improved",
    "regressed": "Most regressed",
    "fixed": "Fixed (wrong here, right there)",
    "broken": "Broken (right here, wrong there)",
}
"""Sources that need two answers; fixed and broken go by r@1."""
OFFERED = 20
"""Queries in the strip: one row on a wide screen."""

Measured = Callable[[], Job[dict[str, np.ndarray]]]


@dataclass(frozen=True)
class Candidates:
    """Query images to offer, with a value each (or ""), and words around them. waits_for: what comes first."""

    items: Sequence[int]
    values: Sequence[str]
    title: str
    note: str = ""
    empty: str = ""
    waits_for: Job | None = None


def sources(with_rival: bool) -> dict[str, str]:
    """Where queries can come from, with what people call it."""
    return {**SOURCES, **COMPARED} if with_rival else SOURCES


def choose(
    source: str,
    collection: Collection,
    allowed: np.ndarray,
    measured: Measured | None = None,
    comparison: ComparisonChoice | None = None,
) -> Candidates:
    """Draw the widgets of a source and return what it offers of the queries `allowed`, bool [q].

    Args:
        measured: begins to measure every query; the sources that go by a metric need it.
        comparison: the other answer; the sources of `COMPARED` need it.
    """
    if source in COMPARED:
        assert measured and comparison, source
        return _compared(source, collection, allowed, measured, comparison)
    if source == "worst":
        assert measured, source
        return _worst(collection, allowed, measured)
    if source == "upload":
        return Candidates([], [], "")
    return {"random": _random, "class": _class}[source](collection, allowed)


def chosen_query(collection: Collection, chosen: Candidates) -> int | None:
    """The query on screen: the one that was clicked, else the first that is offered; the address has it, too."""
    if collection.row(st.session_state.get("query")) is None and chosen.items:
        st.session_state["query"] = chosen.items[0]
    item = st.session_state.get("query")
    item = item if collection.row(item) is not None else None
    address.tell("query", item)
    return item


def draw(
    run: RunView, collection: Collection, chosen: Candidates, item: int | None, *, key: str,
    on_pick: Callable[[str, int], None],
) -> None:  # fmt: skip
    """Draw the strip of queries, or the line that says what is waited for. item: the query on screen."""
    if chosen.waits_for is not None:
        background.note(chosen.waits_for)
        return
    strip = [cards.plain(run, collection, one, value) for one, value in zip(chosen.items, chosen.values, strict=True)]
    section = Section(
        "candidates", chosen.title, strip, chosen.note, chosen.empty, size="small", current=item, turns=True
    )
    gallery([section], key=key, on_pick=on_pick)


NONE_PASS = "No query passes the filter; widen or clear it."


def _random(collection: Collection, allowed: np.ndarray) -> Candidates:
    def shuffle() -> None:
        st.session_state["draws"] += 1
        st.session_state.pop("query", None)

    page_frame.keep("draws", 0, lambda draws: 0 <= draws < 2**31, link="draws")
    st.button("Shuffle", key="draw", on_click=shuffle, icon=":material/casino:", width="stretch")
    generator = np.random.default_rng(st.session_state["draws"])
    rows = np.flatnonzero(allowed)
    count = min(OFFERED, len(rows))
    items = collection.query.items[rows[generator.choice(len(rows), count, replace=False)]].tolist()
    return Candidates(items, [""] * count, "Random queries", "click one to see its neighbours", NONE_PASS)


def _column(label: str, columns: list[str]) -> str:
    return page_frame.select(
        label, columns, key="by", initial="mAP", format=lambda one: ONE_QUERY.get(one, one), link="by"
    )


def _worst(collection: Collection, allowed: np.ndarray, measured: Measured) -> Candidates:
    column = _column("Worst by", collection.columns)
    title, measuring = f"Worst queries by {ONE_QUERY.get(column, column)}", measured()
    if measuring.value is None:
        return Candidates([], [], title, waits_for=measuring)
    values = np.where(allowed, measuring.value[column], np.nan)
    order = np.argsort(np.where(np.isnan(values), np.inf, values), kind="stable")[:OFFERED]
    order = order[~np.isnan(values[order])]
    counted = int((~np.isnan(values)).sum())
    return Candidates(
        collection.query.items[order].tolist(),
        [f"{values[row]:.3f}" for row in order],
        title,
        f"of {counted:,} queries; ties in the order of the data set",
        "No query here has another image of its class, so no metric counts any." if allowed.all() else NONE_PASS,
    )


def _class(collection: Collection, allowed: np.ndarray) -> Candidates:
    labels, counts = np.unique(collection.query.labels[allowed], return_counts=True)
    if not len(labels):
        return Candidates([], [], "Of one class", empty=NONE_PASS)
    counted = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    names = collection.images.class_names
    label = page_frame.select(
        "Class", list(counted), key="class", format=lambda one: f"{names[one]} ({counted.get(one, 0)})", link="class"
    )
    mine = np.flatnonzero((collection.query.labels == label) & allowed)[: 4 * OFFERED]
    note = f"{counted[label]:,} images" + (f"; the first {len(mine)} are shown" if len(mine) < counted[label] else "")
    return Candidates(collection.query.items[mine].tolist(), [""] * len(mine), str(names[label]), note)


def _compared(
    source: str, collection: Collection, allowed: np.ndarray, measured: Measured, comparison: ComparisonChoice
) -> Candidates:
    """Queries by how much the other ranking changed them."""
    by_rank = source in ("fixed", "broken")
    compared = comparison.compared
    if compared is None:
        return Candidates([], [], COMPARED[source], waits_for=comparison.waits_for)
    both = [name for name in collection.columns if name in compared.columns]
    column = "r@1" if by_rank else _column("By", both)
    ours, theirs = measured(), comparison.measured()
    here, there = ours.value, theirs.value
    if here is None or there is None:
        return Candidates([], [], COMPARED[source], waits_for=ours if here is None else theirs)
    items, before, after = changes(collection, compared.collection, here[column], there[column])
    if not allowed.all():
        kept = np.isin(items, collection.query.items[allowed])
        items, before, after = items[kept], before[kept], after[kept]
    change = after - before
    if source in ("regressed", "broken"):
        change = -change
    order = np.argsort(-change, kind="stable")
    order = order[change[order] > 0]
    rows = order[: 2 * OFFERED]
    more = f", the first {len(rows)} shown" if len(rows) < len(order) else ""
    count = f"{len(order):,} of {len(items):,} queries{more}"
    name, other = ONE_QUERY.get(column, column), compared.title
    note = {
        "improved": f"{name} is higher in {other}", "fixed": f"first neighbour wrong here, right in {other}",
        "regressed": f"{name} is lower in {other}", "broken": f"first neighbour right here, wrong in {other}",
    }[source]  # fmt: skip
    values = [""] * len(rows) if by_rank else [f"{after[row] - before[row]:+.3f}" for row in rows]
    empty = f"There is no such query ({note})."
    return Candidates(items[rows].tolist(), values, COMPARED[source], f"{note} for {count}", empty)
