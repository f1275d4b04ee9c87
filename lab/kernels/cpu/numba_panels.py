"""Sparse matrices times rows, a panel of columns at a time, compiled by numba. Importing this file imports numba.

Rows [n d] are copied as panels [d/64 n 64], so that the part of them that a product reads stays in cache and one row of
the result in registers: an entry then costs a third of what it costs to add whole rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from torch import Tensor

from lab.kernels.cpu.bits import TOGETHER, lowest, repeated, vector
from lab.kernels.cpu.numba_tiles import compiled

PANEL = TOGETHER
"""Columns of a panel: four vectors of 16 numbers, which are added to without waiting for each other."""

CHUNK = 256
"""Rows of a panel that are read together, 64 kB."""

FILLED = 8
"""Mean number of entries of a row from which a chunk is worth its overhead."""


def padded(width: int) -> int:
    """The next multiple of a panel's width."""
    return -(-width // PANEL) * PANEL


def panels(rows: Tensor) -> np.ndarray:
    """A copy of rows [n d] as panels [d/64 n 64], zeros beyond d."""
    n, d = rows.shape
    wide = rows if d == padded(d) else torch.nn.functional.pad(rows, (0, padded(d) - d))
    return wide.reshape(n, -1, PANEL).transpose(0, 1).contiguous().numpy()


@intrinsic
def _add_rows(
    typing: Any, panel: Any, items: Any, weights: Any, first: Any, last: Any, line: Any, column: Any
) -> tuple:
    """Add a panel's rows `items` times `weights`, from `first` to `last`, to 64 numbers of a line.

    As code of LLVM, since numba would read and write the line for every row.
    """

    def build(
        context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        arrays = (
            context.make_array(signature.args[k])(context, builder, arguments[k])
            for k in (0, 1, 2, 5)
        )
        whole = ir.IntType(64)
        rows, places, factors, target = (array.data for array in arrays)
        lanes = ir.VectorType(rows.type.pointee, PANEL)
        align = lanes.element.get_abi_size(context.target_data)
        total = cgutils.alloca_once_value(builder, ir.Constant(lanes, None))
        with cgutils.for_range_slice(builder, arguments[3], arguments[4], whole(1), whole) as (
            entry,
            _,
        ):
            place = builder.zext(builder.load(builder.gep(places, [entry])), whole)
            row = builder.bitcast(
                builder.gep(rows, [builder.mul(place, whole(PANEL))]), lanes.as_pointer()
            )
            factor = repeated(builder, builder.load(builder.gep(factors, [entry])))
            scaled = builder.fmul(builder.load(row, align=align), factor, flags=["contract"])
            builder.store(builder.fadd(scaled, builder.load(total), flags=["contract"]), total)
        start = builder.bitcast(builder.gep(target, [arguments[6]]), lanes.as_pointer())
        sums = builder.fadd(builder.load(start, align=align), builder.load(total))
        builder.store(sums, start, align=align)
        return context.get_dummy_value()

    return types.void(panel, items, weights, types.intp, types.intp, line, types.intp), build


@intrinsic
def _nonzero(typing: Any, line: Any, at: Any) -> tuple:
    """Which of 64 numbers of a line, from `at` on, are not zero: a bit each, the first being the lowest."""

    def build(
        context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        numbers = vector(context, builder, signature.args[0], *arguments)
        unlike = builder.fcmp_unordered("!=", numbers, numbers.type(None))
        return builder.bitcast(unlike, ir.IntType(64))

    return types.uint64(line, types.intp), build


@compiled
def _list_nonzero(
    line: np.ndarray, first: int, last: int, count: int, items: np.ndarray, weights: np.ndarray
) -> int:
    """List where a line is not zero between two places, and what it is there; how much is listed then."""
    whole = first + (last - first) // PANEL * PANEL
    for at in range(first, whole, PANEL):
        bits = _nonzero(line, at)
        while bits:
            j = at + np.int64(lowest(bits))
            items[count], weights[count] = j, line[j]
            count += 1
            bits &= bits - np.uint64(1)
    for single in range(whole, last):
        items[count], weights[count] = single, line[single]
        count += line[single] != 0
    return count


@compiled
def add_product(
    starts: np.ndarray,
    items: np.ndarray,
    values: np.ndarray,
    panel: np.ndarray,
    target: np.ndarray,
    column: int,
) -> None:
    """Add a sparse matrix [n n] times a panel [n 64] to the columns of target from `column` on.

    starts: int64 [n + 1]; items: int32 and values, [nnz], row i's being those from starts[i] to starts[i + 1].
    """
    for i in range(len(starts) - 1):
        _add_rows(panel, items, values, starts[i], starts[i + 1], target[i], column)


@compiled
def add_block(block: np.ndarray, nonzero: int, panels: np.ndarray, gradient: np.ndarray) -> None:
    """Add block [b n], of which `nonzero` entries are not zero, times rows, as panels, to gradient [b d]."""
    height, n = block.shape
    step = CHUNK if nonzero >= FILLED * height * (n // CHUNK) else n
    chunks = -(-n // step)
    items = np.empty(block.size + 1, np.int32)
    weights = np.empty(block.size + 1, block.dtype)
    starts = np.empty((height, chunks + 1), np.int64)
    count = 0
    for a in range(height):
        for chunk in range(chunks):
            starts[a, chunk] = count
            count = _list_nonzero(
                block[a], chunk * step, min(n, chunk * step + step), count, items, weights
            )
        starts[a, chunks] = count
    for chunk in range(chunks):
        for p in range(len(panels)):
            for a in range(height):
                _add_rows(
                    panels[p],
                    items,
                    weights,
                    starts[a, chunk],
                    starts[a, chunk + 1],
                    gradient[a],
                    p * PANEL,
                )
