"""Sparse work of the contextual loss, compiled by numba, a row at a time. Importing this file imports numba.

A sparse matrix is `starts` [n + 1] and `items` [nnz], row i's being items[starts[i] : starts[i + 1]]. One dense line of
n numbers collects a row, and beside each stands the row that it was last used for, so that nothing has to be cleared.
"""

from __future__ import annotations

import numpy as np

from lab.kernels._numba import compiled


@compiled
def list_tile(tile, i0, j0, eps, margin, nearest, row, item, similarity):
    """List what may be near the rows of a tile, or is over the margin; the number of entries listed.

    nearest: [n k], each row's smallest squared distances so far, ascending, updated by the tile before it is listed, so
    that what is near in the end is among what is listed.
    """
    rows, columns = tile.shape
    zero, two = tile.dtype.type(0), tile.dtype.type(2)
    last, found = nearest.shape[1] - 1, 0
    for a in range(rows):
        best = nearest[i0 + a]
        for z in range(columns):
            distance = two - two * tile[a, z]
            if distance < best[last]:
                distance = max(distance, zero)
                place = last
                while place > 0 and best[place - 1] > distance:
                    best[place] = best[place - 1]
                    place -= 1
                best[place] = distance
        # Rounded towards more: the list is looked through again when the k-th is known.
        least = min(margin, tile.dtype.type(1) - (best[last] + eps) / two - tile.dtype.type(1e-5))
        for z in range(columns):
            if tile[a, z] >= least:
                row[found], item[found], similarity[found] = i0 + a, j0 + z, tile[a, z]
                found += 1
    return found


@compiled
def grouped(keys, n):
    """Where each key's entries begin, [n + 1], and the entries in order of their keys, stable."""
    starts = np.zeros(n + 1, np.int64)
    for key in keys:
        starts[key + 1] += 1
    for key in range(n):
        starts[key + 1] += starts[key]
    place, order = starts[:-1].copy(), np.empty(len(keys), np.int64)
    for entry in range(len(keys)):
        key = keys[entry]
        order[place[key]] = entry
        place[key] += 1
    return starts, order


@compiled
def mutual(starts, items, starts_t, items_t):
    """The entries (i, j) whose mirror (j, i) is there, too: starts and items."""
    n = len(starts) - 1
    owner = np.full(n, -1, np.int64)
    found_starts, found = np.zeros(n + 1, np.int64), np.empty(len(items), np.int64)
    count = 0
    for i in range(n):
        for p in range(starts[i], starts[i + 1]):
            owner[items[p]] = i
        for p in range(starts_t[i], starts_t[i + 1]):
            if owner[items_t[p]] == i:
                found[count] = items_t[p]
                count += 1
        found_starts[i + 1] = count
    return found_starts, found[:count]


@compiled
def agreements(starts, items, of_shared, of_strangers):
    """W = M o A on the entries of A: the shares of neighbours and of strangers that two rows have in common."""
    n = len(starts) - 1
    owner, found = np.full(n, -1, np.int64), np.empty(len(items))
    for i in range(n):
        size = starts[i + 1] - starts[i]
        for p in range(starts[i], starts[i + 1]):
            owner[items[p]] = i
        for p in range(starts[i], starts[i + 1]):
            j, shared = items[p], 0
            for q in range(starts[j], starts[j + 1]):
                shared += owner[items[q]] == i
            strangers = n - size - (starts[j + 1] - starts[j]) + shared
            found[p] = shared * of_shared[i] + strangers * of_strangers[i]
    return found


@compiled
def averaged(close_starts, close, starts, items, values, of_close):
    """V = C W / C 1: starts, items and values."""
    n = len(starts) - 1
    room = 0
    for j in close:
        room += starts[j + 1] - starts[j]
    owner, line = np.full(n, -1, np.int64), np.zeros(n)
    found_starts, found, of_found = np.zeros(n + 1, np.int64), np.empty(room, np.int64), np.empty(room)
    count = 0
    for i in range(n):
        first = count
        for p in range(close_starts[i], close_starts[i + 1]):
            j = close[p]
            for q in range(starts[j], starts[j + 1]):
                z = items[q]
                if owner[z] != i:
                    owner[z], line[z] = i, 0.0
                    found[count] = z
                    count += 1
                line[z] += values[q]
        for p in range(first, count):
            of_found[p] = line[found[p]] * of_close[i]
        found_starts[i + 1] = count
    return found_starts, found[:count], of_found[:count]


@compiled
def compare(starts, items, values, starts_t, items_t, values_t, label, class_starts, members):
    """Errors y - (V + V') / 2 off the diagonal: starts, items, errors, and V beside them; their squares' row sums."""
    n = len(starts) - 1
    room = 2 * len(items)
    for i in range(n):
        room += class_starts[label[i] + 1] - class_starts[label[i]]
    owner, line, own = np.full(n, -1, np.int64), np.zeros(n), np.zeros(n)
    found_starts, found = np.zeros(n + 1, np.int64), np.empty(room, np.int64)
    errors, beside, wrong = np.empty(room), np.empty(room), np.zeros(n)
    count = 0
    for i in range(n):
        first = count
        owner[i] = i  # never listed
        for p in range(starts[i], starts[i + 1]):
            j = items[p]
            if owner[j] != i:
                owner[j], line[j], own[j] = i, 0.0, 0.0
                found[count] = j
                count += 1
            line[j] -= values[p] / 2
            own[j] = values[p]
        for p in range(starts_t[i], starts_t[i + 1]):
            j = items_t[p]
            if owner[j] != i:
                owner[j], line[j], own[j] = i, 0.0, 0.0
                found[count] = j
                count += 1
            line[j] -= values_t[p] / 2
        for p in range(class_starts[label[i]], class_starts[label[i] + 1]):
            j = members[p]
            if owner[j] != i:
                owner[j], line[j], own[j] = i, 0.0, 0.0
                found[count] = j
                count += 1
            line[j] += 1
        for p in range(first, count):
            errors[p], beside[p] = line[found[p]], own[found[p]]
            wrong[i] += errors[p] * errors[p]
        found_starts[i + 1] = count
    return found_starts, found[:count], errors[:count], beside[:count], wrong


