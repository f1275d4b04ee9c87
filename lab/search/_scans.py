"""The compiled scan of a tile of similarities. Importing this file needs numba; nothing else does.

A tile holds approximate scores, each within a known margin of the exact one. The scan decides what the margin allows
and looks exactly at the rest, so that no decision ever rests on a rounded number. 64 scores are compared at once, a bit
each; most of them reach neither the lowest threshold of a query nor its best neighbours so far.
"""

from __future__ import annotations

import numpy as np

from lab.kernels.cpu.bits import TOGETHER, how_many, lowest, reach
from lab.kernels.cpu.numba_tiles import compiled_with

BINS = 512
"""Bins between the lowest and the highest of a query's many thresholds."""

FEW = 24
"""Up to this many thresholds a row are compared one by one, with vectors; more are found by bins."""


# Reassociation lets sums use vectors. The order depends on the length only, so that equal rows have equal scores.
vectors = compiled_with(nogil=True, fastmath={"reassoc", "contract", "nsz"})
scalars = compiled_with(nogil=True)


@vectors
def exact_score(query: np.ndarray, item: np.ndarray) -> np.float32:
    """The dot product in float64, rounded to float32."""
    total = 0.0
    for i in range(query.shape[0]):
        total += np.float64(query[i]) * np.float64(item[i])
    return np.float32(total)


@scalars
def sort_key(score: np.float32, code: int) -> np.int64:
    """Return the key of `lab.kernels.sort_keys`, of a score and the tie code of an item."""
    ordered = np.int64(np.float32(score + np.float32(0)).view(np.int32))
    if ordered < 0:
        ordered ^= 0x7FFFFFFF
    return (ordered << 32) + np.int64(code)


@scalars
def pair_scores(
    queries: np.ndarray, items: np.ndarray, rows: np.ndarray, columns: np.ndarray, out: np.ndarray
) -> None:
    """Exact scores of row pairs, into out float32 [p]."""
    for p in range(rows.shape[0]):
        out[p] = exact_score(queries[rows[p]], items[columns[p]])


@scalars
def bin_of(score: float, lowest: float, width: float) -> int:
    return min(max(int((score - lowest) * width), 0), BINS - 1)


@scalars
def count_many(
    scores: np.ndarray,
    query: int,
    first_column: int,
    first: int,
    last: int,
    thresholds: np.ndarray,
    keys: np.ndarray,
    margin: float,
    above: np.ndarray,
    starts: np.ndarray,
    queries: np.ndarray,
    items: np.ndarray,
    codes: np.ndarray,
) -> None:
    """Count a row of scores [b] against many thresholds; the doubtful get an exact look at once.

    Bins of equal width tell how many thresholds are surely below a score; a short walk finds the rest. `starts` int64
    [BINS + 1] is room to work in. A score is counted at the highest threshold it exceeds (see `settle`).
    """
    lowest = thresholds[first] - margin
    highest = thresholds[last - 1] + margin
    width = np.float32(BINS) / max(highest - lowest, np.float32(1e-30))
    starts[:] = 0
    for t in range(first, last):
        starts[bin_of(thresholds[t] + margin, lowest, width) + 1] += 1
    for b in range(BINS):
        starts[b + 1] += starts[b]
    for j in range(scores.shape[0]):
        score = scores[j]
        if score < lowest:
            continue
        if score >= highest:
            above[last - 1] += 1
            continue
        t = first + starts[bin_of(score, lowest, width)]
        while t < last and thresholds[t] + margin <= score:
            t += 1
        if t < last and thresholds[t] - margin <= score:
            key = sort_key(
                exact_score(queries[query], items[first_column + j]), codes[first_column + j]
            )
            while t < last and keys[t] < key:
                t += 1
        if t > first:
            above[t - 1] += 1


@scalars
def settle(offsets: np.ndarray, above: np.ndarray, more_than: int) -> None:
    """Pass counts down from each threshold to the lower ones, in queries of more than so many thresholds."""
    for query in range(offsets.shape[0] - 1):
        if offsets[query + 1] - offsets[query] > more_than:
            for t in range(offsets[query + 1] - 2, offsets[query] - 1, -1):
                above[t] += above[t + 1]


