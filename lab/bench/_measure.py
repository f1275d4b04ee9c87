"""One row of the benchmark, and how times are taken."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    """

    def __init__(self, taken: Mapping[str, Sequence[float]]):
        self.taken = taken

    def __getitem__(self, name: str) -> float:
        return statistics.median(self.taken[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.taken)

    def __len__(self) -> int:
        return len(self.taken)

    def spread(self, name: str, other: str | None = None) -> float | None:
        """Half of the range over the rounds, as a share of the median; of the ratio to another work where one is
        named, which a busy machine moves less than either time."""
        rounds = self.taken[name]
        if other is not None:
            rounds = [one / base for one, base in zip(rounds, self.taken[other], strict=True)]
        return (max(rounds) - min(rounds)) / 2 / statistics.median(rounds) if len(rounds) > 1 else None


def medians(
    works: Mapping[str, Callable[[], Any]], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> Medians:
    """Median seconds of each work. The works take turns, so that a busy moment hits all of them alike; each runs once
    before the clock starts. Give `time.process_time` where other work shares the machine."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    for _ in range(repeats):
        for name, work in works.items():
            start = clock()
            work()
            taken[name].append(clock() - start)
    return Medians(taken)


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """b of the least-squares fit value = a n^b, a line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])
