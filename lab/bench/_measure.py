"""One row of the benchmark, how times are taken, and made-up embeddings to take them on."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.core.results import EmbeddingSet


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


class Medians(dict[str, float]):
    """Median seconds of each work.

    Args:
        rounds: seconds of every round that counts, by work; round i of all works was measured together.
    """

    def __init__(self, rounds: Mapping[str, Sequence[float]]):
        super().__init__({name: statistics.median(taken) for name, taken in rounds.items()})
        self.rounds = rounds

    def spread(self, name: str, base: str | None = None) -> float | None:
        """Half of the range over the rounds, as a share of the median; of the ratio to another work where one is
        named, which a busy machine moves less than either time. None where one round is all there is."""
        rounds = list(self.rounds[name])
        if base is not None:
            rounds = [one / other for one, other in zip(rounds, self.rounds[base], strict=False)]
        return (max(rounds) - min(rounds)) / 2 / statistics.median(rounds) if len(rounds) > 1 else None

    def row(
        self, work: str, section: str, name: str, setting: str, base: str | None = None, against: str = "", **more: Any
    ) -> BenchRow:
        """The seconds of a work, or their ratio to those of another one; `more` are fields of the row."""
        value, unit = (self[work], "s") if base is None else (self[work] / self[base], "x")
        against = against or base or ""
        return BenchRow(section, name, setting, value, unit, against, spread=self.spread(work, base), **more)

    def rows(
        self,
        section: str,
        setting: str,
        bare: Sequence[str],
        words: str,
        goals: Callable[[str], float | None],
        **more: Any,
    ) -> Iterator[BenchRow]:
        """Every bare work and the quickest of them, which `words` name, then the others as ratios to that one."""
        quickest = min(bare, key=self.__getitem__)
        for name, work in [*zip(bare, bare, strict=True), (words, quickest)]:
            yield self.row(work, section, name, setting, **more)
        for name in self:
            if name not in bare:
                yield self.row(name, section, name, setting, quickest, words, goal=goals(name), **more)


LONG = 0.5
"""Seconds of a round from which one that counts is enough."""


def medians(
    works: Mapping[str, Callable[[], Any]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
    bases: Collection[str] = (),
) -> Medians:
    """Median seconds of each work.

    The works take turns, so that a busy moment hits all of them alike. A first round warms up and does not count, and
    `repeats` follow; a work that takes long is run no more after one of them. Give `time.process_time` where other work
    shares the machine.

    Args:
        bases: works that others are divided by, which are measured in every round there is.
    """
    taken: dict[str, list[float]] = {name: [] for name in works}
    others = [name for name in works if name not in bases] or list(works)
    for _ in range(repeats + 1):
        going = [name for name in others if len(taken[name]) < 2 or taken[name][-1] < LONG]
        for name in dict.fromkeys([*bases, *going]) if going else ():
            start = clock()
            works[name]()
            taken[name].append(clock() - start)
    return Medians({name: rounds[1:] for name, rounds in taken.items()})


def growth(section: str, name: str, words: str, sizes: Sequence[int], values: Sequence[float]) -> Iterator[BenchRow]:
    """The fitted exponent, where there are two sizes to fit it to."""
    if len(sizes) > 1:
        yield BenchRow(section, name, f"n={sizes[0]}-{sizes[-1]} {words}", exponent(sizes, values), "power")


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """b of the least-squares fit value = a n^b, a line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


NOISE = {"trained": 2.0, "untrained": 8.0}
"""Length of the noise in units of a class centre's: the share of queries with a right first neighbour is about 97 % and
0.1 % at n = 16,000, d = 512 and five images a class."""


def embeddings(n: int, d: int, kind: str, per_class: int = 5, seed: int = 0) -> EmbeddingSet:
    """n unit rows, float32 [n d], scattered about one centre a class, in random order."""
    return around(centres(-(-n // per_class), d, seed), n, NOISE[kind], seed)


def centres(classes: int, d: int, seed: int) -> np.ndarray:
    """float32 [classes d], each entry normal."""
    return np.random.default_rng(seed).standard_normal((classes, d), dtype=np.float32)


def around(anchors: np.ndarray, n: int, noise: float, seed: int) -> EmbeddingSet:
    """n unit rows about anchors [c d], the same number for each of them but for a remainder."""
    rng = np.random.default_rng(seed + 1)
    labels = rng.permutation(np.arange(n) % len(anchors))
    vectors = rng.standard_normal((n, anchors.shape[1]), dtype=np.float32)
    vectors *= np.float32(noise)
    for start in range(0, n, 4096):  # in parts, so that a memory reading sees the embeddings and nothing else
        part = vectors[start : start + 4096]
        part += anchors[labels[start : start + 4096]]
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return EmbeddingSet(vectors, labels, np.arange(n))
