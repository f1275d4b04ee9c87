"""Pairs in jagged diagonals, as the compiled tiles read them. Importing this file imports numba."""

from __future__ import annotations

import numpy as np

from lab.kernels.cpu.numba_tiles import compiled
from lab.kernels.layout import NEVER

FEW = 32
"""Pairs of a row that are sorted one by one into their places; more are left to numpy's sort, which takes
seconds to compile."""


class Layout:
    """Pairs in jagged diagonals: rows by falling number of pairs, then the k-th pairs of all rows side by side.

    order: [n], the row at each place; rows of one class are neighbours, unless their order does not matter: then rows
    stay as they are where all have as many pairs. lowest: [n], the class's first row, by place.
    counts: [n], pairs of the row at each place. base: [K + 1], where each diagonal starts.
    slots: [p], where each given pair stands. first, second: [p], places of each slot's query and item.
    """

    def __init__(self, positives: np.ndarray, n: int, by_class: bool = True):
        positives = np.ascontiguousarray(positives)
        counts = np.zeros(n, np.int64)
        lowest = np.arange(n)
        count_pairs(positives, counts, lowest)
        order = grouped(lowest, np.arange(n)) if by_class else np.arange(n)
        self.order = grouped(counts.max() - counts, order)
        self.place = np.empty(n, np.int64)
        self.place[self.order] = np.arange(n)
        self.counts, self.lowest = counts[self.order], lowest[self.order]
        wide = n - np.searchsorted(self.counts[::-1], np.arange(self.counts[0]), side="right")
        self.base = np.concatenate([[0], np.cumsum(wide)]).astype(np.int64)
        self.slots, self.first, self.second = np.empty((3, len(positives)), np.int64)
        place_pairs(positives, self.place, self.base, self.slots, self.first, self.second)

    def sort_slots(self, values: np.ndarray) -> np.ndarray:
        """Move pairs among the slots of their row so that values, [p] by slot, ascend; each slot's new place, [p]."""
        moved = np.empty_like(self.slots)
        (sorted_slots if self.counts[0] <= FEW else sorted_long_slots)(
            values, self.counts, self.base, moved
        )
        second = self.second.copy()
        self.second[moved] = second
        self.slots = moved[self.slots]
        return moved

    def spans(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest of each row's slot values, [n]; (NEVER, -NEVER) for a row without pairs."""
        low = np.full(len(self.counts), NEVER, np.float32)
        high = -low
        for start, stop in zip(self.base[:-1], self.base[1:], strict=True):
            width = stop - start
            np.minimum(low[:width], scores[start:stop], out=low[:width])
            np.maximum(high[:width], scores[start:stop], out=high[:width])
        return low, high


@compiled
def grouped(keys: np.ndarray, order: np.ndarray) -> np.ndarray:
    """`order` sorted by the whole numbers keys[order] from 0 to n, equal ones as they were."""
    starts = np.zeros(len(keys) + 2, np.int64)
    for i in order:
        starts[keys[i] + 1] += 1
    for key in range(len(keys) + 1):
        starts[key + 1] += starts[key]
    result = np.empty_like(order)
    for i in order:
        result[starts[keys[i]]] = i
        starts[keys[i]] += 1
    return result


@compiled
def count_pairs(pairs: np.ndarray, counts: np.ndarray, lowest: np.ndarray) -> None:
    """Each row's number of pairs, and the lowest of its own number and its pairs' items."""
    for p in range(len(pairs)):
        query = pairs[p, 0]
        item = pairs[p, 1]
        counts[query] += 1
        lowest[query] = min(lowest[query], item)


@compiled
def place_pairs(
    pairs: np.ndarray,
    place: np.ndarray,
    base: np.ndarray,
    slots: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
) -> None:
    """Each pair's slot, and the places of each slot's query and item."""
    nth = np.zeros(len(place), np.int64)
    for p in range(len(pairs)):
        query = place[pairs[p, 0]]
        slot = base[nth[query]] + query
        nth[query] += 1
        slots[p], first[slot], second[slot] = slot, query, place[pairs[p, 1]]


@compiled
def sorted_slots(
    values: np.ndarray, counts: np.ndarray, base: np.ndarray, moved: np.ndarray
) -> None:
    """Where each slot goes so that values, [p] by slot, ascend along the slots of every row, of few each."""
    line = np.empty(len(base), values.dtype)
    order = np.empty(len(base), np.int64)
    for row in range(len(counts)):
        for k in range(counts[row]):
            line[k] = values[base[k] + row]
            at = k
            while at > 0 and line[order[at - 1]] > line[k]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = k
        for k in range(counts[row]):
            moved[base[order[k]] + row] = base[k] + row


@compiled
def sorted_long_slots(
    values: np.ndarray, counts: np.ndarray, base: np.ndarray, moved: np.ndarray
) -> None:
    """The same of rows with many."""
    line = np.empty(len(base), values.dtype)
    for row in range(len(counts)):
        for k in range(counts[row]):
            line[k] = values[base[k] + row]
        order = np.argsort(line[: counts[row]], kind="mergesort")
        for k in range(counts[row]):
            moved[base[order[k]] + row] = base[k] + row
