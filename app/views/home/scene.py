"""The comparison on the first page: two runs on the same queries, and the query that shows their difference best."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import streamlit as st

import lab.losses
from app.results import cache, run_choice
from app.results.cache import SPLITS, SplitView
from app.results.run_choice import RunLibrary
from app.shared import background
from lab.evaluation.comparison import changes
from lab.inference import paired
from lab.inference.over_classes import FEWEST
from lab.runs import Run
from lab.runs.folder import QUEUED, RUNNING

NEWEST = 50
"""Number of newest runs to choose from."""

DESCRIPTIONS = {
    "classification": "Trained to name things",
    "proxy": "Trained to gather each kind around one point",
    "pair": "Trained on pairs of pictures",
    "triplet": "Trained on triplets of pictures",
    "ranking": "Trained to put the right ones first",
}
"""Family of a loss to its description for readers who do not know any loss."""


@dataclass(frozen=True)
class Answer:
    """The result of a run. share: fraction of queries whose nearest neighbour is right."""

    view: SplitView
    share: float

    @property
    def training(self) -> str:
        """How the network was trained, in words."""
        loss = run_choice.chosen_name(run_choice.config_of(self.view.run.folder), "loss")
        name = loss.replace("_", " ")
        if loss in lab.losses.names() and loss not in lab.losses.broken():
            family = lab.losses.get(loss).family
            if family in DESCRIPTIONS:
                return f"{DESCRIPTIONS[family]} ({name})"
        return f"Trained with {name}"


@dataclass(frozen=True)
class HomeScene:
    """Two runs, the one with the lower share first.

    verdict: their difference in words.
    item: the query, or None if the second run is right for no query that the first has wrong.
    """

    answers: tuple[Answer, Answer]
    verdict: str
    item: int | None


def find(runs: RunLibrary) -> HomeScene | None:
    """Return the newest two runs on the same queries with different settings.

    Return None if there is no such pair, or while their metrics are computed.
    """
    for first, second in _pairs(runs):
        first_metrics = _metrics(first)
        second_metrics = _metrics(second)
        if first_metrics is None or second_metrics is None:
            return None
        if np.nanmean(first_metrics["r@1"]) <= np.nanmean(second_metrics["r@1"]):
            return _compare(first, second, first_metrics, second_metrics)
        return _compare(second, first, second_metrics, first_metrics)
    return None


def _compare(
    low: SplitView, high: SplitView, before: dict[str, np.ndarray], after: dict[str, np.ndarray]
) -> HomeScene:
    """Compare a run with a better one. before, after: their metrics of every query."""
    items, low_hits, high_hits = changes(
        low.collection, high.collection, before["r@1"], after["r@1"]
    )
    _, low_scores, high_scores = changes(
        low.collection, high.collection, before["MAP@R"], after["MAP@R"]
    )
    # Of the queries that only the better run has right, take the one with the largest gain.
    gains = np.where((low_hits < 1) & (high_hits == 1), high_scores - low_scores, -np.inf)
    item = None
    if np.isfinite(gains).any():
        item = int(items[gains.argmax()])
    labels = low.collection.query.labels[low.collection.rows(items)]
    verdict = _verdict(low.key, high.key, low_hits, high_hits, labels)
    answers = (Answer(low, float(low_hits.mean())), Answer(high, float(high_hits.mean())))
    return HomeScene(answers, verdict, item)


def _pairs(runs: RunLibrary) -> Iterator[tuple[SplitView, SplitView]]:
    """Yield the pairs of runs that can be compared, newest first."""
    ended = [run for run in runs.runs if run_choice.state_of(run) not in (RUNNING, QUEUED)]
    for first, second in combinations(ended[:NEWEST], 2):
        with suppress(ValueError, OSError):  # the run's own pages report what cannot be read
            views = _views(first, second)
            if views and all(view.collection.judged for view in views):
                yield views


def _views(first: Run, second: Run) -> tuple[SplitView, SplitView] | None:
    """Return the first common split of two runs with different settings, if its images have the same item numbers."""
    if run_choice.config_of(first) == run_choice.config_of(second):
        return None
    first_run = run_choice.view(first)
    second_run = run_choice.view(second)
    for split in SPLITS:
        if split in first_run.splits and split in second_run.splits:
            break
    else:
        return None
    if not run_choice.share_images(first, second, split):
        return None
    first_view = cache.split_view(first_run, split)
    second_view = cache.split_view(second_run, split)
    if not np.array_equal(first_view.collection.query.items, second_view.collection.query.items):
        return None
    if not cache.common(first_view, second_view).joined.same_numbers:
        return None
    return first_view, second_view


def _metrics(view: SplitView) -> dict[str, np.ndarray] | None:
    """Return the metrics of every query: the stored ones, or those computed in the background once they are ready."""
    stored = dict(view.collection.stored)
    if {"r@1", "MAP@R"} <= stored.keys():
        return stored
    return background.if_ready(cache.measured(view))


@st.cache_data(max_entries=20, show_spinner=False)
def _verdict(
    low: tuple, high: tuple, _before: np.ndarray, _after: np.ndarray, _labels: np.ndarray
) -> str:
    """Return how much the result would differ on other pictures, as the end of a sentence.

    low, high: keys of the two splits.
    """
    difference = paired.difference(_before, _after, _labels)
    if difference.classes < FEWEST:
        return f", on {difference.classes} classes, too few to say what other classes would give"
    low_end = 100 * difference.low
    high_end = 100 * difference.high
    if low_end > 0:
        return f"; in other classes, too, likely {low_end:.0f} to {high_end:.0f} more than above"
    return f": no clear difference; in other classes it might be {-low_end:.0f} fewer to {high_end:.0f} more"
