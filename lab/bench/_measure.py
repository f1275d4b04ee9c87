"""One row of the benchmark, and how times are taken."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class BenchRow:
    """One measured number.

    section: metrics, search, ...; name: what was measured; setting: sizes and kind of data.
    value, unit: the number, in s, ms, us, x (a ratio), MB, as a power of n, or as a plain share.
    against: what a ratio compares with; goal: the number aimed at, None where there is none.
    n: items of the batch or set, where a number is taken at several.
    spread: half of the range over the rounds, as a share of the value; None where there was one round.
    """

    section: str
    name: str
    setting: str
    value: float
    unit: str
    against: str = ""
    goal: float | None = None
    n: int | None = None
    spread: float | None = None


class Medians(Mapping[str, float]):
    """Median seconds of each work, and how far its rounds lay apart.

    Args:
        taken: seconds of every round, by work; round i of all works was measured together.
        first: the first round of a work that counts, where it is not round 0.
    """

    def __init__(self, taken: Mapping[str, Sequence[float]], first: Mapping[str, int] | None = None):
        self.taken, self.first = taken, first or {}

    def __getitem__(self, name: str) -> float:
        return statistics.median(self.taken[name][self.first.get(name, 0) :])

    def __iter__(self) -> Iterator[str]:
        return iter(self.taken)

    def __len__(self) -> int:
        return len(self.taken)

    def spread(self, name: str, other: str | None = None) -> float | None:
        """Half of the range over the rounds, as a share of the median; of the ratio to another work where one is
        named, which a busy machine moves less than either time. None where one round is all there is."""
        rounds = list(self.taken[name])
        if other is not None:
            rounds = [one / base for one, base in zip(rounds, self.taken[other], strict=False)]
        rounds = rounds[self.first.get(name, 0) :]
        return (max(rounds) - min(rounds)) / 2 / statistics.median(rounds) if len(rounds) > 1 else None


SHORT, LONG = 0.1, 2.0
"""Seconds of a round below which a work takes every round, and from which one round that is warm is enough."""
AGREED = 0.05
"""Share by which two rounds between those may differ and be enough: both count, the first too."""


def medians(
    works: Mapping[str, Callable[[], Any]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
    bases: Collection[str] = (),
    warm: bool = False,
) -> Medians:
    """Median seconds of each work, over no more rounds than it takes to know them.

    The works take turns, so that a busy moment hits all of them alike. A first round warms up and does not count, and
    `repeats` follow; but a work of middle length is run no more when its first two rounds agree, and of a long one the
    second round is enough, or the first where nothing is compiled or loaded in it any more.
    Give `time.process_time` where other work shares the machine.

    Args:
        bases: works that others are divided by, which are measured in every round there is.
        warm: each work has been run in this process, on a smaller batch at least.
    """
    taken: dict[str, list[float]] = {name: [] for name in works}
    others = [name for name in works if name not in bases] or list(works)
    for _ in range(repeats + 1):
        going = [name for name in others if _first_that_counts(taken[name], warm) is None]
        for name in dict.fromkeys([*bases, *going]) if going else ():
            start = clock()
            works[name]()
            taken[name].append(clock() - start)
    firsts = {name: _first_that_counts(rounds, warm) for name, rounds in taken.items()}
    # One round may be all there is of a base that is quick beside works that are known after one.
    return Medians(taken, {name: min(1 if one is None else one, len(taken[name]) - 1) for name, one in firsts.items()})


def _first_that_counts(rounds: Sequence[float], warm: bool) -> int | None:
    """The number of the first round that counts, where these rounds are enough; None where more are needed."""
    if warm and rounds and rounds[0] >= LONG:
        return 0
    if len(rounds) != 2 or rounds[0] < SHORT:
        return None
    if abs(rounds[0] - rounds[1]) <= AGREED * min(rounds):
        return 0
    return 1 if rounds[1] >= LONG else None


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """b of the least-squares fit value = a n^b, a line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])