@scalars
def scan(
    tile: np.ndarray,
    first_row: int,
    first_column: int,
    offsets: np.ndarray,
    thresholds: np.ndarray,
    keys: np.ndarray,
    above: np.ndarray,
    k: int,
    margins: np.ndarray,
    floors: np.ndarray,
    counts: np.ndarray,
    scores: np.ndarray,
    columns: np.ndarray,
    queries: np.ndarray,
    items: np.ndarray,
    codes: np.ndarray,
) -> None:
    """Count for each threshold the scores of a tile that are above, and keep what may be among the k best of a query.

    Args:
        tile: float32 [a b], scores of queries first_row.. with items first_column..; -inf where a query meets itself,
            and where b was filled up to a multiple of TOGETHER.
        offsets: int64 [q+1]; query i owns thresholds offsets[i]:offsets[i+1], ascending.
        thresholds: float32 [p], exact scores of the positives; keys: int64 [p], their sort keys.
        above: int64 [p], counters to add to. Where a query has more than FEW thresholds a score is counted once, at
            the highest it exceeds (`settle` passes it down).
        margins: float32 [q], more than the greatest error of a query's scores in any tile.
        floors: float32 [q], scores below cannot be among the k best any more.
        counts: int64 [q], candidates of each query.
        scores: float32 [q c], their scores; columns: int32 [q c], their positions, ~position once the score is exact.
        queries, items: float32 [q d] and [g d], for exact scores. codes: int64 [g], tie codes of the items.
    """
    starts = np.empty(BINS + 1, np.int64)
    exact = np.empty(TOGETHER, np.int64)
    for i in range(tile.shape[0]):
        query = first_row + i
        line = tile[i]
        first = offsets[query]
        last = offsets[query + 1]
        margin = margins[query]
        if last - first > FEW:
            count_many(
                line,
                query,
                first_column,
                first,
                last,
                thresholds,
                keys,
                margin,
                above,
                starts,
                queries,
                items,
                codes,
            )
            last = first
        low = thresholds[first] - margin if last > first else np.float32(np.inf)
        for at in range(0, tile.shape[1], TOGETHER):
            if not reach(line, at, min(floors[query], low)):
                continue
            known = np.uint64(0)  # whose exact keys are there
            for t in range(first, last):
                possible = reach(line, at, thresholds[t] - margin)
                if not possible:
                    break
                sure = reach(line, at, thresholds[t] + margin)
                above[t] += how_many(sure)
                doubts = possible & ~sure
                while doubts:
                    bit = doubts & -doubts
                    z = np.int64(lowest(doubts))
                    doubts ^= bit
                    if not known & bit:
                        item = first_column + at + z
                        exact[z] = sort_key(exact_score(queries[query], items[item]), codes[item])
                        known |= bit
                    above[t] += exact[z] > keys[t]
            near = reach(line, at, floors[query])
            while near:
                z = at + np.int64(lowest(near))
                near &= near - np.uint64(1)
                if counts[query] == scores.shape[1]:
                    make_room(
                        query, k, margin, floors, counts, scores, columns, queries, items, codes
                    )
                if line[z] >= floors[query]:
                    scores[query, counts[query]] = line[z]
                    columns[query, counts[query]] = first_column + z
                    counts[query] += 1


@scalars
def largest(values: np.ndarray, k: int) -> np.number:
    """The k-th largest of some values. Reorders them. (numpy's partition takes six seconds to compile.)"""
    first = 0
    last = values.shape[0] - 1
    while first < last:
        pivot = values[(first + last) // 2]
        left = first
        right = last
        while left <= right:
            while values[left] > pivot:
                left += 1
            while values[right] < pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if k - 1 <= right:
            last = right
        elif k - 1 >= left:
            first = left
        else:
            break
    return values[k - 1]


@scalars
def make_room(
    query: int,
    k: int,
    margin: float,
    floors: np.ndarray,
    counts: np.ndarray,
    scores: np.ndarray,
    columns: np.ndarray,
    queries: np.ndarray,
    items: np.ndarray,
    codes: np.ndarray,
) -> None:
    # it may have risen since they were taken
    drop_below(query, floors[query], counts, scores, columns)
    if counts[query] - k <= (scores.shape[1] - k) // 2:
        return
    bound = largest(scores[query, : counts[query]].copy(), k) - 2 * margin
    drop_below(query, bound, counts, scores, columns)
    kept = counts[query]
    floors[query] = max(floors[query], bound)
    # a crowd within the margin: only exact scores thin it out
    if kept - k > (scores.shape[1] - k) // 2:
        keep_best(query, k, counts, scores, columns, queries, items, codes)
        lowest = scores[query, 0]
        for c in range(k):
            lowest = min(lowest, scores[query, c])
        floors[query] = max(floors[query], lowest - margin)


@scalars
def drop_below(
    query: int, bound: float, counts: np.ndarray, scores: np.ndarray, columns: np.ndarray
) -> None:
    """Drop the candidates of a query whose scores do not reach a bound."""
    kept = 0
    for c in range(counts[query]):
        if scores[query, c] >= bound:
            scores[query, kept] = scores[query, c]
            columns[query, kept] = columns[query, c]
            kept += 1
    counts[query] = kept


@scalars
def keep_best(
    query: int,
    k: int,
    counts: np.ndarray,
    scores: np.ndarray,
    columns: np.ndarray,
    queries: np.ndarray,
    items: np.ndarray,
    codes: np.ndarray,
) -> None:
    """Make all candidates of a query exact and keep the k best of them."""
    count = counts[query]
    for c in range(count):
        if columns[query, c] >= 0:
            scores[query, c] = exact_score(queries[query], items[columns[query, c]])
            columns[query, c] = ~columns[query, c]
    if count <= k:
        return
    keys = candidate_keys(scores[query, :count], columns[query, :count], codes)
    bound = largest(keys.copy(), k)
    kept = 0
    for c in range(count):
        if keys[c] >= bound:
            scores[query, kept] = scores[query, c]
            columns[query, kept] = columns[query, c]
            kept += 1
    counts[query] = kept


@scalars
def candidate_keys(scores: np.ndarray, columns: np.ndarray, codes: np.ndarray) -> np.ndarray:
    keys = np.empty(scores.shape[0], np.int64)
    for c in range(keys.shape[0]):
        keys[c] = sort_key(scores[c], codes[~columns[c]])
    return keys


@scalars
def best_keys(
    first: int,
    last: int,
    k: int,
    counts: np.ndarray,
    scores: np.ndarray,
    columns: np.ndarray,
    queries: np.ndarray,
    items: np.ndarray,
    codes: np.ndarray,
    out: np.ndarray,
) -> None:
    """Keys of the k best of queries first..last, descending, into out int64 [q k]."""
    for query in range(first, last):
        keep_best(query, k, counts, scores, columns, queries, items, codes)
        count = counts[query]
        keys = np.sort(candidate_keys(scores[query, :count], columns[query, :count], codes))
        for c in range(count):
            out[query, c] = keys[count - 1 - c]
