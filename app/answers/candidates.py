"""Query images to choose from: random ones, the worst by a metric, or those of a class."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
"""Sources that compare two rankings."""

STORED_METRIC = "MAP@R"
"""A metric whose values every run stores, so that they need no computation."""

LEARNT = {"learnt": "Learnt last", "forgotten": "Forgotten again"}
"""Sources that need several stored validations of a training."""

OFFERED = 20
"""Number of queries to offer: one row on a wide screen."""


@dataclass(frozen=True)
class Candidates:
    """Query images to offer.

    values: a label for each, or "". title, note: words above. empty: sentence shown if there are no items.
    waits_for: the job whose result is needed first. opened: index of the image to open first.
    """

    items: Sequence[int]
    values: Sequence[str]
    title: str
    note: str = ""
    empty: str = ""
    waits_for: Job | None = None
    opened: int = 0


def sources(view: SplitView, with_rival: bool) -> dict[str, str]:
    """Return the sources of queries: name to label."""
    labels = dict(SOURCES)
    if view.step is not None:  # encoders of earlier steps are not stored
        del labels["upload"]
    if (
        view.split == run_choice.VALIDATION
        and view.collection.same_source
        and len(view.run.moments) > 1
    ):
        labels |= LEARNT
    if with_rival:
        labels |= COMPARED
    return labels


def choose(
    source: str, view: SplitView, allowed: np.ndarray, comparison: ComparisonChoice | None = None
) -> Candidates:
    """Draw the widgets of a source and return its query images.

    Args:
        allowed: bool [q], queries that pass the filter.
        comparison: the other ranking, which the sources of `COMPARED` need.
    """
    if source in COMPARED:
        assert comparison, source
        return _compared(source, view, allowed, comparison)
    if source in LEARNT:
        return _learnt(source, view, allowed)
    if source == "random":
        return _random(view, allowed)
    if source == "class":
        return _class(view, allowed)
    if source == "worst":
        return _worst(view, allowed)
    return Candidates([], [], "")


def chosen_query(view: SplitView, chosen: Candidates) -> int | None:
    """Return the current query, and put it into the URL.

    It is the clicked image, or the first offered image, also after the list has changed. If the URL names a query that
    does not exist, the page says so and there is no query.
    """
    state = st.session_state
    missing = address.missing("query")
    list_key = f"listed on {page_frame.current_title()}"
    item = state.get("query")
    if view.collection.row(item) is None:
        item = None
    if chosen.items:
        if state.setdefault(list_key, chosen.title) != chosen.title and not missing:
            item = None
        state[list_key] = chosen.title

    if item is None and missing:
        words = f"The {view.split} split of {view.run.name} has no query {missing}. Choose another query."
        st.warning(page_frame.as_text(words))
    elif item is None and chosen.items:
        item = chosen.items[chosen.opened]
        state["query"] = item
    address.store("query", item)
    return item


def pick(_section: str, item: int) -> None:
    """Make a clicked image the query."""
    st.session_state["query"] = item


def draw(
    view: SplitView,
    chosen: Candidates,
    item: int | None,
    *,
    key: str,
    on_pick: Callable[[str, int], None],
) -> None:
    """Draw the query images in a row, or the progress of the job that they need. item: the current query."""
    if chosen.waits_for is not None:
        background.note(chosen.waits_for)
        return
    strip = []
    for candidate, value in zip(chosen.items, chosen.values, strict=True):
        strip.append(cards.card(view, candidate, value=value))
    section = CardSection(
        "candidates",
        chosen.title,
        strip,
        note=chosen.note,
        empty=chosen.empty,
        size="small",
        current=item,
        turns=True,
    )
    gallery([section], key=key, on_pick=on_pick)


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
    items = view.collection.query.items[
        rows[generator.choice(len(rows), count, replace=False)]
    ].tolist()

    # Open the query whose answer is closest to half right: it shows most.
    opened = 0
    stored = view.collection.stored.get(STORED_METRIC, ())
    if items and len(stored) == len(allowed):
        values = np.asarray(stored)[view.collection.rows(np.asarray(items, np.int64))]
        opened = int(np.argmin(np.nan_to_num(np.abs(values - 0.5), nan=1.0)))
    note = "click a query to see its neighbours"
    return Candidates(items, [""] * count, "Random queries", note, NONE_PASS, opened=opened)


def _column(label: str, columns: list[str], initial: str) -> str:
    titles = {column: ONE_QUERY.get(column, column) for column in columns}
    return page_frame.select(label, titles, key="by", initial=initial, link="by")


def _worst(view: SplitView, allowed: np.ndarray) -> Candidates:
    column = _column("Worst by", view.collection.columns, "mAP")
    title = f"Worst queries by {ONE_QUERY.get(column, column)}"
    measured = cache.measured(view)
    if measured.value is None:
        return Candidates([], [], title, waits_for=measured)
    values = np.where(allowed, measured.value[column], np.nan)
    count = int((~np.isnan(values)).sum())
    # queries without a value come last
    order = np.argsort(values, kind="stable")[: min(OFFERED, count)]
    note = f"of {count:,} queries; ties in the order of the data set"
    none = NONE_PASS
    if allowed.all():
        none = "No query here has another image of its class, so no metric counts any."
    items = view.collection.query.items[order].tolist()
    return Candidates(items, [f"{values[row]:.3f}" for row in order], title, note, none)


def _learnt(source: str, view: SplitView, allowed: np.ndarray) -> Candidates:
    """Return queries by the stored step from which they are right, or wrong again, until the last step."""
    title = LEARNT[source]
    job = cache.learning(view.run)
    learning = job.value
    if learning is None:
        return Candidates([], [], title, waits_for=job)
    last = f"{learning.steps[-1]:,}"
    if source == "learnt":
        items, steps = learning.learnt
        note = f"nearest image wrong at first, right from the step shown to the last stored step, {last}"
    else:
        items, steps = learning.forgotten
        note = (
            f"nearest image right once, wrong from the step shown to the last stored step, {last}"
        )
    passing = np.isin(items, view.collection.query.items[allowed])
    shown = items[passing][: 2 * OFFERED].tolist()
    values = [f"step {step:,}" for step in steps[passing][: 2 * OFFERED]]
    count = f"{int(passing.sum()):,} of {int(allowed.sum()):,} queries: {note}; the latest first"
    none = f"There is no such query ({note})." if allowed.all() else NONE_PASS
    return Candidates(shown, values, title, count, none)


def _class(view: SplitView, allowed: np.ndarray) -> Candidates:
    query = view.collection.query
    names = view.images.class_names
    labels, counts = np.unique(query.labels[allowed & query.labelled], return_counts=True)
    if not len(labels):
        none = NONE_PASS if query.labelled.any() else "No image here has a class."
        return Candidates([], [], "Of one class", empty=none)
    titles = {}
    for label, count in zip(labels.tolist(), counts.tolist(), strict=True):
        titles[names[label]] = f"{names[label]} ({count})"
    name = page_frame.select("Class", titles, key="class", link="class")
    passing = np.flatnonzero((query.labels == names.index(name)) & allowed)
    rows = passing[: 4 * OFFERED]
    note = f"{len(passing):,} images"
    if len(rows) < len(passing):
        note += f"; the first {len(rows)} are shown"
    return Candidates(query.items[rows].tolist(), [""] * len(rows), name, note)


def _compared(
    source: str, view: SplitView, allowed: np.ndarray, comparison: ComparisonChoice
) -> Candidates:
    """Return queries by how much the other ranking changed them."""
    title = COMPARED[source]
    other = comparison.compared
    if other is None:
        return Candidates([], [], title, waits_for=comparison.waits_for)
    columns = [name for name in comparison.ours.columns if name in other.columns]
    column = _column("By", columns, STORED_METRIC)

    # Read the metric of both rankings if it is stored; otherwise measure it in the background.
    values: list[Any] = []
    stored = comparison.ours.stored
    other_stored = {} if other.rank else other.collection.stored
    if column in stored:
        values.append(stored[column])
    else:
        measured = (
            cache.measured(view)
            if comparison.ours is view.collection
            else comparison.ours_measured()
        )
        if measured.value is None:
            return Candidates([], [], title, waits_for=measured)
        values.append(measured.value[column])
    if column in other_stored:
        values.append(other_stored[column])
    else:
        measured = comparison.measured()
        if measured.value is None:
            return Candidates([], [], title, waits_for=measured)
        values.append(measured.value[column])
    items, before, after = changes(comparison.ours, other.collection, *values)

    name = ONE_QUERY.get(column, column)
    difference = after - before
    if source == "improved":
        change = difference
        note = f"{name} is higher in {other.title}"
    elif source == "regressed":
        change = -difference
        note = f"{name} is lower in {other.title}"
    else:
        change = np.abs(difference)
        note = f"by {name}, {other.title} against this one"

    # The queries that changed most, of those that pass the filter.
    passing = np.isin(items, view.collection.query.items[allowed])
    order = np.argsort(-change, kind="stable")
    order = order[(change[order] > 0) & passing[order]]
    rows = order[: 2 * OFFERED]
    count = f"{len(order):,} of {int(passing.sum()):,} queries"
    if len(rows) < len(order):
        count += f", the first {len(rows)} shown"
    labels = [f"{difference[row]:+.3f}" for row in rows]
    return Candidates(
        items[rows].tolist(),
        labels,
        title,
        f"{note} for {count}",
        f"There is no such query ({note}).",
    )
