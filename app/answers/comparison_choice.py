"""Choosing what to compare a run with: another run on the same images, or a re-ranking."""

from dataclasses import dataclass

import numpy as np

from app.forms import knob_forms
from app.results import cache, run_choice
from app.results.cache import SplitView
from app.shared import page_frame
from app.shared.background import Job
from lab.evaluation.comparison import OtherRanking
from lab.report.rows import letters, query_set

NOTHING = ""


@dataclass(frozen=True)
class ComparisonChoice:
    """Another answer, and the split whose images its cards show.

    code: as it stands in the address. answer: the other ranking, or the job that makes it.
    """

    code: str
    view: SplitView
    answer: OtherRanking | Job[OtherRanking]

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
        """A value for every query; only of a ranking that is there."""
        return cache.measured(self.view, "" if isinstance(self.answer, OtherRanking) else self.code, self.compared)


def choose(view: SplitView) -> ComparisonChoice | None:
    """Draw the choice; None while nothing is to be compared."""
    options = {NOTHING: "nothing"} | run_choice.on_the_same_images(view)
    methods = knob_forms.offered("lab.reranking")
    options |= {f"rerank:{name}": f"this run, re-ranked ({name.replace('_', '-')})" for name in methods}
    run_choice.leave_gone("rival")
    code = page_frame.select("Compare with", options, key="rival", link="rival")
    kind, _, name = code.partition(":")
    if kind == "rerank":
        return ComparisonChoice(code, view, cache.reranked(view, name))
    if kind == "run":
        known = run_choice.library()
        sets = [query_set(run_choice.described(known[one]), view.split) for one in (view.run.name, name)]
        unlike = any(letters(sets))
        if unlike:
            page_frame.say("≠ Measured on different images; Runs compares the two on the same ones.")
        other = run_choice.at_the_same_step(view, name)
        return ComparisonChoice(code, other, OtherRanking(f"{name} ≠" if unlike else name, other.whole))
    return None
