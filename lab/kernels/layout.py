"""The description of step functions and of mixtures that all paths share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lab.surrogates import HMinus, Sigmoid

if TYPE_CHECKING:
    from torch import Tensor

    from lab.surrogates import Surrogate

ON_DEVICE = 64 << 20
"""Size of one block of similarities on a GPU, which wants few large calls where a CPU wants what fits its cache."""

NEVER = 1e30
"""Further than any gap; infinity would be out of bounds for fast arithmetic."""


def block_bytes(rows: Tensor, on_cpu: int) -> int:
    """Return the size of one block of similarities of these rows, in bytes."""
    return on_cpu if rows.device.type == "cpu" else ON_DEVICE


class Shape(NamedTuple):
    """A step function as six numbers, for gaps in similarity.

    sigma(gap scale / log2 e) + start (gap > 0), or rho (gap - delta) + after where the gap exceeds delta; the slope is
    peak sigma' or rho.
    """

    scale: np.float32
    delta: np.float32
    rho: np.float32
    after: np.float32
    start: np.float32
    peak: np.float32


def shape_of(step: Surrogate | None) -> Shape | None:
    """The step's six numbers, or None for a step that only plain tensors know; no step is any."""
    if step is None:
        return Shape(*map(np.float32, (0, NEVER, 0, 0, 0, 0)))
    # e^-30 is nothing in a float32 sum
    if isinstance(step, Sigmoid) and (step.clamp is None or step.clamp >= 30):
        numbers = NEVER, 0.0, 0.0, 0.0
    elif isinstance(step, HMinus) and not step.lift_ties:
        numbers = step.delta, step.rho, step.after_delta, step.start
    else:
        return None
    return Shape(*map(np.float32, (math.log2(math.e) / step.tau, *numbers, 1 / step.tau)))


def cutoff(step: Any, ranked: int) -> tuple[float, float]:
    """Gaps below which the step counts nothing, and above which it has no gradient, for so many ranked items.

    step: one that has a `Shape`.

    sigma beyond the cut is below 2^-23 / ranked, so everything left out sums to less than float32's rounding of one.
    """
    if step is None:
        return NEVER, -NEVER
    cut = step.tau * (math.log(max(ranked, 1)) + 23 * math.log(2))
    if isinstance(step, HMinus):
        return -cut, NEVER if step.rho > 0 else max(cut, step.delta)
    return -cut, cut


@dataclass(frozen=True)
class Blocks:
    """How Triton's kernels cut a batch with mixtures: originals and all that is ranked (originals, then mixtures), each
    sorted by class and cut at the same classes.

    order: int64 [n], the original at each place. place: int64 [n + v], where each ranked row stands among the ranked.
    first, second: int32 [n + v], places of a ranked row's parents among the originals; both its own for an original.
    alpha: float32 [n + v], weight of the first. edges, ranked_edges: int32 [b + 1], where blocks begin and end among
    the originals and among the ranked.
    """

    order: Tensor
    place: Tensor
    first: Tensor
    second: Tensor
    alpha: Tensor
    edges: Tensor
    ranked_edges: Tensor

    def __len__(self) -> int:
        return len(self.edges) - 1


@dataclass(frozen=True)
class Mixture:
    """Virtual rows, each alpha x + (1 - alpha) z of two original rows, not renormalised (SiMix, 000 eq. 8-10).

    parents: int64 [v 2], rows x and z among the originals.
    alpha: [v], in [0, 1]; carries no gradient. blocks: how Triton's kernels cut the batch, where they mix in the tile.
    """

    parents: Tensor
    alpha: Tensor
    blocks: Blocks | None = None
