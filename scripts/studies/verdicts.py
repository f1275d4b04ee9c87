"""From trainings to a verdict: the learning rate, the power, and the interval over seeds and classes.

Classes and seeds are crossed random factors: each training tests on the same classes, and another draw of either would
move the difference. The variance of its mean is that of a two-way random-effects model with one value a cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lab.figures.measured import Trial, unpacked
from lab.inference.crossed import Effect, Spread, effect, spread
from scripts.studies.study import PILOTS, SEEDS, Arm, Study

SHOWS, REFUTED, UNDECIDED = "shows here", "refuted at this size", "cannot be told"
BLIND, NOT_RUN = "not tried: too little power", "not run yet"
VERDICTS = (SHOWS, REFUTED, UNDECIDED, BLIND, NOT_RUN)

TESTED = {"unseen": 507, "few": 33, "seen": 240}
"""Classes that a training of each protocol is judged on."""

POWER = 0.8
"""A study is run where an effect as large as the mean published one is found so often."""

STEP, CENTRE, WIDEST = 3, 1e-3, 5
"""Learning rates are `CENTRE` times powers of `STEP`, at most so many either way."""


def rate(power: int) -> float:
    """The learning rate of a rung of the ladder."""
    return float(f"{CENTRE * STEP**power:.3g}")


@dataclass(frozen=True)
class Rates:
    """What the pilots of an arm say of its learning rate.

    wanted: rates that are still to be tried, of three with the best in the middle; empty once `best` is known.
    """

    wanted: tuple[float, ...]
    best: float | None


def rates(arm: Arm, trials: Sequence[Trial], column: str) -> Rates:
    """The best learning rate by the mean over the pilots, with a worse one on either side.

    Raises:
        ValueError: the ladder has ended and its last rate is the best one.
    """
    found: dict[float, list[float]] = {}
    for trial in trials:
        if trial.digest == arm.digest and trial.seed in PILOTS:
            found.setdefault(trial.lr, []).append(trial.validation.get(column, -math.inf))
    means = {lr: sum(scores) / len(scores) for lr, scores in found.items() if len(scores) == len(PILOTS)}
    ladder = {rate(power): power for power in range(-WIDEST, WIDEST + 1)}
    best = max(means, key=lambda lr: (means[lr], -lr), default=CENTRE)
    if abs(ladder[best]) == WIDEST:
        raise ValueError(f"{arm.name}: its best learning rate, {best:g}, is the last that is tried.")
    three = tuple(rate(ladder[best] + step) for step in (-1, 0, 1))
    wanted = tuple(lr for lr in three if lr not in means)
    return Rates(wanted, None if wanted else best)


@dataclass(frozen=True)
class Judged:
    """A study with all that is known of it; numbers are in points.

    power: how often an effect as large as the mean published one is found; None before the pilots. visible: the
    smallest effect that is found four times in five. holm: `effect.p` among all studies that were run.
    """

    study: Study
    verdict: str
    power: float | None = None
    visible: float | None = None
    effect: Effect | None = None
    holm: float | None = None


def differences(study: Study, trials: Sequence[Trial], seeds: Sequence[int]) -> np.ndarray | None:
    """First less second arm in points, for each seed and class [s c]; None while trainings are missing."""
    sides = [
        _by_class(arm, trials, column, seeds)
        for arm, column in zip((study.first, study.second), study.columns, strict=True)
    ]
    return None if sides[0] is None or sides[1] is None else 100 * (sides[0] - sides[1])


def _by_class(arm: Arm, trials: Sequence[Trial], column: str, seeds: Sequence[int]) -> np.ndarray | None:
    best = rates(arm, trials, chosen_by(column)).best
    made = {trial.seed: trial.by_class for trial in trials if trial.digest == arm.digest and trial.lr == best}
    found = [made[seed].get(column) for seed in seeds if seed in made]
    return np.stack([unpacked(text) for text in found if text]) if len(found) == len(seeds) and all(found) else None


def chosen_by(column: str) -> str:
    """The score that chooses the learning rate of a column: that of the exact search."""
    return column.partition(", ")[0]


def judge(studies: Mapping[str, Study], trials: Sequence[Trial], seeds: int = SEEDS) -> dict[str, Judged]:
    """Every study judged. What seeds do is told by all pilots of a protocol together: two seeds by themselves tell
    little."""
    piloted = {name: differences(study, trials, PILOTS) for name, study in studies.items()}
    spreads = {name: spread(cells) for name, cells in piloted.items() if cells is not None}
    alike: dict[tuple, list[float]] = {}
    for name, one in spreads.items():
        alike.setdefault(_kind(studies[name]), []).append(one.seeds)
    judged = {}
    for name, study in studies.items():
        own = spreads.get(name)
        if own is not None:
            seeds_alike = alike[_kind(study)]
            own = replace(own, seeds=sum(seeds_alike) / len(seeds_alike))
        judged[name] = _judged(study, own, trials, seeds)
    run = {name: one.effect.p for name, one in judged.items() if one.effect is not None}
    corrected = dict(zip(run, holm(list(run.values())), strict=True))
    return {name: replace(one, holm=corrected.get(name)) for name, one in judged.items()}


def _kind(study: Study) -> tuple[str, str]:
    return study.first.protocol, study.first.tier


def _judged(study: Study, own: Spread | None, trials: Sequence[Trial], seeds: int) -> Judged:
    from scipy.special import ndtr

    if own is None:
        return Judged(study, NOT_RUN)
    error = own.error(seeds, TESTED[study.first.protocol])
    power, visible = float(ndtr(abs(study.expected) / error - 1.96)), 2.8 * error
    if power < POWER:
        return Judged(study, BLIND, power, visible)
    cells = differences(study, trials, range(seeds))
    if cells is None:
        return Judged(study, NOT_RUN, power, visible)
    found, least = effect(cells), min(gain.points for gain in study.published)
    verdict = SHOWS if found.low > 0 else REFUTED if found.high < least else UNDECIDED
    return Judged(study, verdict, power, visible, found)


def holm(chances: Sequence[float]) -> list[float]:
    """Each probability made so large that all of those below a level can be believed together (Holm, 1979)."""
    order = np.argsort(chances, kind="stable")
    raised = np.asarray(chances, dtype=float)[order] * np.arange(len(chances), 0, -1)
    adjusted = np.empty(len(chances))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(raised))
    return adjusted.tolist()