ENTRIES = 1 << 15
"""Single similarities whose gradients are spread together, 16 bytes each."""


@compiled
def spread(count, row, item, values, begin, order, rows, gradient):
    """Add gradients of `count` single similarities to those of their rows, one item after the other.

    The rows are few and near one another, so that what is read and written stays in cache. begin: [n + 1] and order:
    room to sort in.
    """
    begin[:] = 0
    for p in range(count):
        begin[item[p] + 1] += 1
    for j in range(len(begin) - 1):
        begin[j + 1] += begin[j]
    for p in range(count - 1, -1, -1):  # from the back, begin[j + 1] comes down to where j begins
        begin[item[p] + 1] -= 1
        order[begin[item[p] + 1]] = p
    for q in range(count):
        p = order[q]
        i, j, g = row[p], item[p], values[p]
        for c in range(rows.shape[1]):
            gradient[i, c] += g * rows[j, c]
        for c in range(rows.shape[1]):
            gradient[j, c] += g * rows[i, c]


@compiled
def through_agreements(
    of_wrong, starts, items, starts_t, items_t, of_shared, of_strangers, close_starts, close, of_close,
    error_starts, error_items, errors, scale, rows, gradient,
):  # fmt: skip
    """Gradient of W's two factors M and A where A alone was differentiated, spread to the rows; and that of M on A.

    scale: what a mask's gradient is worth in similarity. Returns the gradient of M on the entries of A.
    """
    n = len(starts) - 1
    owner, line = np.full(n, -1, np.int64), np.zeros(n)
    counted, shared = np.full(n, -1, np.int64), np.zeros(n)
    touched, of_m = np.empty(n, np.int64), np.zeros(len(items))
    row, item = np.empty(ENTRIES + n, np.int32), np.empty(ENTRIES + n, np.int32)
    values, listed = np.empty(ENTRIES + n, rows.dtype), 0
    begin, order = np.empty(n + 1, np.int32), np.empty(ENTRIES + n, np.int32)
    for i in range(n):
        count = 0
        for p in range(close_starts[i], close_starts[i + 1]):
            j = close[p]
            for q in range(error_starts[j], error_starts[j + 1]):
                z = error_items[q]
                if owner[z] != i:
                    owner[z], line[z] = i, 0.0
                    touched[count] = z
                    count += 1
                line[z] -= errors[q] * (of_wrong[j] + of_wrong[z]) * of_close[j]
        for p in range(starts[i], starts[i + 1]):
            j = items[p]
            of_m[p] = line[j] if owner[j] == i else 0.0
            for q in range(starts_t[j], starts_t[j + 1]):
                z = items_t[q]
                if counted[z] != i:
                    counted[z], shared[z] = i, 0.0
                shared[z] += 1
        size = starts[i + 1] - starts[i]
        for p in range(count):
            j = touched[p]
            both = shared[j] if counted[j] == i else 0.0
            strangers = n - size - (starts[j + 1] - starts[j]) + both
            row[listed], item[listed] = i, j
            values[listed] = scale * line[j] * (both * of_shared[i] + strangers * of_strangers[i])
            listed += 1
        if listed > ENTRIES or i == n - 1:
            spread(listed, row, item, values, begin, order, rows, gradient)
            listed = 0
    return of_m


@compiled
def through_close(
    of_wrong, starts, items, values, nearer_starts, nearer, nearer_starts_t, nearer_t, of_close, has_close,
    error_starts, error_items, errors, beside, scale, rows, gradient,
):  # fmt: skip
    """Gradient of the masks B behind C = B o B', spread to the rows."""
    n = len(starts) - 1
    owner, line, of_count = np.full(n, -1, np.int64), np.zeros(n), np.zeros(n)
    for i in range(n):
        for p in range(error_starts[i], error_starts[i + 1]):
            of_count[i] += errors[p] * (of_wrong[i] + of_wrong[error_items[p]]) * beside[p]
        of_count[i] *= of_close[i] * has_close[i]
    for i in range(n):
        for p in range(error_starts[i], error_starts[i + 1]):
            z = error_items[p]
            owner[z], line[z] = i, -errors[p] * (of_wrong[i] + of_wrong[z]) * of_close[i]
        # (i, j) of B' gets what C gets at (i, j) and at (j, i); here both of what row i's share of C adds.
        for side in range(2):
            first, last = (
                (nearer_starts_t[i], nearer_starts_t[i + 1]) if side == 0 else (nearer_starts[i], nearer_starts[i + 1])
            )
            for p in range(first, last):
                j = nearer_t[p] if side == 0 else nearer[p]
                total = of_count[i]
                for q in range(starts[j], starts[j + 1]):
                    z = items[q]
                    total += line[z] * values[q] if owner[z] == i else 0.0
                g = rows.dtype.type(scale * total)
                for c in range(rows.shape[1]):
                    gradient[i, c] += g * rows[j, c]
                for c in range(rows.shape[1]):
                    gradient[j, c] += g * rows[i, c]


@compiled
def add_product(starts, items, values, rows, product):
    """Add a sparse matrix [n n] times rows [n d] to product [n d]."""
    for i in range(len(starts) - 1):
        for p in range(starts[i], starts[i + 1]):
            j, g = items[p], rows.dtype.type(values[p])
            for c in range(rows.shape[1]):
                product[i, c] += g * rows[j, c]
