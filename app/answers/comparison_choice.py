"""Choosing what to compare a run with: another run on the same images, or a re-ranking."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from app.forms import knob_forms
from app.results import cache, run_choice
from app.results.cache import SplitView
from app.shared import page_frame
from app.shared.background import Job
from lab.evaluation.collection import Collection
from lab.evaluation.comparison import OtherRanking

NOTHING = ""


@dataclass(frozen=True)
class ComparisonChoice:
    """Another answer to this run's queries.

    code: as it stands in the address. view: of the other run, or of this one where it is re-ranked. answer: the other
    ranking, or the job that makes it. ours: this run on the images that both have; the other ranking is on the same
    ones, under this run's numbers. of: tells this run's embeddings from others.
    """

    code: str
    view: SplitView
    answer: OtherRanking | Job[OtherRanking]
    ours: Collection
    of: tuple

    @property
    def compared(self) -> OtherRanking | None:
        """None while it is being prepared.

        Raises:
            ValueError: it cannot be.
        """
        return self.answer if isinstance(self.answer, OtherRanking) else self.answer.value

    @property
    def waits_for(self) -> Job[OtherRanking] | None:
        """The job that makes the ranking, done or not; None where nothing has to be prepared."""
        return self.answer if isinstance(self.answer, Job) else None

    def measured(self) -> Job[dict[str, np.ndarray]]:
        """A value for every query of the other ranking; only of one that is there."""
        compared = self.compared
        if compared is not None and compared.rank is None and compared.collection is self.view.whole:
            return cache.measured(self.view)
        return cache.measured(self.view, f"{self.code} for {self.of}", compared)

    def ours_measured(self) -> Job[dict[str, np.ndarray]]:
        """A value for every query of this run, searched among the images that both have."""
        return cache.measured(self.view, f"beside {self.code} for {self.of}", OtherRanking("", self.ours))


def choose(view: SplitView) -> ComparisonChoice | None:
    """Draw the choice; None while nothing is to be compared."""
    options = {NOTHING: "nothing"} | run_choice.on_the_same_images(view)
    methods = knob_forms.offered("lab.reranking")
    options |= {f"rerank:{name}": f"this run, re-ranked ({name.replace('_', '-')})" for name in methods}
    run_choice.leave_gone("rival")
    code = page_frame.select("Compare with", options, key="rival", link="rival")
    kind, _, name = code.partition(":")
    if kind == "rerank":
        return ComparisonChoice(code, view, cache.reranked(view, name), view.whole, view.key)
    if kind == "run":
        return _beside(view, code, name)
    return None


def _beside(view: SplitView, code: str, name: str) -> ComparisonChoice | None:
    """Another run on the images that both have; None, and the reason on the page, where there are none."""
    other = run_choice.at_the_same_step(view, name)
    with page_frame.refusals(st.info):
        both = cache.common(view, other)
        if not len(both.joined):
            raise ValueError(f"{view.run.name} and {name} have no {view.split} image in common: {both.note}")
        page_frame.say(both.note)
        return ComparisonChoice(code, other, OtherRanking(name, both.second), both.first, view.key)
    return None
