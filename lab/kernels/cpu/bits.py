"""Work on 64 numbers at a time, comparisons a bit each, as code of LLVM. Importing this file imports numba.

On a processor with AVX-512 it is four instructions, and what was found among the 64 is known from one look at a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

TOGETHER = 64
"""Numbers that are worked on together."""


def vector(
    context: Any, builder: ir.IRBuilder, kind: Any, array: ir.Value, at: ir.Value
) -> ir.Value:
    """64 numbers of an array, from `at` on."""
    numbers = context.make_array(kind)(context, builder, array).data
    whole = ir.VectorType(numbers.type.pointee, TOGETHER)
    place = builder.bitcast(builder.gep(numbers, [at]), whole.as_pointer())
    return builder.load(place, align=whole.element.get_abi_size(context.target_data))


def repeated(builder: ir.IRBuilder, number: ir.Value) -> ir.Value:
    """A number, 64 times."""
    nothing = ir.VectorType(number.type, TOGETHER)(ir.Undefined)
    first = builder.insert_element(nothing, number, ir.IntType(32)(0))
    return builder.shuffle_vector(
        first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), TOGETHER), [0] * TOGETHER)
    )


@intrinsic
def reached(typing: Any, line: Any, bounds: Any, bound: Any, at: Any) -> tuple:
    """Which of 64 numbers of a line, from `at` on, reach their own bound or the common one: a bit each."""

    def build(
        context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        numbers, limits = (
            vector(context, builder, signature.args[k], arguments[k], arguments[3]) for k in (0, 1)
        )
        common = repeated(builder, arguments[2])
        above = (builder.fcmp_ordered(">=", numbers, low) for low in (limits, common))
        return builder.bitcast(builder.or_(*above), ir.IntType(64))

    return types.uint64(line, bounds, line.dtype, types.intp), build


@intrinsic
def reach(typing: Any, line: Any, at: Any, bound: Any) -> tuple:
    """Which of 64 numbers of a line, from `at` on, reach a bound: a bit each, the first being the lowest."""

    def build(
        context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        numbers = vector(context, builder, signature.args[0], *arguments[:2])
        above = builder.fcmp_ordered(">=", numbers, repeated(builder, arguments[2]))
        return builder.bitcast(above, ir.IntType(64))

    return types.uint64(line, types.intp, line.dtype), build


@intrinsic
def lowest(typing: Any, bits: Any) -> tuple:
    """Place of the lowest bit that is set."""

    def build(
        context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.uint64(types.uint64), build


@intrinsic
def how_many(typing: Any, bits: Any) -> tuple:
    """How many bits are set."""

    def build(
        context: Any, builder: ir.IRBuilder, signature: Any, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), build
