"""Queries to choose from: drawn at random, worst by a metric, or those of a class."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from app.answers.comparison_choice import ComparisonChoice
from app.answers.ranked_answer import ONE_QUERY
from app.components.gallery import CardSection, gallery
from app.results import cache, cards, run_choice
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
DIFFER = "differ"
COMPARED = {
    DIFFER: "Most different",
    "improved": "Most improved",
    "regressed": "Most regressed",
}
"""Sources that need two answers."""
KEPT = "MAP@R"
"""The metric whose values every run keeps, so that nothing has to be measured first."""
LEARNT = {"learnt": "Learnt last", "forgotten": "Forgotten again"}
"""Sources that need several stored moments of a training."""
OFFERED = 20
"""Queries in the strip: one row on a wide screen."""


@dataclass(frozen=True)
class Candidates:
    """Query images to offer, with a value each (or ""), and words around them. waits_for: what comes first. opened: the
    place of the one to open."""

    items: Sequence[int]
    values: Sequence[str]
    title: str
    note: str = ""
    empty: str = ""
    waits_for: Job | None = None
    opened: int = 0


def sources(view: SplitView, with_rival: bool) -> dict[str, str]:
    """Where queries can come from, with what people call it."""
    several = view.split == run_choice.VALIDATION and view.whole.same_source and len(view.run.moments) > 1
    known = SOURCES | (LEARNT if several else {}) | (COMPARED if with_rival else {})
    return known if view.step is None else {name: title for name, title in known.items() if name != "upload"}


def choose(source: str, view: SplitView, allowed: np.ndarray, comparison: ComparisonChoice | None = None) -> Candidates:
    """Draw the widgets of a source and return what it offers of the queries `allowed`, bool [q].

    comparison: the other answer; the sources of `COMPARED` need it.
    """
    if source in COMPARED:
        assert comparison, source
        return _compared(source, view, allowed, comparison)
    if source in LEARNT:
        return _learnt(source, view, allowed)
    offered = {"random": _random, "class": _class, "worst": _worst}.get(source)
    return Candidates([], [], "") if offered is None else offered(view, allowed)


def chosen_query(view: SplitView, chosen: Candidates) -> int | None:
    """The query on screen: the one that was clicked, else, also of a new list, the first that is offered, unless the
    address names one that is not here; the address has it, too."""
    state, asked, listed = st.session_state, address.missing("query"), f"listed on {page_frame.shown()}"
    item = state.get("query") if view.whole.row(state.get("query")) is not None else None
    if chosen.items:
        if state.setdefault(listed, chosen.title) != chosen.title and not asked:
            item = None
        state[listed] = chosen.title
    if item is None and asked:
        words = f"The {view.split} split of {view.run.name} has no query {asked}. Choose another."
        st.warning(page_frame.as_text(words))
    elif item is None and chosen.items:
        item = state["query"] = chosen.items[chosen.opened]
    address.tell("query", item)
    return item


def pick(_section: str, item: int) -> None:
    """An image was clicked: it is the next query."""
    st.session_state["query"] = item


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
    kept = view.whole.stored.get(KEPT, ())
    kept = np.asarray(kept) if len(kept) == len(allowed) else np.ones(len(allowed))
    mixed = kept[view.whole.rows(np.asarray(items, np.int64))]
    opened = int(np.argmin(np.nan_to_num(np.abs(mixed - 0.5), nan=1.0))) if items else 0  # half right tells most
    note = "click one to see its neighbours"
    return Candidates(items, [""] * count, "Random queries", note, NONE_PASS, opened=opened)


def _column(label: str, columns: list[str], initial: str) -> str:
    titles = {column: ONE_QUERY.get(column, column) for column in columns}
    return page_frame.select(label, titles, key="by", initial=initial, link="by")


def _worst(view: SplitView, allowed: np.ndarray) -> Candidates:
    column = _column("Worst by", view.whole.columns, "mAP")
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


def _learnt(source: str, view: SplitView, allowed: np.ndarray) -> Candidates:
    """Queries by the stored moment from which they are right, or wrong again, to the last one."""
    title, looking = LEARNT[source], cache.learning(view.run)
    if looking.value is None:
        return Candidates([], [], title, waits_for=looking)
    items, steps = looking.value.learnt if source == "learnt" else looking.value.forgotten
    passing = np.isin(items, view.whole.query.items[allowed])
    items, steps = items[passing], steps[passing]
    last = f"{looking.value.steps[-1]:,}"
    note = {
        "learnt": f"nearest image wrong at first, right from the step shown to the last stored one, {last}",
        "forgotten": f"nearest image right once, wrong from the step shown to the last stored one, {last}",
    }[source]
    values = [f"step {step:,}" for step in steps[: 2 * OFFERED]]
    counted = f"{len(items):,} of {int(allowed.sum()):,} queries: {note}; the latest first"
    none = f"There is no such query ({note})." if allowed.all() else NONE_PASS
    return Candidates(items[: 2 * OFFERED].tolist(), values, title, counted, none)


def _class(view: SplitView, allowed: np.ndarray) -> Candidates:
    query, names = view.whole.query, view.images.class_names
    labels, counts = np.unique(query.labels[allowed & query.labelled], return_counts=True)
    if not len(labels):
        none = NONE_PASS if query.labelled.any() else "No image here has a class."
        return Candidates([], [], "Of one class", empty=none)
    counted = {names[label]: count for label, count in zip(labels.tolist(), counts.tolist(), strict=True)}
    titles = {name: f"{name} ({count})" for name, count in counted.items()}
    name = page_frame.select("Class", titles, key="class", link="class")
    rows = np.flatnonzero((query.labels == names.index(name)) & allowed)[: 4 * OFFERED]
    note = f"{counted[name]:,} images" + (f"; the first {len(rows)} are shown" if len(rows) < counted[name] else "")
    return Candidates(query.items[rows].tolist(), [""] * len(rows), name, note)


def _compared(source: str, view: SplitView, allowed: np.ndarray, comparison: ComparisonChoice) -> Candidates:
    """Queries by how much the other ranking changed them."""
    title, compared = COMPARED[source], comparison.compared
    if compared is None:
        return Candidates([], [], title, waits_for=comparison.waits_for)
    ours = comparison.ours
    measure_ours = partial(cache.measured, view) if ours is view.whole else comparison.ours_measured
    both = [name for name in ours.columns if name in compared.columns]
    column = _column("By", both, KEPT)
    values = []
    kept = {} if compared.rank else compared.collection.stored
    for known, measure in ((ours.stored, measure_ours), (kept, comparison.measured)):
        measuring = None if column in known else measure()
        found = known if measuring is None else measuring.value
        if found is None:
            return Candidates([], [], title, waits_for=measuring)
        values.append(found[column])
    items, before, after = changes(ours, compared.collection, *values)
    change = after - before if source == "improved" else before - after
    change = np.abs(change) if source == DIFFER else change
    order = np.argsort(-change, kind="stable")
    passing = np.isin(items, view.whole.query.items[allowed])
    order = order[(change[order] > 0) & passing[order]]
    rows = order[: 2 * OFFERED]
    more = f", the first {len(rows)} shown" if len(rows) < len(order) else ""
    name, other = ONE_QUERY.get(column, column), compared.title
    note = {
        DIFFER: f"by {name}, {other} against this one",
        "improved": f"{name} is higher in {other}",
        "regressed": f"{name} is lower in {other}",
    }[source]
    told = [f"{after[row] - before[row]:+.3f}" for row in rows]
    count = f"{len(order):,} of {int(passing.sum()):,} queries{more}"
    return Candidates(items[rows].tolist(), told, title, f"{note} for {count}", f"There is no such query ({note}).")
