"""Matrices transposed, compiled by numba. Importing this file imports numba.

Sixteen by sixteen numbers are transposed in registers: a matrix of 1,024 is folded in .35 to .5 ms so, in 4 by torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from lab.kernels.cpu.numba_tiles import OPTIONS, compiled

BLOCK = 16
"""Rows and columns that are transposed at a time: a line of the cache each."""

LINE = ir.VectorType(ir.FloatType(), BLOCK)


def _loaded(builder: ir.IRBuilder, start: ir.Value, stride: ir.Value) -> list[ir.Value]:
    """The lines of a block, which begins at an address; the stride is in bytes."""
    return [builder.load(_line(builder, start, stride, row), align=4) for row in range(BLOCK)]


def _stored(
    builder: ir.IRBuilder, lines: Sequence[ir.Value], start: ir.Value, stride: ir.Value
) -> None:
    for row, line in enumerate(lines):
        builder.store(line, _line(builder, start, stride, row), align=4)


def _line(builder: ir.IRBuilder, start: ir.Value, stride: ir.Value, row: int) -> ir.Value:
    address = builder.add(start, builder.mul(stride, ir.Constant(stride.type, row)))
    return builder.inttoptr(address, LINE.as_pointer())


def _transposed_lines(builder: ir.IRBuilder, lines: list[ir.Value]) -> list[ir.Value]:
    """The block's columns. Row and column of a number are eight bits; to mix line k with line k + 8, number by number,
    moves the first of these bits behind the last, so that four times do."""
    kind = ir.VectorType(ir.IntType(32), BLOCK)
    half = BLOCK // 2
    mixed = [[n // 2 + part * half + (n % 2) * BLOCK for n in range(BLOCK)] for part in (0, 1)]
    for _ in range(4):
        lines = [
            builder.shuffle_vector(lines[k], lines[k + half], ir.Constant(kind, mask))
            for k in range(half)
            for mask in mixed
        ]
    return lines


@intrinsic
def _transpose_block(
    typing: Any, source: Any, stride: Any, target: Any, target_stride: Any
) -> tuple:
    """Write the transpose of the block at one address to another."""

    def build(
        context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        start, stride, target, target_stride = arguments
        _stored(
            builder,
            _transposed_lines(builder, _loaded(builder, start, stride)),
            target,
            target_stride,
        )
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64), build


@intrinsic
def _fold_blocks(typing: Any, one: Any, other: Any, stride: Any) -> tuple:
    """Add to two blocks of a matrix each other's transpose."""

    def build(
        context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        one, other, stride = arguments
        turned = _transposed_lines(builder, _loaded(builder, other, stride))
        sums = [
            builder.fadd(a, b) for a, b in zip(_loaded(builder, one, stride), turned, strict=True)
        ]
        _stored(builder, sums, one, stride)
        _stored(builder, _transposed_lines(builder, sums), other, stride)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), build


@njit(inline="always", **OPTIONS)
def _transpose_part(matrix: np.ndarray, start: int, into: np.ndarray, top: int, left: int) -> None:
    """Write all rows, from column `start` on, transposed into a corner of another matrix; rows are contiguous."""
    rows = len(matrix)
    columns = matrix.shape[1] - start
    source = matrix.ctypes.data + 4 * start
    target = into.ctypes.data + 4 * left
    stride = matrix.strides[0]
    target_stride = into.strides[0]
    whole_rows = rows // BLOCK * BLOCK
    whole_columns = columns // BLOCK * BLOCK
    for a in range(0, whole_rows, BLOCK):
        for z in range(0, whole_columns, BLOCK):
            _transpose_block(
                source + a * stride + 4 * z,
                stride,
                target + (top + z) * target_stride + 4 * a,
                target_stride,
            )
    for a in range(rows):
        for z in range(whole_columns if a < whole_rows else 0, columns):
            into[top + z, left + a] = matrix[a, start + z]


@compiled
def transpose_into(matrix: np.ndarray, into: np.ndarray) -> None:
    """Write the transpose of a float32 matrix [m n] into another, [n m]."""
    _transpose_part(matrix, 0, into, 0, 0)


def transposed(matrix: np.ndarray) -> np.ndarray:
    """The transpose of a float32 matrix, in memory of its own that torch's products like."""
    into = torch.empty(matrix.shape[::-1]).numpy()
    transpose_into(matrix, into)
    return into


@compiled
def mirror(strip: np.ndarray, start: int, whole: np.ndarray) -> None:
    """Write some rows of a symmetric matrix [n n], given from the diagonal on, [h n - start], and the same columns."""
    rows = len(strip)
    for a in range(rows):
        for z in range(strip.shape[1]):
            whole[start + a, start + z] = strip[a, z]
    _transpose_part(strip, rows, whole, start + rows, start)
    for a in range(rows):
        for z in range(a):
            whole[start + a, start + z] = whole[start + z, start + a]


@compiled
def fold(matrix: np.ndarray) -> None:
    """Add its transpose to a float32 matrix [n n], in place."""
    data = matrix.ctypes.data
    stride = matrix.strides[0]
    whole = len(matrix) // BLOCK * BLOCK
    for top in range(0, whole, BLOCK):
        for left in range(top, whole, BLOCK):
            _fold_blocks(data + top * stride + 4 * left, data + left * stride + 4 * top, stride)
    for a in range(whole, len(matrix)):
        for z in range(a + 1):
            both = matrix[a, z] + matrix[z, a]
            matrix[a, z] = both
            matrix[z, a] = both
