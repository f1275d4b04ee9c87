"""Compiled loops of k-reciprocal re-ranking. Importing this file imports numba.

Similarities are those of a float32 product, each within a known margin of the exact one; whatever the margin leaves
open gets an exact look, so that no decision rests on a rounded number.

vectors: float32 [n d]. left, right: float64 [n d+1], `lab.reranking._base.euclidean_rows` of them. squares: float64
[n], squared lengths.
greatest: float64 [n], each node's greatest squared distance. shared: float64 [n], how much one node's weights have in
common with every other's.
"""

from __future__ import annotations

import numpy as np

from lab.search._scans import BINS, STRETCH, bin_of, count_at_least, largest, scalars, sort_key
from lab.search._scans import vectors as vectorised

LOWEST = np.finfo(np.float32).min


@vectorised
def exact_product(left: np.ndarray, right: np.ndarray) -> float:
    total = 0.0
    for i in range(left.shape[0]):
        total += left[i] * right[i]
    return total


@vectorised
def squared_distance(one: np.ndarray, other: np.ndarray) -> float:
    """In float64; nothing for equal rows, so that they tie."""
    total = 0.0
    for i in range(one.shape[0]):
        gap = np.float64(one[i]) - np.float64(other[i])
        total += gap * gap
    return total


@vectorised
def to_nearness(tile: np.ndarray, squares: np.ndarray) -> None:
    """Similarities [a b] to 2 a.b - |b|^2, in place."""
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            tile[i, j] = np.float32(2.0 * tile[i, j] - squares[j])


@scalars
def note_farthest(
    tile: np.ndarray, first_row: int, first_column: int, margins: np.ndarray, least: np.ndarray, left: np.ndarray,
    right: np.ndarray,
) -> None:  # fmt: skip
    """Keep each row's smallest left.right, exactly, in least float64 [n]."""
    for i in range(tile.shape[0]):
        row = first_row + i
        for start in range(0, tile.shape[1], STRETCH):
            stretch = tile[i, start : start + STRETCH]
            bound = np.float32(min(least[row] + margins[row], -np.float64(LOWEST)))
            if count_at_most(stretch, bound) == 0:
                continue
            for j in range(stretch.shape[0]):
                if stretch[j] <= least[row] + margins[row]:
                    least[row] = min(least[row], exact_product(left[row], right[first_column + start + j]))


@vectorised
def count_at_most(stretch: np.ndarray, bound: float) -> int:
    count = np.float32(0)
    for j in range(stretch.shape[0]):
        count += np.float32(1) if stretch[j] <= bound else np.float32(0)
    return int(count)


@scalars
def scaled_gaps(
    rows: np.ndarray, columns: np.ndarray, vectors: np.ndarray, greatest: np.ndarray, out: np.ndarray
) -> None:
    """Squared distance of pairs, over the greatest one of the first, into out float64 [p]."""
    for p in range(rows.shape[0]):
        out[p] = squared_distance(vectors[rows[p]], vectors[columns[p]]) / greatest[rows[p]]


@scalars
def share(
    node: int, starts: np.ndarray, members: np.ndarray, weights: np.ndarray, column_starts: np.ndarray,
    owners: np.ndarray, column_weights: np.ndarray, shared: np.ndarray, touched: np.ndarray,
) -> int:  # fmt: skip
    """Add up what a node's weights share with everyone's, and list with whom; how many they are."""
    count = 0
    for p in range(starts[node], starts[node + 1]):
        weight, member = weights[p], members[p]
        for q in range(column_starts[member], column_starts[member + 1]):
            other = owners[q]
            if shared[other] == 0:
                touched[count] = other
                count += 1
            shared[other] += min(weight, column_weights[q])
    return count


@scalars
def score(
    node: int, other: int, shared: np.ndarray, vectors: np.ndarray, greatest: np.ndarray, lam: float
) -> np.float32:
    """Minus the final distance of two nodes."""
    gap = squared_distance(vectors[node], vectors[other]) / greatest[node] if lam > 0 else 0.0
    jaccard = 1 - shared[other] / (2 - shared[other])
    return np.float32(-((1 - lam) * jaccard + lam * gap))


@vectorised
def without_sharing(line: np.ndarray, squares: np.ndarray, scale: float, base: float) -> None:
    """Similarities to scores of nodes that share nothing, in place: base + scale (2 a.b - |b|^2)."""
    for j in range(line.shape[0]):
        line[j] = np.float32(base + scale * (2.0 * line[j] - squares[j]))


@scalars
def lowest_of_best(line: np.ndarray, k: int, kept: np.ndarray) -> np.floating:
    """The k-th largest of a line, or LOWEST where fewer are above it. `kept`: float32, k + 2 STRETCH or more."""
    count, floor = 0, LOWEST
    for start in range(0, line.shape[0], STRETCH):
        stretch = line[start : start + STRETCH]
        if count_at_least(stretch, floor) == 0:
            continue
        for j in range(stretch.shape[0]):
            if stretch[j] >= floor:
                kept[count] = stretch[j]
                count += 1
        if count + STRETCH > kept.shape[0]:
            floor = largest(kept[:count], k)  # the k largest come first
            count = k
    return largest(kept[:count], k) if count >= k else LOWEST


