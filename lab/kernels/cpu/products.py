"""Products of tiles: torch's own, or on the CPU oneDNN's where they are the quicker ones.

torch multiplies float32 by MKL, which leaves half of the vector unit of an AMD processor with AVX-512 idle; oneDNN,
which torch brings for other layers, does not. The choice is made by processor and not by a race, so that a run that is
resumed multiplies as it did before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

FEW = 32
"""Rows below which libraries take other loops, which round otherwise: MKL with AVX2 for fewer than twelve columns and
fewer than four rows. Equal rows would not tie where one of them is in a small tile."""


def product(a: Tensor, b: Tensor) -> Tensor:
    """a b', [m n] from [m d] and [n d]; on the CPU, a few rows are multiplied as many are."""
    if a.device.type == "cpu" and min(len(a), len(b)) < FEW:
        return product(_filled_up(a), _filled_up(b))[: len(a), : len(b)].contiguous()
    return _linear(a, b) if _by_onednn(a) else a @ b.T


def add_product(target: Tensor, a: Tensor, b: Tensor) -> None:
    """Add a b, [m d] from [m n] and [n d], to target, in place."""
    if _by_onednn(a):
        target.add_(_linear(a, b.T))
    else:
        target.addmm_(a, b)


def repeats(items: Tensor) -> tuple[Tensor, Tensor] | None:
    """Rows of items [n d] that equal an earlier one, and the first one that they equal, int64 [m] each; None: none do.

    Rows are compared only where their sums are the same. Time O(n d + n log n).
    """
    sums, order = items.sum(1).sort(stable=True)
    again = sums[1:] == sums[:-1]
    if not bool(again.any()) or not items.shape[1]:
        return None
    alike = torch.nn.functional.pad(again, (1, 0)) | torch.nn.functional.pad(again, (0, 1))
    rows = order[alike].sort().values
    _, kind = torch.unique(items[rows], dim=0, return_inverse=True)
    first = rows.new_full((len(rows),), len(items)).scatter_reduce(0, kind, rows, "amin")[kind]
    later = first < rows
    return (rows[later], first[later]) if bool(later.any()) else None


def tie(similarities: Tensor, repeated: tuple[Tensor, Tensor] | None) -> Tensor:
    """Similarities [b n], in place, of which those to equal items are equal; `repeated` is the items' `repeats`.

    A product may round its last columns otherwise than its first ones, float64 ones on most CPUs, and a step would take
    that for an order.
    """
    if repeated is not None:
        later, first = repeated
        similarities[:, later] = similarities[:, first]
    return similarities


def available() -> dict[str, Callable[[Tensor, Tensor], Tensor]]:
    """Every product a b', [m n] from float32 [m d] and [n d], that this machine's CPU has, by its library's name."""
    products: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"torch": lambda a, b: a @ b.T}
    if _onednn_is_right():
        products["oneDNN"] = _linear
    return products


def _filled_up(rows: Tensor) -> Tensor:
    return torch.nn.functional.pad(rows, (0, 0, 0, max(0, FEW - len(rows))))


def _by_onednn(a: Tensor) -> bool:
    return a.dtype == torch.float32 and a.device.type == "cpu" and onednn_is_quicker()


def _linear(a: Tensor, weight: Tensor) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise(a, weight, None, "none", [], "")


@cache
def onednn_is_quicker() -> bool:
    """Whether this is such a processor, and oneDNN's product is there and right."""
    try:
        import llvmlite.binding

        if not llvmlite.binding.get_host_cpu_name().startswith("znver"):
            return False
        return torch.backends.cpu.get_cpu_capability().startswith("AVX512") and _onednn_is_right()
    except (ImportError, AttributeError):
        return False


@cache
def _onednn_is_right() -> bool:
    """Whether torch still has the operator, which it keeps to itself, and it multiplies."""
    try:
        rows = torch.arange(12.0).view(3, 4)
        return torch.equal(_linear(rows, rows), rows @ rows.T)
    except (AttributeError, RuntimeError):
        return False
