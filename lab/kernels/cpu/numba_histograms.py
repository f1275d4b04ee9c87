"""Soft histograms of one tile of similarities, compiled by numba. Importing this file imports numba.

A similarity s has its place at (1 - s) per, centres being 0, 1, 2, ... from the best to the worst. Of an item at p, the
bins up to k hold clip(k + 1 - p, 0, 1), so what has been seen so far is a sum of ramps, which vectors add up; only
positives, which are few, are put into their bins one by one.
"""

from __future__ import annotations

import numpy as np

from lab.kernels.cpu.numba_tiles import F, compiled

UNRANKED = F(-1e29)
"""Similarities below this are no similarities."""


@compiled
def _alike(label: int, labels: np.ndarray) -> np.int32:
    """How many of some labels are this one: counted in vectors, before single ones are looked at."""
    count = np.int32(0)
    for other in labels:
        count += np.int32(other == label)
    return count


@compiled
def count_bins(
    tile: np.ndarray,
    most: np.ndarray,
    i0: int,
    j0: int,
    labels: np.ndarray,
    per: float,
    intervals: int,
    both: bool,
    positives: np.ndarray,
    seen: np.ndarray,
) -> None:
    """Add a tile to the histograms of its rows and, with `both`, of its columns.

    most: each row's largest similarity. labels: int32 [n]. positives, seen: float64 [n intervals+1], positives of each
    bin, and all items of the bins up to it but for the last.
    """
    rows, columns = tile.shape
    place = np.empty(columns, np.float32)
    lines = np.zeros((intervals, columns), np.float32)
    for a in range(rows):
        for z in range(columns):
            place[z] = (F(1) - tile[a, z]) * per
        for k in range(max(int((F(1) - most[a]) * per), 0), intervals):
            total = F(0)
            ceiling = F(k + 1)
            line = lines[k]
            for z in range(columns):
                v = ceiling - place[z]
                v = v if v > F(0) else F(0)
                v = v if v < F(1) else F(1)
                total += v
                line[z] += v
            seen[i0 + a, k] += total
        if _alike(labels[i0 + a], labels[j0 : j0 + columns]):
            for z in range(columns):
                if labels[i0 + a] == labels[j0 + z] and tile[a, z] > UNRANKED:
                    p = min(max(place[z], F(0)), F(intervals))
                    k = min(int(p), intervals - 1)
                    share = np.float64(p - F(k))
                    positives[i0 + a, k] += 1 - share
                    positives[i0 + a, k + 1] += share
                    if both:
                        positives[j0 + z, k] += 1 - share
                        positives[j0 + z, k + 1] += share
    if both:
        for k in range(intervals):
            for z in range(columns):
                seen[j0 + z, k] += lines[k, z]


@compiled
def find_intervals(tile: np.ndarray, per: float, intervals: int, interval_of: np.ndarray) -> None:
    """Interval of each similarity into found, uint8 [rows columns]; `intervals` where the gradient is zero."""
    rows, columns = tile.shape
    beyond = np.int32(intervals)
    for a in range(rows):
        for z in range(columns):
            p = (F(1) - tile[a, z]) * per
            inside = (p >= F(0)) & (p <= F(intervals))
            k = np.int32(p if inside else F(0))
            k = k if k < beyond else beyond - np.int32(1)
            interval_of[a, z] = k if inside else beyond


@compiled
def look_up_slopes(
    bins: np.ndarray,
    i0: int,
    j0: int,
    labels: np.ndarray,
    of_seen: np.ndarray,
    of_found: np.ndarray,
    both: bool,
    gradient: np.ndarray,
) -> None:
    """Gradient of a tile's similarities: of_seen, of_found float32 [n intervals+1] hold it for each interval."""
    rows, columns = bins.shape
    for a in range(rows):
        mine = of_seen[i0 + a]
        for z in range(columns):
            gradient[a, z] = mine[bins[a, z]]
        if both:
            for z in range(columns):
                gradient[a, z] += of_seen[j0 + z, bins[a, z]]
        if _alike(labels[i0 + a], labels[j0 : j0 + columns]):
            for z in range(columns):
                if labels[i0 + a] == labels[j0 + z]:
                    gradient[a, z] += of_found[i0 + a, bins[a, z]] + (
                        of_found[j0 + z, bins[a, z]] if both else F(0)
                    )
