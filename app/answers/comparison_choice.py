"""The choice of another ranking to compare a run with: another run on the same images, or a re-ranking."""

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
    """Another ranking of this run's queries.

    code: value of the URL parameter.
    view: the other run, or this run if it is re-ranked.
    answer: the other ranking, or the job that computes it. It has the item numbers of this run.
    ours: this run on the common images of both.
    key: identifies this run's embeddings.
    """

    code: str
    view: SplitView
    answer: OtherRanking | Job[OtherRanking]
    ours: Collection
    key: tuple

    @property
    def compared(self) -> OtherRanking | None:
        """The other ranking, or None while it is computed.

        Raises:
            ValueError: it cannot be computed.
        """
        if isinstance(self.answer, OtherRanking):
            return self.answer
        return self.answer.value

    @property
    def waits_for(self) -> Job[OtherRanking] | None:
        """The job that computes the other ranking, if there is one."""
        return self.answer if isinstance(self.answer, Job) else None

    def measured(self) -> Job[dict[str, np.ndarray]]:
        """Measure every query of the other ranking, which must be computed already."""
        other = self.compared
        if other is not None and other.rank is None and other.collection is self.view.collection:
            return cache.measured(self.view)
        return cache.measured(self.view, f"{self.code} for {self.key}", other)

    def ours_measured(self) -> Job[dict[str, np.ndarray]]:
        """Measure every query of this run among the common images of both."""
        return cache.measured(
            self.view, f"beside {self.code} for {self.key}", OtherRanking("", self.ours)
        )


def choose(view: SplitView) -> ComparisonChoice | None:
    """Draw the choice of another ranking, and return it, or None for no comparison."""
    options = {NOTHING: "nothing", **run_choice.runs_on_same_images(view)}
    for name in knob_forms.available("lab.reranking"):
        options[f"rerank:{name}"] = f"this run, re-ranked ({name.replace('_', '-')})"
    run_choice.refuse_missing_run("rival")
    code = page_frame.select("Compare with", options, key="rival", link="rival")
    kind, _, name = code.partition(":")
    if kind == "rerank":
        return ComparisonChoice(code, view, cache.reranked(view, name), view.collection, view.key)
    if kind == "run":
        return _other_run(view, code, name)
    return None


def _other_run(view: SplitView, code: str, name: str) -> ComparisonChoice | None:
    """Return another run on the common images of both, or None, with the reason on the page, if there are none."""
    other = run_choice.at_the_same_step(view, name)
    with page_frame.refusals(st.info):
        common = cache.common(view, other)
        if not len(common.joined):
            raise ValueError(
                f"{view.run.name} and {name} have no {view.split} image in common: {common.note}"
            )
        page_frame.say(common.note)
        return ComparisonChoice(
            code, other, OtherRanking(name, common.second), common.first, view.key
        )
    return None
