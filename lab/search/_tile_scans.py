"""One look at a tile of similarities for its rows and, where queries and gallery are one set, for its columns, too.

64 scores are compared at once, a bit each (`lab.kernels.neighbours.bits`). Most of them reach neither the lowest
threshold of a query nor its best neighbours so far, and are done with after one comparison a side; so a tile is neither
turned over nor read twice. Importing this file needs numba.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lab.kernels.neighbours.bits import TOGETHER, count_each, greatest_lanes, how_many, lowest, reach, reach_each
from lab.kernels.ranks.transpose import transpose_into
from lab.search._scans import BINS, FEW, count_many, make_room, scalars, vectors

GROUPS = TOGETHER // 2
"""Groups of a query's scores in a tile, of which the greatest are looked at to know how good a candidate must be."""

NEVER = np.float32(np.inf)
"""A bound that no score reaches."""


class Ladders(NamedTuple):
    """Thresholds of the queries that have at most FEW, the n-th lowest of all of them side by side.

    low, high: float32, flat [t wide], from where on a score may be above and is surely above; NEVER where a query has
        fewer. wide: queries, and TOGETHER more, so that 64 can be read from any of them on.
    offsets: int64 [q+1]; query i owns thresholds offsets[i]:offsets[i+1], ascending.
    thresholds: float32 [p], exact scores of the positives; keys: int64 [p], their sort keys; owners: int64 [p], their
        gallery positions.
    """

    low: np.ndarray
    high: np.ndarray
    wide: int
    offsets: np.ndarray
    thresholds: np.ndarray
    keys: np.ndarray
    owners: np.ndarray


class Candidates(NamedTuple):
    """What may be among the k best of each query.

    k, margins float32 [q], floors float32, counts int64 [q], scores float32 [q c], columns int32 [q c]: as for
        `gather_tile`; the floors are `wide` long.
    bounds: float32 [wide], below which a score is of no use to its query.
    greatest: float32 [k wide], scores of k items at most, the greatest first; [0 wide] where k is more than GROUPS.
    queries, items: float32 [q d] and [g d], for exact scores.
    """

    k: int
    margins: np.ndarray
    floors: np.ndarray
    bounds: np.ndarray
    greatest: np.ndarray
    counts: np.ndarray
    scores: np.ndarray
    columns: np.ndarray
    queries: np.ndarray
    items: np.ndarray


def ladders(
    offsets: np.ndarray, thresholds: np.ndarray, keys: np.ndarray, owners: np.ndarray, margins: np.ndarray
) -> Ladders:
    """Thresholds [p] as ladders, each `margins` [q] of its query apart on both sides."""
    counts, wide = np.diff(offsets), len(margins) + TOGETHER
    query = np.repeat(np.arange(len(counts)), counts)
    few = (counts <= FEW)[query]
    step = (np.arange(len(query)) - offsets[query])[few]
    low, high = np.full((2, max(1, int(step.max(initial=-1)) + 1), wide), NEVER)
    low[step, query[few]] = (thresholds - margins[query])[few]
    high[step, query[few]] = (thresholds + margins[query])[few]
    return Ladders(low.ravel(), high.ravel(), wide, offsets, thresholds, keys, owners)


def candidates(
    k: int, queries: np.ndarray, items: np.ndarray, margins: np.ndarray, low: np.ndarray, room: int
) -> Candidates:
    """None yet, and room for so many of each query; low: as for `Ladders`."""
    n, wide = len(queries), len(queries) + TOGETHER
    floors = np.full(wide, np.finfo(np.float32).min, np.float32)
    return Candidates(
        k, margins, floors, np.minimum(floors, low[:wide]), np.full((k if k <= GROUPS else 0, wide), -NEVER),
        np.zeros(n, np.int64), np.empty((n, room), np.float32), np.empty((n, room), np.int32), queries, items,
    )  # fmt: skip


