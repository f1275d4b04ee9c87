"""Choosing what to compare a run with: another run on the same images, a re-ranking, or two-stage search."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.forms import knob_forms
from app.results import cache, run_choice
from app.results.cache import SplitView
from app.shared import page_frame
from app.shared.background import Job
from lab.evaluation.comparison import OtherRanking, two_stage
from lab.evaluation.two_stage import InvertedGallery

NOTHING = ""

ENGINES = tuple(
    name for name, needs in {"faiss_ivf_pq": "faiss", "lancedb": "lancedb"}.items() if importlib.util.find_spec(needs)
)
"""Indexes of `lab.search` for galleries that outgrow memory, where their library is installed; here they show what they
lose."""


@dataclass(frozen=True)
class ComparisonChoice:
    """Another answer, and the split whose images its cards show.

    code: as it stands in the address. answer: the other ranking, or the job that makes it or its filed gallery.
    """

    code: str
    view: SplitView
    answer: OtherRanking | Job[Any]

    @property
    def compared(self) -> OtherRanking | None:
        """None while it is being prepared.

        Raises:
            ValueError: it cannot be.
        """
        value = self.answer if isinstance(self.answer, OtherRanking) else self.answer.value
        return two_stage(value) if isinstance(value, InvertedGallery) else value

    @property
    def waits_for(self) -> Job[Any] | None:
        """The job that makes the ranking or its filed gallery, done or not; None where nothing has to be prepared."""
        return self.answer if isinstance(self.answer, Job) else None

    def measured(self) -> Job[dict[str, np.ndarray]]:
        """A value for every query; only of a ranking that is there."""
        return cache.measured(self.view, "" if isinstance(self.answer, OtherRanking) else self.code, self.compared)


def choose(view: SplitView) -> ComparisonChoice | None:
    """Draw the choice; None while nothing is to be compared."""
    options = {NOTHING: "nothing"} | run_choice.on_the_same_images(view)
    methods = knob_forms.offered("lab.reranking")
    options |= {f"rerank:{name}": f"this run, re-ranked ({name.replace('_', '-')})" for name in methods}
    options["two-stage:1"] = "this run, two-stage search"
    options |= {f"search:{engine}": f"this run, searched by {engine}" for engine in ENGINES}
    code = page_frame.select("Compare with", options, key="rival", link="rival")
    kind, _, name = code.partition(":")
    if kind == "rerank":
        return ComparisonChoice(code, view, cache.reranked(view, name))
    if kind == "search":
        return ComparisonChoice(code, view, cache.searched(view, name))
    if kind == "two-stage":
        return ComparisonChoice(code, view, cache.inverted(view))
    if kind == "run":
        other = cache.split_view(run_choice.view(run_choice.library()[name]), view.split)
        return ComparisonChoice(code, other, OtherRanking(name, other.whole))
    return None
