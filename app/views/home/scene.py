"""What the first page tells: two runs that answer the same queries, and the query that shows best what differs."""

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

LOOKED_AT = 50
"""Newest runs among which two are looked for."""

TAUGHT = {
    "classification": "Trained to name things",
    "proxy": "Trained to gather each kind around one point",
    "pair": "Trained on pairs of pictures",
    "triplet": "Trained on triplets of pictures",
    "ranking": "Trained to put the right ones first",
}
"""Family of a loss to what it teaches, for somebody who knows none."""


@dataclass(frozen=True)
class Answer:
    """How one run answers. share: queries whose first neighbour is right, 0 to 1."""

    view: SplitView
    share: float

    @property
    def taught(self) -> str:
        """What the network was trained for, in words."""
        loss = run_choice.chosen_name(run_choice.config_of(self.view.run.folder), "loss")
        known = loss in lab.losses.names() and loss not in lab.losses.broken()
        words = TAUGHT.get(lab.losses.get(loss).family or "") if known else None
        name = loss.replace("_", " ")
        return f"{words} ({name})" if words else f"Trained with {name}"


@dataclass(frozen=True)
class Scene:
    """Two runs, the one with the lower share first.

    verdict: how they differ, in words. item: the query, None where the second mends nothing that the first has wrong.
    """

    answers: tuple[Answer, Answer]
    verdict: str
    item: int | None


def find(known: RunLibrary) -> Scene | None:
    """The newest two runs that answer the same queries but were made differently; None without such a pair, or while
    their queries are being measured."""
    for one, two in _pairs(known):
        of_one, of_two = _columns(one), _columns(two)
        if of_one is None or of_two is None:
            return None
        both = [(one, of_one), (two, of_two)]
        (low, before), (high, after) = sorted(both, key=lambda answer: float(np.nanmean(answer[1]["r@1"])))
        items, first, then = changes(low.collection, high.collection, before["r@1"], after["r@1"])
        _, worse, better = changes(low.collection, high.collection, before["MAP@R"], after["MAP@R"])
        # The query is that whose first true matches gain most among those that only the second answers right.
        gains = np.where((first < 1) & (then == 1), better - worse, -np.inf)
        item = int(items[gains.argmax()]) if np.isfinite(gains).any() else None
        verdict = _verdict(low.key, high.key, first, then, low.collection.query.labels[low.collection.rows(items)])
        return Scene((Answer(low, float(first.mean())), Answer(high, float(then.mean()))), verdict, item)
    return None


def _pairs(known: RunLibrary) -> Iterator[tuple[SplitView, SplitView]]:
    """Pairs that may be compared, newest first."""
    ended = [run for run in known.runs if run_choice.state_of(run) not in (RUNNING, QUEUED)][:LOOKED_AT]
    for run, other in combinations(ended, 2):
        with suppress(ValueError, OSError):  # one that cannot be read, which its own pages say
            views = _views(run, other)
            if views and all(view.collection.judged for view in views):
                yield views


def _views(run: Run, other: Run) -> tuple[SplitView, SplitView] | None:
    """The split of both that pages show first, if both embedded the same images of it under the same numbers."""
    if run_choice.config_of(run) == run_choice.config_of(other):
        return None
    one, two = run_choice.view(run), run_choice.view(other)
    split = next((split for split in SPLITS if split in one.splits and split in two.splits), None)
    if split is None or not run_choice.share_images(run, other, split):
        return None
    views = cache.split_view(one, split), cache.split_view(two, split)
    if not np.array_equal(views[0].collection.query.items, views[1].collection.query.items):
        return None
    return views if cache.common(*views).joined.same_numbers else None


def _columns(view: SplitView) -> dict[str, np.ndarray] | None:
    """What is known of every query: what the evaluation kept, or what is measured behind the page."""
    stored = dict(view.collection.stored)
    return stored if {"r@1", "MAP@R"} <= stored.keys() else background.if_ready(cache.measured(view))


@st.cache_data(max_entries=20, show_spinner=False)
def _verdict(low: tuple, high: tuple, _before: np.ndarray, _after: np.ndarray, _labels: np.ndarray) -> str:
    """What follows the second share: by how much other pictures would differ. low, high: keys of the two splits."""
    found = paired.difference(_before, _after, _labels)
    if found.classes < FEWEST:
        return f", on {found.classes} classes, too few to say what other pictures would give"
    least, most = 100 * found.low, 100 * found.high
    if least > 0:
        return f"; on other pictures, too, likely {least:.0f} to {most:.0f} more than above"
    return f": no clear difference; on other pictures it might be {-least:.0f} fewer to {most:.0f} more"
