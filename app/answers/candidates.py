"""Queries to choose from: drawn at random, worst by a metric, or those of a class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from app.answers.comparison_choice import ComparisonChoice
from app.answers.ranked_answer import ONE_QUERY
from app.components.gallery import CardSection, gallery
from app.results import cache, cards
from app.results.cache import SplitView
from app.shared import address, background, page_frame
from app.shared.background import Job
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


def choose(source: str, view: SplitView, allowed: np.ndarray, comparison: ComparisonChoice | None = None) -> Candidates:
    """Draw the widgets of a source and return what it offers of the queries `allowed`, bool [q].

    comparison: the other answer; the sources of `COMPARED` need it.
    """
    if source in COMPARED:
        assert comparison, source
        return _compared(source, view, allowed, comparison)
    offered = {"random": _random, "class": _class, "worst": _worst}.get(source)
    return Candidates([], [], "") if offered is None else offered(view, allowed)


def chosen_query(view: SplitView, chosen: Candidates) -> int | None:
    """The query on screen: the one that was clicked, else the first that is offered; the address has it, too."""
    state, whole = st.session_state, view.whole
    if whole.row(state.get("query")) is None and chosen.items:
        state["query"] = chosen.items[0]
    item = state.get("query") if whole.row(state.get("query")) is not None else None
    address.tell("query", item)
    return item


def draw(
    view: SplitView, chosen: Candidates, item: int | None, *, key: str, on_pick: Callable[[str, int], None]
) -> None:
    """Draw the strip of queries, or the line that says what is waited for. item: the query on screen."""
    if chosen.waits_for is not None:
        background.note(chosen.waits_for)
        return
    strip = [cards.card(view, one, value=value) for one, value in zip(chosen.items, chosen.values, strict=True)]
    look: dict[str, Any] = {"note": chosen.note, "empty": chosen.empty, "size": "small", "turns": True}
    gallery([CardSection("candidates", chosen.title, strip, current=item, **look)], key=key, on_pick=on_pick)


NONE_PASS = "No query passes the filter; widen or clear it."


def _random(view: SplitView, allowed: np.ndarray) -> Candidates:
    def shuffle() -> None:
        st.session_state["draws"] += 1
        st.session_state.pop("query", None)

    page_frame.keep("draws", 0, lambda draws: 0 <= draws < 2**31, link="draws")
    st.button("Shuffle", key="draw", on_click=shuffle, icon=":material/casino:", width="stretch")
    generator = np.random.default_rng(st.session_state["draws"])
    rows = np.flatnonzero(allowed)
    count = min(OFFERED, len(rows))
    items = view.whole.query.items[rows[generator.choice(len(rows), count, replace=False)]].tolist()
    return Candidates(items, [""] * count, "Random queries", "click one to see its neighbours", NONE_PASS)


def _column(label: str, columns: list[str]) -> str:
    titles = {column: ONE_QUERY.get(column, column) for column in columns}
    return page_frame.select(label, titles, key="by", initial="mAP", link="by")


def _worst(view: SplitView, allowed: np.ndarray) -> Candidates:
    column = _column("Worst by", view.whole.columns)
    title, measuring = f"Worst queries by {ONE_QUERY.get(column, column)}", cache.measured(view)
    if measuring.value is None:
        return Candidates([], [], title, waits_for=measuring)
    values = np.where(allowed, measuring.value[column], np.nan)
    counted = int((~np.isnan(values)).sum())
    order = np.argsort(values, kind="stable")[: min(OFFERED, counted)]  # those that are not counted come last
    note = f"of {counted:,} queries; ties in the order of the data set"
    none = "No query here has another image of its class, so no metric counts any." if allowed.all() else NONE_PASS
    items = view.whole.query.items[order].tolist()
    return Candidates(items, [f"{values[row]:.3f}" for row in order], title, note, none)


def _class(view: SplitView, allowed: np.ndarray) -> Candidates:
    query, names = view.whole.query, view.images.class_names
    labels, counts = np.unique(query.labels[allowed], return_counts=True)
    if not len(labels):
        return Candidates([], [], "Of one class", empty=NONE_PASS)
    counted = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    titles = {one: f"{names[one]} ({count})" for one, count in counted.items()}
    label = page_frame.select("Class", titles, key="class", link="class")
    rows = np.flatnonzero((query.labels == label) & allowed)[: 4 * OFFERED]
    note = f"{counted[label]:,} images" + (f"; the first {len(rows)} are shown" if len(rows) < counted[label] else "")
    return Candidates(query.items[rows].tolist(), [""] * len(rows), str(names[label]), note)


def _compared(source: str, view: SplitView, allowed: np.ndarray, comparison: ComparisonChoice) -> Candidates:
    """Queries by how much the other ranking changed them."""
    by_rank, title, compared = source in ("fixed", "broken"), COMPARED[source], comparison.compared
    if compared is None:
        return Candidates([], [], title, waits_for=comparison.waits_for)
    both = [name for name in view.whole.columns if name in compared.columns]
    column = "r@1" if by_rank else _column("By", both)
    for measuring in (cache.measured(view), comparison.measured()):
        if measuring.value is None:
            return Candidates([], [], title, waits_for=measuring)
    here, there = cache.measured(view).value, comparison.measured().value
    assert here is not None and there is not None
    items, before, after = changes(view.whole, compared.collection, here[column], there[column])
    change = after - before if source in ("improved", "fixed") else before - after
    order = np.argsort(-change, kind="stable")
    passing = np.isin(items, view.whole.query.items[allowed])
    order = order[(change[order] > 0) & passing[order]]
    rows = order[: 2 * OFFERED]
    more = f", the first {len(rows)} shown" if len(rows) < len(order) else ""
    name, other = ONE_QUERY.get(column, column), compared.title
    note = {
        "improved": f"{name} is higher in {other}",
        "regressed": f"{name} is lower in {other}",
        "fixed": f"first neighbour wrong here, right in {other}",
        "broken": f"first neighbour right here, wrong in {other}",
    }[source]
    values = [""] * len(rows) if by_rank else [f"{after[row] - before[row]:+.3f}" for row in rows]
    count = f"{len(order):,} of {int(passing.sum()):,} queries{more}"
    return Candidates(items[rows].tolist(), values, title, f"{note} for {count}", f"There is no such query ({note}).")
