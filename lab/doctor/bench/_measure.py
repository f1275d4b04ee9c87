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
    against: what a ratio compares with.
    """

    section: str
    name: str
    setting: str
    value: float
    unit: str
    against: str = ""


class Medians(dict[str, float]):
    """Median seconds of each work."""

    def row(
        self, work: str, section: str, name: str, setting: str, base: str | None = None
    ) -> BenchRow:
        """The seconds of a work, or their ratio to those of another one."""
        value, unit = (self[work], "s") if base is None else (self[work] / self[base], "x")
        return BenchRow(section, name, setting, value, unit, base or "")

    def rows(self, section: str, setting: str, bare: Sequence[str]) -> Iterator[BenchRow]:
        """Every bare work, then the others as ratios to the quickest of these."""
        quickest = min(bare, key=self.__getitem__)
        for name in self:
            yield self.row(name, section, name, setting, None if name in bare else quickest)


LONG = 0.5
"""Seconds of a round from which one that counts is enough."""


def medians(
    works: Mapping[str, Callable[[], Any]],
    repeats: int,
    bases: Collection[str] = (),
) -> Medians:
    """Median seconds of each work.

    The works take turns, so that a busy moment hits all of them alike. A first round warms up and does not count, and
    `repeats` follow; a work that takes long is run no more after one of them.

    Args:
        bases: works that others are divided by, which are measured in every round there is.
    """
    taken: dict[str, list[float]] = {name: [] for name in works}
    others = [name for name in works if name not in bases] or list(works)
    for _ in range(repeats + 1):
        going = [name for name in others if len(taken[name]) < 2 or taken[name][-1] < LONG]
        for name in dict.fromkeys([*bases, *going]) if going else ():
            start = time.perf_counter()
            works[name]()
            taken[name].append(time.perf_counter() - start)
    return Medians({name: statistics.median(rounds[1:]) for name, rounds in taken.items()})


NOISE = {"trained": 2.0, "untrained": 8.0}
"""Length of the noise in units of a class centre's: the share of queries with a right first neighbour is about 97 % and
0.1 % at n = 16,000, d = 512 and five images a class."""


def embeddings(n: int, d: int, kind: str) -> EmbeddingSet:
    """n unit rows, float32 [n d], scattered about one centre a class of five, in random order."""
    return around(centres(-(-n // 5), d, 0), n, NOISE[kind], 0)


def centres(classes: int, d: int, seed: int) -> np.ndarray:
    """float32 [classes d], each entry normal."""
    return np.random.default_rng(seed).standard_normal((classes, d), dtype=np.float32)


def around(anchors: np.ndarray, n: int, noise: float, seed: int) -> EmbeddingSet:
    """n unit rows about anchors [c d], the same number for each of them but for a remainder."""
    rng = np.random.default_rng(seed + 1)
    labels = rng.permutation(np.arange(n) % len(anchors))
    vectors = rng.standard_normal((n, anchors.shape[1]), dtype=np.float32)
    vectors *= np.float32(noise)
    # in parts, so that a memory reading sees the embeddings and nothing else
    for start in range(0, n, 4096):
        part = vectors[start : start + 4096]
        part += anchors[labels[start : start + 4096]]
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return EmbeddingSet(vectors, labels, np.arange(n))
