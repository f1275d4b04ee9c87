"""Plain loops that say what the kernels compute, one line of the formula at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from lab.surrogates import Surrogate


def rank_sums(
    queries: Tensor, items: Tensor, positives: Tensor, step: Surrogate, exclude_self: bool
) -> Tensor:
    """`lab.kernels.rank_sums` by the book: O(p r) time and autograd's memory."""
    return _sums(queries, items, positives, step, exclude_self, lambda a, z: True)


def positive_rank_sums(
    queries: Tensor, items: Tensor, positives: Tensor, step: Surrogate, exclude_self: bool
) -> Tensor:
    """`lab.kernels.positive_rank_sums` by the book."""
    pairs = positives.tolist()
    return _sums(queries, items, positives, step, exclude_self, lambda a, z: [a, z] in pairs)


def negative_rank_sums(
    queries: Tensor, items: Tensor, positives: Tensor, step: Surrogate, exclude_self: bool
) -> Tensor:
    """`lab.kernels.negative_rank_sums` by the book."""
    pairs = positives.tolist()
    return _sums(queries, items, positives, step, exclude_self, lambda a, z: [a, z] not in pairs)


def _sums(
    queries: Tensor, items: Tensor, positives: Tensor, step: Surrogate, exclude_self: bool,
    ranked: Callable[[int, int], bool],
) -> Tensor:  # fmt: skip
    sums = []
    for a, b in positives.tolist():
        dot = queries[a] @ items[b]
        others = [
            z
            for z in range(len(items))
            if z != b and ranked(a, z) and not (exclude_self and z == a)
        ]
        gaps = (
            torch.stack([queries[a] @ items[z] - dot for z in others])
            if others
            else dot.new_zeros(0)
        )
        sums.append(step(gaps).sum())
    return torch.stack(sums) if sums else queries.new_zeros(0)


def mixed(originals: Tensor, parents: Tensor, alpha: Tensor) -> Tensor:
    """Originals followed by the virtual rows alpha x + (1 - alpha) z, [n + v, d]; nothing is renormalised."""
    rows = [
        a * originals[x] + (1 - a) * originals[z]
        for a, (x, z) in zip(alpha, parents.tolist(), strict=True)
    ]
    return torch.cat([originals, torch.stack(rows)]) if rows else originals


def mixed_rank_sums(
    originals: Tensor,
    parents: Tensor,
    alpha: Tensor,
    positives: Tensor,
    step: Surrogate,
    exclude_self: bool,
) -> Tensor:
    """`lab.kernels.mixed_rank_sums` by the book."""
    everything = mixed(originals, parents, alpha)
    return rank_sums(everything, everything, positives, step, exclude_self)
