"""From trials to verdicts: each contrast by the interval of its mean over seeds, a claim by its contrasts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lab.claims._study import SEEDS, Claim, Contrast, Study
from lab.core.estimates import Estimate, deviation
from lab.trials import Scores, Trial, interval

HOLDS, FAILS, UNDECIDED, NOT_RUN = "holds", "does not hold here", "cannot be told", "not run"

LEVEL = 0.05
"""How often a verdict may be given by chance."""


@dataclass(frozen=True)
class Answer:
    """A contrast with the interval of its mean, and what follows.

    p: how often chance alone would give the verdict that is nearest, twice the one-sided probability; NaN if not run.
    holm: the same among all contrasts of a page, by Holm's method; see `among_all`.
    effect: the mean in standard deviations over seeds (Cohen's d of paired differences); NaN where all are equal.
    """

    contrast: Contrast
    interval: Estimate
    verdict: str
    p: float = math.nan
    holm: float = math.nan
    effect: float = math.nan


@dataclass(frozen=True)
class Judged:
    """A claim with its findings and what follows from all of them."""

    claim: Claim
    findings: tuple[Answer, ...]
    verdict: str

    @property
    def sure(self) -> bool:
        """Whether it holds, or does not hold, among all comparisons of a page, too."""
        decisive = [f.holm <= LEVEL for f in self.findings if f.verdict == self.verdict]
        return {HOLDS: all(decisive), FAILS: any(decisive)}.get(self.verdict, False)


def judge(study: Study, trials: Sequence[Trial], seeds: int = SEEDS) -> list[Judged]:
    """Every claim of a study, judged on trials that belong to it."""
    scores = Scores(trials, study.column, study.options())
    return [
        judged(claim, [scores.paired(c.of) for c in claim.contrasts], seeds, study.shared) for claim in study.claims
    ]


def judged(claim: Claim, numbers: Sequence[Mapping[int, float]], seeds: int = SEEDS, shared: float = 1.0) -> Judged:
    """A claim judged on the numbers of its contrasts, each a mapping from seed to number.

    That all contrasts hold needs no correction for their number; that one of them does not is asked at a level that
    is divided by it.
    """
    findings = tuple(finding(c, list(n.values()), seeds, shared) for c, n in zip(claim.contrasts, numbers, strict=True))
    verdicts = {f.verdict for f in findings}
    if NOT_RUN in verdicts:
        verdict = NOT_RUN
    elif any(f.verdict == FAILS and f.p * len(findings) <= LEVEL for f in findings):
        verdict = FAILS
    else:
        verdict = HOLDS if verdicts == {HOLDS} else UNDECIDED
    return Judged(claim, findings, verdict)


def finding(contrast: Contrast, values: Sequence[float], seeds: int = SEEDS, shared: float = 1.0) -> Answer:
    """One contrast judged on one number a seed; fewer numbers than seeds decide nothing."""
    from scipy.special import stdtr, stdtrit

    estimate = interval(values, 1 - LEVEL, shared)
    if estimate.half is None or estimate.count < seeds:
        return Answer(contrast, estimate, NOT_RUN)
    least, freedom = contrast.least, estimate.count - 1
    error = estimate.half / stdtrit(freedom, 1 - LEVEL / 2)

    def leads(lead: float) -> float:
        """One-sided probability of a mean that leads by so much, if there were no lead."""
        if error == 0:
            return 0.5 if lead == 0 else float(lead < 0)
        return float(stdtr(freedom, -lead / error))

    def above(bound: float) -> float:
        return leads(estimate.mean - bound)

    def below(bound: float) -> float:
        return leads(bound - estimate.mean)

    holds, fails = {
        "positive": (above(0), below(least)),
        "none": (max(above(-least), below(least)), min(above(least), below(-least))),
        "no loss": (above(-least), below(-least)),
    }[contrast.expects]
    verdict = HOLDS if 2 * holds < LEVEL else FAILS if 2 * fails < LEVEL else UNDECIDED
    p = min(1.0, 2 * (holds if verdict == HOLDS else min(holds, fails)))
    spread = float(deviation(values))
    return Answer(contrast, estimate, verdict, p, effect=estimate.mean / spread if spread > 0 else math.nan)


def among_all(verdicts: Mapping[str, Sequence[Judged]]) -> dict[str, list[Judged]]:
    """The same with Holm's correction for all contrasts that were run."""
    run = [f for judgements in verdicts.values() for j in judgements for f in j.findings if f.verdict != NOT_RUN]
    adjusted = iter(holm([f.p for f in run]))

    def corrected(f: Answer) -> Answer:
        return f if f.verdict == NOT_RUN else replace(f, holm=next(adjusted))

    return {
        name: [replace(j, findings=tuple(map(corrected, j.findings))) for j in judgements]
        for name, judgements in verdicts.items()
    }


def holm(chances: Sequence[float]) -> list[float]:
    """Each probability made so large that all of those below a level can be believed together (Holm, 1979)."""
    order = np.argsort(chances, kind="stable")
    raised = np.asarray(chances, dtype=float)[order] * np.arange(len(chances), 0, -1)
    adjusted = np.empty(len(chances))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(raised))
    return adjusted.tolist()
