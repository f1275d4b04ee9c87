"""Sparse work of the contextual loss, compiled by numba, a row at a time. Importing this file imports numba.

A sparse matrix is `starts` [n + 1] and `items` [nnz], row i's being items[starts[i] : starts[i + 1]]. One dense line of
n numbers collects a row, and beside each stands the row that it was last used for, so that nothing has to be cleared.
Items are unsigned: numba then does not look whether one counts from the end.
"""

from __future__ import annotations

import numpy as np

from lab.kernels.cpu.bits import TOGETHER, lowest, reached
from lab.kernels.cpu.numba_tiles import compiled

FAR = 9
"""Further than any two unit rows are, in squared distance, and nearer than they are, in similarity."""


@compiled
def list_tile(
    tile: np.ndarray,
    i0: int,
    j0: int,
    both: bool,
    eps: float,
    margin: float,
    nearest: np.ndarray,
    least: np.ndarray,
    count: int,
    row: np.ndarray,
    item: np.ndarray,
    similarity: np.ndarray,
) -> int:
    """List possible neighbours of the rows of a tile (with `both` also of its columns), and entries over the margin.

    nearest: [n k], each row's smallest squared distances so far, ascending; least: [n], the similarity from which it
    lists. Both are kept up to date, so that what is near in the end is among what is listed. count: how much is listed
    already; how much it is then is returned.
    """
    rows, columns = tile.shape
    whole = columns - columns % TOGETHER
    of_columns = least[j0 : j0 + columns]
    of_none = np.full(columns, FAR, least.dtype)
    for a in range(rows):
        line = tile[a]
        for at in range(0, columns, TOGETHER):
            if at < whole:
                bits = reached(line, of_columns if both else of_none, least[i0 + a], at)
            else:
                bits = np.uint64(0)
                for last in range(at, columns):
                    reaches = (line[last] >= least[i0 + a]) | (
                        both & (line[last] >= of_columns[last])
                    )
                    bits |= np.uint64(reaches) << np.uint64(last - at)
            while bits:
                z = at + np.int64(lowest(bits))
                bits &= bits - np.uint64(1)
                for side in range(1 + both):
                    i, j = (i0 + a, j0 + z) if side == 0 else (j0 + z, i0 + a)
                    if line[z] >= least[i]:
                        row[count], item[count], similarity[count] = i, j, line[z]
                        count += 1
                        _take(nearest[i], line[z], least, i, eps, margin)
    return count


@compiled
def _take(
    nearest: np.ndarray, similarity: float, least: np.ndarray, i: int, eps: float, margin: float
) -> None:
    """Insert a similarity into the nearest distances of row i, if it is among them, and raise the listing limit."""
    kind = least.dtype.type
    last = len(nearest) - 1
    distance = max(kind(2) - kind(2) * similarity, kind(0))
    if distance < nearest[last]:
        place = last
        while place > 0 and nearest[place - 1] > distance:
            nearest[place] = nearest[place - 1]
            place -= 1
        nearest[place] = distance
        # Rounded towards more: the list is looked through again when the k-th is known.
        least[i] = min(margin, kind(1) - (nearest[last] + eps) / kind(2) - kind(1e-5))


@compiled
def settle(
    row: np.ndarray,
    item: np.ndarray,
    similarity: np.ndarray,
    nearest: np.ndarray,
    half: int,
    eps: float,
    margin: float,
) -> tuple[np.ndarray, ...]:
    """Select from the lists the entries within eps of the k-th and half-th neighbour, and those over the margin."""
    kind = similarity.dtype.type
    k = nearest.shape[1]
    sizes = np.zeros(3, np.int64)
    fits = np.empty(len(row), np.uint8)
    for p in range(len(row)):
        distance = max(kind(2) - kind(2) * similarity[p], kind(0))
        best = nearest[row[p]]
        near = best[k - 1] - distance + eps >= kind(0)
        nearer = best[half - 1] - distance + eps >= kind(0)
        over = similarity[p] > margin
        sizes[0], sizes[1], sizes[2] = sizes[0] + near, sizes[1] + nearer, sizes[2] + over
        fits[p] = near + 2 * nearer + 4 * over
    near = np.empty((2, sizes[0]), np.uint32)
    nearer = np.empty((2, sizes[1]), np.uint32)
    over = np.empty((2, sizes[2]), np.int32)
    excess = np.empty(sizes[2], similarity.dtype)
    sizes[:] = 0
    for p in range(len(row)):
        if fits[p] & 1:
            near[0, sizes[0]], near[1, sizes[0]] = row[p], item[p]
            sizes[0] += 1
        if fits[p] & 2:
            nearer[0, sizes[1]], nearer[1, sizes[1]] = row[p], item[p]
            sizes[1] += 1
        if fits[p] & 4:
            over[0, sizes[2]], over[1, sizes[2]], excess[sizes[2]] = (
                row[p],
                item[p],
                similarity[p] - margin,
            )
            sizes[2] += 1
    return near, nearer, over, excess