def scan(
    tile: np.ndarray, first_row: int, first_column: int, both: bool, above: np.ndarray, doubtful: np.ndarray,
    ladders: Ladders, best: Candidates,
) -> int:  # fmt: skip
    """Count for each threshold the scores that are surely above, list those too close to tell, and gather candidates.

    Args:
        tile: float32 [a b], scores of queries first_row.. with items first_column..; -inf where a query meets itself.
        both: whether the items are queries, too, none of them with more than FEW thresholds, and the rows items.
        above: int64 [p], counters to add to. Where a query has more than FEW thresholds a score is counted once, at
            the highest it exceeds (`settle` passes it down), and nothing is doubtful.
        doubtful: int64 [c 3], to be filled with (query, threshold, item).

    Returns:
        the number of doubtful triples; if it is more than c, the rest of them are lost.
    """
    rows, columns = tile.shape
    if columns % TOGETHER:
        whole = np.full((rows, -(-columns // TOGETHER) * TOGETHER), -NEVER)
        whole[:, :columns] = tile
        tile = whole
    if len(best.greatest):
        of_rows = np.full((rows, GROUPS), -NEVER)
        of_rows_turned = np.full((GROUPS, -(-rows // TOGETHER) * TOGETHER), -NEVER)
        row_maxima(tile, of_rows.ravel())
        transpose_into(of_rows, of_rows_turned[:, :rows])
        raise_floors(
            of_rows_turned, first_row, rows, ladders.low, best.margins, best.floors, best.bounds, best.greatest
        )
        if both:
            of_columns = np.full((GROUPS, tile.shape[1]), -NEVER)
            column_maxima(tile, of_columns)
            raise_floors(
                of_columns, first_column, columns, ladders.low, best.margins, best.floors, best.bounds, best.greatest
            )
    listed = along_rows(tile, first_row, first_column, above, doubtful, *ladders, *best)
    if both:
        listed = along_columns(tile, first_row, first_column, columns, above, doubtful, listed, *ladders, *best)
    return listed


@scalars
def row_maxima(tile: np.ndarray, out: np.ndarray) -> None:
    """The greatest of GROUPS groups of each row [a b] into out, flat [a GROUPS]; b is a multiple of TOGETHER."""
    for i in range(tile.shape[0]):
        greatest_lanes(tile[i], tile.shape[1], out, i * GROUPS)


@vectors
def column_maxima(tile: np.ndarray, out: np.ndarray) -> None:
    """The greatest of GROUPS groups of each column [a b] into out [GROUPS b]."""
    for i in range(tile.shape[0]):
        group = i * GROUPS // tile.shape[0]
        for z in range(tile.shape[1]):
            out[group, z] = max(out[group, z], tile[i, z])


@scalars
def raise_floors(
    maxima: np.ndarray, first: int, queries: int, low: np.ndarray, margins: np.ndarray, floors: np.ndarray,
    bounds: np.ndarray, greatest: np.ndarray,
) -> None:  # fmt: skip
    """Take the greatest scores [g b] of queries, from `first` on, among the greatest of all; raise their floors to what
    the k-th leaves possible."""
    k, last, line = greatest.shape[0], greatest[greatest.shape[0] - 1], np.empty(TOGETHER, np.float32)
    for group in range(maxima.shape[0]):
        for at in range(0, maxima.shape[1], TOGETHER):
            if not reach_each(maxima[group], at, last, first + at):
                continue
            line[:] = maxima[group, at : at + TOGETHER]
            for j in range(k):
                sort_in(greatest[j, first + at : first + at + TOGETHER], line)
    for query in range(first, first + queries):
        floors[query] = max(floors[query], last[query] - 2 * margins[query])
        bounds[query] = min(floors[query], low[query])


@vectors
def sort_in(place: np.ndarray, line: np.ndarray) -> None:
    """The greater one of each pair into the first, the smaller one into the second, [TOGETHER]."""
    for z in range(TOGETHER):
        one, other = place[z], line[z]
        place[z] = one if one > other else other
        line[z] = other if one > other else one


@scalars
def along_rows(
    tile: np.ndarray, first_row: int, first_column: int, above: np.ndarray, doubtful: np.ndarray, low: np.ndarray,
    high: np.ndarray, wide: int, offsets: np.ndarray, thresholds: np.ndarray, keys: np.ndarray, owners: np.ndarray,
    k: int, margins: np.ndarray, floors: np.ndarray, bounds: np.ndarray, greatest: np.ndarray, counts: np.ndarray,
    scores: np.ndarray, columns: np.ndarray, queries: np.ndarray, items: np.ndarray,
) -> int:  # fmt: skip
    """Look at a tile for its rows; how many triples are doubtful. Arrays are not handed on in here, as numba would
    count at each call who holds them."""
    listed, starts = 0, np.empty(BINS + 1, np.int64)
    for i in range(tile.shape[0]):
        query, line = first_row + i, tile[i]
        if offsets[query + 1] - offsets[query] > FEW:
            count_many(
                line, query, first_column, offsets[query], offsets[query + 1], thresholds, keys, margins[query], above,
                starts, queries, items,
            )  # fmt: skip
        for at in range(0, tile.shape[1], TOGETHER):
            if not reach(line, at, bounds[query]):
                continue
            t = offsets[query]
            for step in range(query, len(low), wide):
                possible = reach(line, at, low[step])
                if not possible:
                    break
                sure = reach(line, at, high[step])
                above[t] += how_many(sure)
                doubts = possible & ~sure
                while doubts:
                    item = first_column + at + np.int64(lowest(doubts))
                    doubts &= doubts - np.uint64(1)
                    if item != owners[t]:
                        if listed < doubtful.shape[0]:
                            doubtful[listed, 0], doubtful[listed, 1], doubtful[listed, 2] = query, t, item
                        listed += 1
                t += 1
            near = reach(line, at, floors[query])
            while near:
                z = at + np.int64(lowest(near))
                near &= near - np.uint64(1)
                if counts[query] == scores.shape[1]:
                    make_room(query, k, margins[query], floors, counts, scores, columns, queries, items)
                    bounds[query] = min(floors[query], low[query])
                if line[z] >= floors[query]:
                    scores[query, counts[query]], columns[query, counts[query]] = line[z], first_column + z
                    counts[query] += 1
    return listed


@scalars
def along_columns(
    tile: np.ndarray, first_row: int, first_column: int, width: int, above: np.ndarray, doubtful: np.ndarray,
    listed: int, low: np.ndarray, high: np.ndarray, wide: int, offsets: np.ndarray, thresholds: np.ndarray,
    keys: np.ndarray, owners: np.ndarray, k: int, margins: np.ndarray, floors: np.ndarray, bounds: np.ndarray,
    greatest: np.ndarray, counts: np.ndarray, scores: np.ndarray, columns: np.ndarray, queries: np.ndarray,
    items: np.ndarray,
) -> int:  # fmt: skip
    """Look at a tile for its columns, `width` of them; how many triples are doubtful, `listed` having been before."""
    steps, stride = len(low) // wide, tile.shape[1]
    surely = np.zeros(steps * stride, np.int32)
    for i in range(tile.shape[0]):
        item, line = first_row + i, tile[i]
        for at in range(0, stride, TOGETHER):
            first = first_column + at
            if not reach_each(line, at, bounds, first):
                continue
            for step in range(steps):
                possible = reach_each(line, at, low, step * wide + first)
                if not possible:
                    break
                doubts = possible & ~count_each(line, at, high, step * wide + first, surely, step * stride + at)
                while doubts:
                    query = first + np.int64(lowest(doubts))
                    doubts &= doubts - np.uint64(1)
                    t = offsets[query] + step
                    if item != owners[t]:
                        if listed < doubtful.shape[0]:
                            doubtful[listed, 0], doubtful[listed, 1], doubtful[listed, 2] = query, t, item
                        listed += 1
            near = reach_each(line, at, floors, first)
            while near:
                z = np.int64(lowest(near))
                query, score = first + z, line[at + z]
                near &= near - np.uint64(1)
                if counts[query] == scores.shape[1]:
                    make_room(query, k, margins[query], floors, counts, scores, columns, queries, items)
                    bounds[query] = min(floors[query], low[query])
                if score >= floors[query]:
                    scores[query, counts[query]], columns[query, counts[query]] = score, item
                    counts[query] += 1
    for place in range(width):
        lowest_rung = offsets[first_column + place]
        for rung in range(offsets[first_column + place + 1] - lowest_rung):
            above[lowest_rung + rung] += surely[rung * stride + place]
    return listed
