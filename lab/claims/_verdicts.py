"""From trials to verdicts: each contrast by the interval of its mean over seeds, a claim by its contrasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lab.claims._study import SEEDS, Claim, Contrast, Study
from lab.trials import Interval, Scores, Trial, interval

HOLDS, FAILS, UNTOLD, NOT_RUN = "holds", "does not hold here", "cannot be told", "not run"


@dataclass(frozen=True)
class Answer:
    """A contrast with the interval of its mean, and what follows."""

    contrast: Contrast
    interval: Interval
    verdict: str


@dataclass(frozen=True)
class Judged:
    """A claim with its findings and what follows from all of them."""

    claim: Claim
    findings: tuple[Answer, ...]
    verdict: str


def judge(study: Study, trials: Sequence[Trial], seeds: int = SEEDS) -> list[Judged]:
    """Every claim of a study, judged on trials that belong to it."""
    scores = Scores(trials, study.column, study.lrs)
    return [judged(claim, [scores.paired(c.of) for c in claim.contrasts], seeds) for claim in study.claims]


def judged(claim: Claim, numbers: Sequence[Mapping[int, float]], seeds: int = SEEDS) -> Judged:
    """A claim judged on the numbers of its contrasts, each a mapping from seed to number."""
    findings = tuple(finding(c, list(n.values()), seeds) for c, n in zip(claim.contrasts, numbers, strict=True))
    verdicts = {f.verdict for f in findings}
    if NOT_RUN in verdicts:
        verdict = NOT_RUN
    elif FAILS in verdicts:
        verdict = FAILS
    else:
        verdict = HOLDS if verdicts == {HOLDS} else UNTOLD
    return Judged(claim, findings, verdict)


def finding(contrast: Contrast, values: Sequence[float], seeds: int = SEEDS) -> Answer:
    """One contrast judged on one number a seed; fewer numbers than seeds decide nothing."""
    found = interval(values)
    if found.n < max(2, seeds):
        return Answer(contrast, found, NOT_RUN)
    low, high, least = found.low, found.high, contrast.least
    holds, fails = {
        "positive": (low > 0, high < least),
        "none": (-least < low and high < least, low > least or high < -least),
        "no loss": (low > -least, high < -least),
    }[contrast.expects]
    return Answer(contrast, found, HOLDS if holds else FAILS if fails else UNTOLD)
