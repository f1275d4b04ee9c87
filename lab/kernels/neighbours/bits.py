"""Work on 64 numbers at a time, comparisons a bit each, as code of LLVM. Importing this file imports numba.

On a processor with AVX-512 it is four instructions, and what was found among the 64 is known from one look at a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

TOGETHER = 64
"""Numbers that are worked on together."""

LINE_BYTES = 64
"""What memory gives at a time."""


def vector(context: Any, builder: ir.IRBuilder, kind: Any, array: ir.Value, at: ir.Value) -> ir.Value:
    """64 numbers of an array, from `at` on."""
    place, align = _place(context, builder, kind, array, at)
    return builder.load(place, align=align)


def _place(context: Any, builder: ir.IRBuilder, kind: Any, array: ir.Value, at: ir.Value) -> tuple[ir.Value, int]:
    """Where 64 numbers of an array begin, and how far their address can be relied on to be a round one."""
    numbers = context.make_array(kind)(context, builder, array).data
    whole = ir.VectorType(numbers.type.pointee, TOGETHER)
    place = builder.bitcast(builder.gep(numbers, [at]), whole.as_pointer())
    return place, whole.element.get_abi_size(context.target_data)


def repeated(builder: ir.IRBuilder, number: ir.Value) -> ir.Value:
    """A number, 64 times."""
    nothing = ir.VectorType(number.type, TOGETHER)(ir.Undefined)
    first = builder.insert_element(nothing, number, ir.IntType(32)(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), TOGETHER), [0] * TOGETHER))


@intrinsic
def reached(typing: Any, line: Any, bounds: Any, bound: Any, at: Any) -> tuple:
    """Which of 64 numbers of a line, from `at` on, reach their own bound or the common one: a bit each."""

    def build(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]) -> ir.Value:
        numbers, limits = (vector(context, builder, signature.args[k], arguments[k], arguments[3]) for k in (0, 1))
        common = repeated(builder, arguments[2])
        above = (builder.fcmp_ordered(">=", numbers, low) for low in (limits, common))
        return builder.bitcast(builder.or_(*above), ir.IntType(64))

    return types.uint64(line, bounds, line.dtype, types.intp), build


@intrinsic
def reach(typing: Any, line: Any, at: Any, bound: Any) -> tuple:
    """Which of 64 numbers of a line, from `at` on, reach a bound: a bit each, the first being the lowest."""

    def build(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]) -> ir.Value:
        numbers = vector(context, builder, signature.args[0], *arguments[:2])
        above = builder.fcmp_ordered(">=", numbers, repeated(builder, arguments[2]))
        return builder.bitcast(above, ir.IntType(64))

    return types.uint64(line, types.intp, line.dtype), build


@intrinsic
def reach_each(typing: Any, line: Any, at: Any, bounds: Any, first: Any) -> tuple:
    """Which of 64 numbers of a line, from `at` on, reach bounds of their own, which stand from `first` on."""

    def build(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]) -> ir.Value:
        numbers, limits = (vector(context, builder, signature.args[k], *arguments[k : k + 2]) for k in (0, 2))
        return builder.bitcast(builder.fcmp_ordered(">=", numbers, limits), ir.IntType(64))

    return types.uint64(line, types.intp, bounds, types.intp), build


@intrinsic
def count_each(typing: Any, line: Any, at: Any, bounds: Any, first: Any, counts: Any, counter: Any) -> tuple:
    """As `reach_own`, and one more in each of 64 counters, int32 from `counter` on, where the number does."""

    def build(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]) -> ir.Value:
        numbers, limits = (vector(context, builder, signature.args[k], *arguments[k : k + 2]) for k in (0, 2))
        above = builder.fcmp_ordered(">=", numbers, limits)
        place, align = _place(context, builder, signature.args[4], *arguments[4:])
        before = builder.load(place, align=align)
        builder.store(builder.sub(before, builder.sext(above, before.type)), place, align=align)
        return builder.bitcast(above, ir.IntType(64))

    return types.uint64(line, types.intp, bounds, types.intp, counts, types.intp), build


@intrinsic
def lowest(typing: Any, bits: Any) -> tuple:
    """Place of the lowest bit that is set."""

    def build(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]) -> ir.Value:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.uint64(types.uint64), build


@intrinsic
def how_many(typing: Any, bits: Any) -> tuple:
    """How many bits are set."""

    def build(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]) -> ir.Value:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), build


@intrinsic
def greatest_lanes(typing: Any, line: Any, width: Any, out: Any, at: Any) -> tuple:
    """The greatest of every 32nd number of a line into 32 numbers, from `at` on; the width is a multiple of 64.

    As code of LLVM, since numba would write the 32 for every number that is read.
    """

    def build(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]) -> ir.Value:
        whole, kind = ir.IntType(64), signature.args[0]
        best = cgutils.alloca_once_value(builder, vector(context, builder, kind, arguments[0], whole(0)))
        steps = whole(TOGETHER), arguments[1], whole(TOGETHER), whole
        with cgutils.for_range_slice(builder, *steps) as (place, _):
            builder.store(
                _greater(builder, vector(context, builder, kind, arguments[0], place), builder.load(best)), best
            )
        total, half = builder.load(best), ir.VectorType(ir.IntType(32), TOGETHER // 2)
        ends = (
            builder.shuffle_vector(total, total, ir.Constant(half, list(range(first, first + TOGETHER // 2))))
            for first in (0, TOGETHER // 2)
        )
        found = _greater(builder, *ends)
        place, align = _place(context, builder, signature.args[2], *arguments[2:])
        builder.store(found, builder.bitcast(place, found.type.as_pointer()), align=align)
        return context.get_dummy_value()

    return types.void(line, types.intp, out, types.intp), build


def _greater(builder: ir.IRBuilder, one: ir.Value, other: ir.Value) -> ir.Value:
    return builder.select(builder.fcmp_ordered(">", one, other), one, other)


@intrinsic
def fetch(typing: Any, rows: Any, row: Any) -> tuple:
    """Have a row of a matrix [n d] brought into the cache, without waiting for it."""

    def build(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]) -> ir.Value:
        whole, flag, address = ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()
        matrix = context.make_array(signature.args[0])(context, builder, arguments[0])
        stride = builder.extract_value(matrix.strides, 0)
        start = builder.gep(builder.bitcast(matrix.data, address), [builder.mul(stride, arguments[1])])
        kind = ir.FunctionType(ir.VoidType(), [address, flag, flag, flag])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [address], kind)
        with cgutils.for_range_slice(builder, whole(0), stride, whole(LINE_BYTES), whole) as (place, _):
            builder.call(ask, [builder.gep(start, [place]), flag(0), flag(3), flag(1)])  # to read, often, data
        return context.get_dummy_value()

    return types.void(rows, types.intp), build