@scalars
def put_best(
    line: np.ndarray, first_item: int, k: int, margin: float, kept: np.ndarray, keys: np.ndarray, node: int,
    shared: np.ndarray, vectors: np.ndarray, greatest: np.ndarray, lam: float, out: np.ndarray,
) -> None:  # fmt: skip
    """Keys of the k best items of a line of scores, descending, into out int64 [k]. keys: int64 [g], to work in."""
    bound = max(lowest_of_best(line, k, kept) - 2 * margin, LOWEST)
    count = 0
    for start in range(0, line.shape[0], STRETCH):
        stretch = line[start : start + STRETCH]
        if count_at_least(stretch, bound) == 0:
            continue
        for j in range(stretch.shape[0]):
            if stretch[j] >= bound:
                item = start + j
                keys[count] = sort_key(score(node, first_item + item, shared, vectors, greatest, lam), item)
                count += 1
    if count > k:
        largest(keys[:count], k)
        count = k
    ordered = np.sort(keys[:count])
    for c in range(count):
        out[c] = ordered[count - 1 - c]


@scalars
def put_ranks(
    line: np.ndarray, first_item: int, margin: float, positives: np.ndarray, starts: np.ndarray, node: int,
    shared: np.ndarray, vectors: np.ndarray, greatest: np.ndarray, lam: float, ranks: np.ndarray,
) -> None:  # fmt: skip
    """Ranks of the positives, items of the line, into ranks int64 [p]. starts: int64 [BINS + 1], to work in.

    A score is counted at the highest positive that it exceeds, which bins of equal width and a short walk find.
    """
    count = positives.shape[0]
    thresholds, keys = np.empty(count, np.float32), np.empty(count, np.int64)
    for p in range(count):
        thresholds[p] = score(node, first_item + positives[p], shared, vectors, greatest, lam)
        keys[p] = sort_key(thresholds[p], positives[p])
    order = np.argsort(keys)
    keys, thresholds, above = keys[order], thresholds[order], np.zeros(count, np.int64)
    lowest, highest = thresholds[0] - margin, thresholds[count - 1] + margin
    width = BINS / max(highest - lowest, 1e-30)
    starts[:] = 0
    for p in range(count):
        starts[bin_of(thresholds[p] + margin, lowest, width) + 1] += 1
    for b in range(BINS):
        starts[b + 1] += starts[b]
    for start in range(0, line.shape[0], STRETCH):
        stretch = line[start : start + STRETCH]
        if count_at_least(stretch, lowest) == 0:
            continue
        for j in range(stretch.shape[0]):
            here = stretch[j]
            if here < lowest:
                continue
            if here >= highest:
                above[count - 1] += 1
                continue
            p = starts[bin_of(here, lowest, width)]
            while p < count and thresholds[p] + margin <= here:
                p += 1
            if p < count and thresholds[p] - margin <= here:
                item = start + j
                key = sort_key(score(node, first_item + item, shared, vectors, greatest, lam), item)
                while p < count and keys[p] < key:
                    p += 1
            if p > 0:
                above[p - 1] += 1
    total = 0
    for p in range(count - 1, -1, -1):
        total += above[p]
        ranks[order[p]] = total + 1


@scalars
def rank_rows(
    block: np.ndarray, nodes: np.ndarray, selves: np.ndarray, first_item: int, starts: np.ndarray,
    members: np.ndarray, weights: np.ndarray, column_starts: np.ndarray, owners: np.ndarray,
    column_weights: np.ndarray, vectors: np.ndarray, squares: np.ndarray, greatest: np.ndarray, margins: np.ndarray,
    lam: float, offsets: np.ndarray, positives: np.ndarray, best: np.ndarray, ranks: np.ndarray,
) -> None:  # fmt: skip
    """Rank the gallery for some queries.

    Args:
        block: float32 [a g], similarities of the queries with the gallery; it is overwritten.
        nodes, selves: int64 [a], the queries' nodes and gallery positions (-1: not there).
        starts, members, weights: rows of the sparse weights; column_starts, owners, column_weights: their columns.
        margins: float64 [n], more than a score's greatest error.
        offsets, positives: each query's positives, int64 [a+1] and gallery positions [p].
        best: int64 [a k], filled with the keys of the best; ranks: int64 [p], filled.
    """
    n, k = squares.shape[0], best.shape[1]
    shared, touched = np.zeros(n), np.empty(n, np.int64)
    kept, keys = np.empty(2 * k + 2 * STRETCH, np.float32), np.empty(block.shape[1], np.int64)
    bins = np.empty(BINS + 1, np.int64)
    for a in range(block.shape[0]):
        node, line = nodes[a], block[a]
        count = share(node, starts, members, weights, column_starts, owners, column_weights, shared, touched)
        scale = lam / greatest[node]
        without_sharing(line, squares[first_item:], scale, -(1 - lam) - scale * squares[node])
        for t in range(count):
            if touched[t] >= first_item:
                common = shared[touched[t]]
                line[touched[t] - first_item] += np.float32((1 - lam) * common / (2 - common))
        if selves[a] >= 0:
            line[selves[a]] = -np.inf
        put_best(line, first_item, k, margins[node], kept, keys, node, shared, vectors, greatest, lam, best[a])
        mine = slice(offsets[a], offsets[a + 1])
        if offsets[a + 1] > offsets[a]:
            put_ranks(
                line, first_item, margins[node], positives[mine], bins, node, shared, vectors, greatest, lam,
                ranks[mine],
            )  # fmt: skip
        for t in range(count):
            shared[touched[t]] = 0.0