@compiled
def grouped(keys: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Group entries by key: return where each group begins, [n + 1], and the stable order of the entries."""
    starts = np.zeros(n + 1, np.int64)
    for key in keys:
        starts[key + 1] += 1
    for key in range(n):
        starts[key + 1] += starts[key]
    place = starts[:-1].copy()
    order = np.empty(len(keys), np.int64)
    for entry in range(len(keys)):
        key = keys[entry]
        order[place[key]] = entry
        place[key] += 1
    return starts, order


@compiled
def mutual(
    starts: np.ndarray, items: np.ndarray, starts_t: np.ndarray, items_t: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the entries (i, j) whose mirror image (j, i) is an entry, too: starts and items."""
    n = len(starts) - 1
    owner = np.full(n, -1, np.int32)
    found_starts = np.zeros(n + 1, np.int64)
    out_items = np.empty(len(items), np.uint32)
    count = 0
    for i in range(n):
        for p in range(starts[i], starts[i + 1]):
            owner[items[p]] = i
        for p in range(starts_t[i], starts_t[i + 1]):
            if owner[items_t[p]] == i:
                out_items[count] = items_t[p]
                count += 1
        found_starts[i + 1] = count
    return found_starts, out_items[:count]


@compiled
def agreements(
    starts: np.ndarray, items: np.ndarray, of_shared: np.ndarray, of_strangers: np.ndarray
) -> np.ndarray:
    """Compute W = M o A on the entries of A: the shares of neighbours and of strangers that two rows have in common."""
    n = len(starts) - 1
    owner = np.full(n, -1, np.int32)
    out_values = np.empty(len(items))
    for i in range(n):
        size = starts[i + 1] - starts[i]
        for p in range(starts[i], starts[i + 1]):
            owner[items[p]] = i
        for p in range(starts[i], starts[i + 1]):
            j = items[p]
            shared = 0
            for q in range(starts[j], starts[j + 1]):
                shared += owner[items[q]] == i
            strangers = n - size - (starts[j + 1] - starts[j]) + shared
            out_values[p] = shared * of_shared[i] + strangers * of_strangers[i]
    return out_values


@compiled
def averaged(
    close_starts: np.ndarray,
    close: np.ndarray,
    starts: np.ndarray,
    items: np.ndarray,
    values: np.ndarray,
    of_close: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute V = C W / C 1: starts, items and values."""
    n = len(starts) - 1
    room = 0
    for j in close:
        room += starts[j + 1] - starts[j]
    owner = np.full(n, -1, np.int32)
    line = np.zeros(n)
    found_starts = np.zeros(n + 1, np.int64)
    out_items = np.empty(room, np.uint32)
    of_found = np.empty(room)
    count = 0
    for i in range(n):
        first = count
        for p in range(close_starts[i], close_starts[i + 1]):
            j = close[p]
            for q in range(starts[j], starts[j + 1]):
                z = items[q]
                if owner[z] != i:
                    owner[z] = i
                    line[z] = 0.0
                    out_items[count] = z
                    count += 1
                line[z] += values[q]
        for p in range(first, count):
            of_found[p] = line[out_items[p]] * of_close[i]
        found_starts[i + 1] = count
    return found_starts, out_items[:count], of_found[:count]


@compiled
def compare(
    starts: np.ndarray,
    items: np.ndarray,
    values: np.ndarray,
    starts_t: np.ndarray,
    items_t: np.ndarray,
    values_t: np.ndarray,
    label: np.ndarray,
    class_starts: np.ndarray,
    members: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """Compute the errors y - (V + V') / 2 off the diagonal: starts, items, errors, V, and row sums of squares."""
    n = len(starts) - 1
    room = 2 * len(items)
    for i in range(n):
        room += class_starts[label[i] + 1] - class_starts[label[i]]
    owner = np.full(n, -1, np.int32)
    line = np.zeros(n)
    of_row = np.zeros(n)
    found_starts = np.zeros(n + 1, np.int64)
    out_items = np.empty(room, np.uint32)
    errors = np.empty(room)
    beside = np.empty(room)
    wrong = np.zeros(n)
    count = 0
    for i in range(n):
        first = count
        owner[i] = i  # never listed
        for p in range(starts[i], starts[i + 1]):
            j = items[p]
            if owner[j] != i:
                owner[j] = i
                line[j] = 0.0
                of_row[j] = 0.0
                out_items[count] = j
                count += 1
            line[j] -= values[p] / 2
            of_row[j] = values[p]
        for p in range(starts_t[i], starts_t[i + 1]):
            j = items_t[p]
            if owner[j] != i:
                owner[j] = i
                line[j] = 0.0
                of_row[j] = 0.0
                out_items[count] = j
                count += 1
            line[j] -= values_t[p] / 2
        for p in range(class_starts[label[i]], class_starts[label[i] + 1]):
            j = members[p]
            if owner[j] != i:
                owner[j] = i
                line[j] = 0.0
                of_row[j] = 0.0
                out_items[count] = j
                count += 1
            line[j] += 1
        for p in range(first, count):
            errors[p], beside[p] = line[out_items[p]], of_row[out_items[p]]
            wrong[i] += errors[p] * errors[p]
        found_starts[i + 1] = count
    return found_starts, out_items[:count], errors[:count], beside[:count], wrong


@compiled
def mask_gradients(
    first: int,
    of_errors: np.ndarray,
    error_starts: np.ndarray,
    error_items: np.ndarray,
    starts: np.ndarray,
    items: np.ndarray,
    starts_t: np.ndarray,
    items_t: np.ndarray,
    of_shared: np.ndarray,
    of_strangers: np.ndarray,
    close_starts: np.ndarray,
    close: np.ndarray,
    of_close: np.ndarray,
    of_nearer: np.ndarray,
    nearer_starts: np.ndarray,
    nearer: np.ndarray,
    nearer_starts_t: np.ndarray,
    nearer_t: np.ndarray,
    order_t: np.ndarray,
    scale: float,
    block: np.ndarray,
    of_m: np.ndarray,
) -> int:
    """Gradient of some rows' similarities, from row `first` on, into block [b n], without what M's passes on; and how
    many entries of the block are not zero, at most.

    An entry is the sum of what the masks get at (i, j) and at (j, i): a similarity is the same both ways.
    of_errors: gradient of V at the errors' entries; of_nearer: that of both ways of B's entries. scale: what a mask's
    gradient is worth in similarity. of_m: the gradient of M on the entries of A, filled in for these rows.
    """
    n = len(starts) - 1
    nonzero = 0
    here, there, both, size = np.zeros((4, n), block.dtype)
    for j in range(n):
        size[j] = starts[j + 1] - starts[j]
    for a in range(len(block)):
        i = first + a
        line = block[a]
        for p in range(close_starts[i], close_starts[i + 1]):
            weight = of_close[close[p]]
            for q in range(error_starts[close[p]], error_starts[close[p] + 1]):
                here[error_items[q]] += of_errors[q] * weight
        for p in range(error_starts[i], error_starts[i + 1]):
            weight = of_errors[p] * of_close[error_items[p]]
            for q in range(close_starts[error_items[p]], close_starts[error_items[p] + 1]):
                there[close[q]] += weight
        for p in range(starts[i], starts[i + 1]):
            of_m[p] = here[items[p]]
            for q in range(starts_t[items[p]], starts_t[items[p] + 1]):
                both[items_t[q]] += block.dtype.type(1)
        others = block.dtype.type(n) - size[i]
        of_both = of_shared[i]
        of_others = of_strangers[i]
        for j in range(n):
            strangers = others - size[j] + both[j]
            of_i = both[j] * of_both + strangers * of_others
            of_j = both[j] * of_shared[j] + strangers * of_strangers[j]
            line[j] = scale * (here[j] * of_i + there[j] * of_j)
            nonzero += line[j] != block.dtype.type(0)
            here[j], there[j], both[j] = (
                block.dtype.type(0),
                block.dtype.type(0),
                block.dtype.type(0),
            )
        for p in range(nearer_starts[i], nearer_starts[i + 1]):
            nonzero += line[nearer[p]] == block.dtype.type(0)
            line[nearer[p]] += scale * of_nearer[p]
        for p in range(nearer_starts_t[i], nearer_starts_t[i + 1]):
            nonzero += line[nearer_t[p]] == block.dtype.type(0)
            line[nearer_t[p]] += scale * of_nearer[order_t[p]]
    return nonzero


@compiled
def through_close(
    of_errors: np.ndarray,
    starts: np.ndarray,
    items: np.ndarray,
    values: np.ndarray,
    nearer_starts: np.ndarray,
    nearer: np.ndarray,
    nearer_starts_t: np.ndarray,
    nearer_t: np.ndarray,
    order_t: np.ndarray,
    of_close: np.ndarray,
    has_close: np.ndarray,
    error_starts: np.ndarray,
    error_items: np.ndarray,
    beside: np.ndarray,
) -> np.ndarray:
    """Compute the gradient of B, through C = B o B', on B's entries, for both directions of a similarity together."""
    n = len(nearer_starts) - 1
    out = np.zeros(len(nearer))
    line = np.zeros(n)
    for i in range(n):
        of_count = 0.0
        for p in range(error_starts[i], error_starts[i + 1]):
            line[error_items[p]] = of_errors[p] * of_close[i]
            of_count -= of_errors[p] * beside[p]
        of_count *= of_close[i] * has_close[i]
        # (i, j) of B' gets what C gets at (i, j) and at (j, i); here what row i's share of C adds to both.
        for side in range(2):
            first, last = (
                (nearer_starts_t[i], nearer_starts_t[i + 1])
                if side == 0
                else (nearer_starts[i], nearer_starts[i + 1])
            )
            for p in range(first, last):
                j = nearer_t[p] if side == 0 else nearer[p]
                total = of_count
                for q in range(starts[j], starts[j + 1]):
                    total += line[items[q]] * values[q]
                out[order_t[p] if side == 0 else p] += total
        for p in range(error_starts[i], error_starts[i + 1]):
            line[error_items[p]] = 0.0
    return out
