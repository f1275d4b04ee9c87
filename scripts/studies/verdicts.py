"""From trainings to a verdict: the learning rate, the power, and the interval over seeds and classes.

Classes and seeds are crossed random factors: each training tests on the same classes, and another draw of either would
move the difference. The variance of its mean is that of a two-way random-effects model with one value a cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lab.core.estimates import LEVEL
from lab.figures.measured import Trial, unpacked
from lab.inference.crossed import Effect, Spread, effect, spread
from scripts.studies.study import PILOTS, SEEDS, Arm, Study, Tier

SHOWS, UNDECIDED = "shows here", "cannot be told"
NOT_SEEN: dict[Tier, str] = {
    "head": "not seen in a linear head, one split",
    "cnn": "not seen in a small network, one split",
}
"""Of an interval below every published number, by what was trained."""
BLIND, NOT_RUN = "not tried: too little power", "not run yet"
VERDICTS = (SHOWS, *NOT_SEEN.values(), UNDECIDED, BLIND, NOT_RUN)

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
    means = {
        lr: sum(scores) / len(scores) for lr, scores in found.items() if len(scores) == len(PILOTS)
    }
    ladder = {rate(power): power for power in range(-WIDEST, WIDEST + 1)}
    best = max(means, key=lambda lr: (means[lr], -lr), default=CENTRE)
    if abs(ladder[best]) == WIDEST:
        raise ValueError(
            f"{arm.name}: its best learning rate, {best:g}, is the last that is tried."
        )
    three = tuple(rate(ladder[best] + step) for step in (-1, 0, 1))
    wanted = tuple(lr for lr in three if lr not in means)
    return Rates(wanted, None if wanted else best)


@dataclass(frozen=True)
class Judged:
    """A study with all that is known of it; numbers are in points.

    power: how often an effect as large as the mean published one is found; None before the pilots. visible: the
    smallest effect that is found four times in five, as the pilots promise. reached: the same as the judged trainings
    have it, None where there are none. holm: `effect.p` among all studies that were run.
    """

    study: Study
    verdict: str
    power: float | None = None
    visible: float | None = None
    reached: float | None = None
    effect: Effect | None = None
    holm: float | None = None


def differences(study: Study, trials: Sequence[Trial], seeds: Sequence[int]) -> np.ndarray | None:
    """First less second arm in points, for each seed and class [s c]; None while trainings are missing."""
    sides = [
        _by_class(arm, trials, column, seeds)
        for arm, column in zip((study.first, study.second), study.columns, strict=True)
    ]
    return None if sides[0] is None or sides[1] is None else 100 * (sides[0] - sides[1])


def _by_class(
    arm: Arm, trials: Sequence[Trial], column: str, seeds: Sequence[int]
) -> np.ndarray | None:
    best = rates(arm, trials, chosen_by(column)).best
    made = {
        trial.seed: trial.by_class
        for trial in trials
        if trial.digest == arm.digest and trial.lr == best
    }
    found = [made[seed].get(column) for seed in seeds if seed in made]
    return (
        np.stack([unpacked(text) for text in found if text])
        if len(found) == len(seeds) and all(found)
        else None
    )


def chosen_by(column: str) -> str:
    """The score that chooses the learning rate of a column: that of the exact search."""
    return column.partition(", ")[0]


def judge(
    studies: Mapping[str, Study], trials: Sequence[Trial], seeds: int = SEEDS
) -> dict[str, Judged]:
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
    if own is None:
        return Judged(study, NOT_RUN)
    classes = TESTED[study.first.protocol]
    power, visible = power_of(study.expected, own, seeds, classes), smallest(own, seeds, classes)
    if power < POWER:
        return Judged(study, BLIND, power, visible)
    cells = differences(study, trials, range(seeds))
    if cells is None:
        return Judged(study, NOT_RUN, power, visible)
    found, least = effect(cells), min(gain.points for gain in study.published)
    not_seen = NOT_SEEN[study.first.tier]
    verdict = SHOWS if found.low > 0 else not_seen if found.high < least else UNDECIDED
    return Judged(study, verdict, power, visible, smallest(spread(cells), *cells.shape), found)


def power_of(size: float, own: Spread, seeds: int, classes: int) -> float:
    """How often a two-sided t test at the level of the intervals finds an effect of this size."""
    from scipy.special import nctdtr

    freedom, bound = _test(own, seeds, classes)
    if own.error(seeds, classes) == 0:  # every training found the same
        return 1.0
    return float(1 - nctdtr(freedom, abs(size) / own.error(seeds, classes), bound))


def smallest(own: Spread, seeds: int, classes: int) -> float:
    """The effect that the same test finds as often as `POWER` says."""
    from scipy.special import nctdtrinc

    freedom, bound = _test(own, seeds, classes)
    return float(nctdtrinc(freedom, 1 - POWER, bound)) * own.error(seeds, classes)


def _test(own: Spread, seeds: int, classes: int) -> tuple[float, float]:
    """Satterthwaite's degrees of freedom of the mean, from the expected mean squares, and Student's t at them."""
    from scipy.special import stdtrit

    by_seed, by_class = own.rest + classes * own.seeds, own.rest + seeds * own.classes
    squares = (by_seed, seeds - 1), (by_class, classes - 1), (own.rest, (seeds - 1) * (classes - 1))
    spread_out = sum(square**2 / count for square, count in squares)
    freedom = (by_seed + by_class - own.rest) ** 2 / spread_out if spread_out else seeds - 1
    return freedom, float(stdtrit(freedom, (1 + LEVEL) / 2))


def holm(chances: Sequence[float]) -> list[float]:
    """Each probability made so large that all of those below a level can be believed together (Holm, 1979)."""
    order = np.argsort(chances, kind="stable")
    raised = np.asarray(chances, dtype=float)[order] * np.arange(len(chances), 0, -1)
    adjusted = np.empty(len(chances))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(raised))
    return adjusted.tolist()
