"""Lists of near neighbours from a block of similarities, compiled by numba. Importing this file imports numba."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from lab.kernels._numba import compiled


def list_block(block: Tensor, k: int, half: int, eps: float, margin: float):
    """What `lab.kernels.neighbourhoods.list_plain` lists, in three passes over the block that stays in cache."""
    block = block.numpy()
    kind = block.dtype.type
    kth, half_th, counts = farthest(block, k, half, kind(eps), kind(margin))
    for limit, count in ((kth, counts[0]), (half_th, counts[1])):
        row, item = np.empty(count, np.int64), np.empty(count, np.int64)
        list_near(block, limit, kind(eps), row, item)
        yield row, item
    row, item, excess = np.empty(counts[2], np.int64), np.empty(counts[2], np.int64), np.empty(counts[2], kind)
    list_over(block, kind(margin), row, item, excess)
    yield row, item, excess


@compiled
def farthest(block, k, half, eps, margin):
    """Distance of each row's k-th and half-th nearest, and how many entries the three lists will have."""
    rows, columns = block.shape
    zero, two = block.dtype.type(0), block.dtype.type(2)
    kth, half_th = np.empty(rows, block.dtype), np.empty(rows, block.dtype)
    best = np.empty(k, block.dtype)
    counts = np.zeros(3, np.int64)
    for a in range(rows):
        for place in range(k):
            best[place] = 9  # further than any two unit rows
        for z in range(columns):
            distance = two - two * block[a, z]
            if distance < best[k - 1]:
                distance = max(distance, zero)
                place = k - 1
                while place > 0 and best[place - 1] > distance:
                    best[place] = best[place - 1]
                    place -= 1
                best[place] = distance
        kth[a], half_th[a] = best[k - 1], best[half - 1]
        near, nearer, over = zero, zero, zero
        for z in range(columns):
            s = block[a, z]
            distance = two - two * s
            distance = distance if distance > zero else zero
            near += two if kth[a] - distance + eps >= zero else zero
            nearer += two if half_th[a] - distance + eps >= zero else zero
            over += two if s > margin else zero
        counts[0] += int(near / two)
        counts[1] += int(nearer / two)
        counts[2] += int(over / two)
    return kth, half_th, counts


@compiled
def list_near(block, limit, eps, row, item):
    """Places whose distance is at most the row's limit and eps."""
    zero, two = block.dtype.type(0), block.dtype.type(2)
    found = 0
    for a in range(block.shape[0]):
        for z in range(block.shape[1]):
            distance = two - two * block[a, z]
            distance = distance if distance > zero else zero
            if limit[a] - distance + eps >= zero:
                row[found], item[found] = a, z
                found += 1


@compiled
def list_over(block, margin, row, item, excess):
    """Places and excess of similarities over the margin."""
    found = 0
    for a in range(block.shape[0]):
        for z in range(block.shape[1]):
            if block[a, z] > margin:
                row[found], item[found], excess[found] = a, z, block[a, z] - margin
                found += 1


@compiled
def add_product(pointers, columns, values, rows, product):
    """Add a sparse matrix times `rows` [n d] to `product` [n d]; scipy's own takes five times as long."""
    for a in range(len(pointers) - 1):
        for place in range(pointers[a], pointers[a + 1]):
            other, value = columns[place], values[place]
            for c in range(rows.shape[1]):
                product[a, c] += value * rows[other, c]
