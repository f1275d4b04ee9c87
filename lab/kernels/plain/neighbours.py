"""Contextual similarity: the agreement of the neighbourhoods of two examples (004, eq. 1-4 and appendix E)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from lab.kernels.cpu.products import repeats, tie
from lab.surrogates import Surrogate

MIN_CHUNK_BYTES = 16 << 20
"""Memory of the minimum at a time; unlike the product it is not a matrix product."""


@dataclass(frozen=True)
class Steps:
    """The steps of the definition and their variants (the rows of 004, table 5).

    k: number of neighbours, counting the example itself.
    eps: by how much a neighbour may be further away than the k-th, in squared distance.
    theta: surrogate of the comparison "is at least".
    minimum: use the minimum for the logical "and", instead of the product.
    intersection: step 2, compare neighbourhoods; if False, w is the neighbourhood itself.
    complement: also compare the complements of the neighbourhoods (M-).
    expansion: step 3, average over close reciprocal neighbours and symmetrise.
    stop_gradient: pass no gradient through the sizes of the neighbourhoods.
    detach_expansion: pass no gradient through the sizes of the reciprocal neighbourhoods of step 3 either.
    include_self: an example is a neighbour of itself.
    """

    k: int
    eps: float
    theta: Surrogate
    minimum: bool = False
    intersection: bool = True
    complement: bool = True
    expansion: bool = True
    stop_gradient: bool = True
    detach_expansion: bool = False
    include_self: bool = True


def squared_distances(rows: Tensor) -> Tensor:
    """Compute the squared distances between unit rows [n d], [n n]; equal rows get exactly equal distances."""
    similarities = rows @ rows.T
    repeated = repeats(rows.detach())
    if repeated is not None:
        # Rounding may give equal rows unequal similarities. Correct the values and leave the gradient unchanged.
        rounded = similarities.detach()
        similarities = similarities + (tie(rounded.clone(), repeated) - rounded)
    return (2 - 2 * similarities).clamp_min(0)


def contextual_similarity(distances: Tensor, steps: Steps) -> Tensor:
    """Compute w [n n] from squared distances [n n] (004, eq. 2-4). O(n^3) time as matrix products, O(n^2) memory."""
    similarity = _neighbours(distances, steps.k, steps)
    if steps.intersection:
        similarity = _agreement(similarity, steps)
    if steps.expansion:
        similarity = _expanded(similarity, distances, steps)
    return similarity


def _neighbours(distances: Tensor, k: int, steps: Steps) -> Tensor:
    """Mark the items that are at most eps further away than the k-th nearest, [n n] (eq. 2)."""
    diagonal = torch.eye(len(distances), dtype=torch.bool, device=distances.device)
    candidates = distances.detach()
    count = len(distances)
    if not steps.include_self:
        candidates = candidates.masked_fill(diagonal, torch.inf)
        count -= 1
    if count == 0:
        return torch.zeros_like(distances)

    kth = candidates.kthvalue(min(k, count), dim=1, keepdim=True).values
    near = steps.theta(kth - distances + steps.eps)
    return near if steps.include_self else near.masked_fill(diagonal, 0)


def _agreement(near: Tensor, steps: Steps) -> Tensor:
    """Compute W1 from the shared neighbours and shared strangers of each pair of neighbours (eq. 3)."""
    shared = _share(near, near, steps)
    if steps.complement:
        shared = (shared + _share(1 - near, 1 - near, steps)) / 2
    return _both(shared, near, steps.minimum)


def _share(rows: Tensor, others: Tensor, steps: Steps) -> Tensor:
    """Divide the size of the intersection by the size of the first set, [n m]; zero if that set is empty."""
    size = rows.sum(1, keepdim=True)
    if steps.stop_gradient:
        size = size.detach()
    return _ratio(_count_both(rows, others, steps.minimum), size)


def _expanded(similarity: Tensor, distances: Tensor, steps: Steps) -> Tensor:
    """Average over the reciprocal k/2 neighbours and symmetrise (eq. 4)."""
    near = _neighbours(distances, max(1, steps.k // 2), steps)
    close = _both(near, near.T, steps.minimum)
    size = close.sum(1, keepdim=True)
    if steps.detach_expansion:
        size = size.detach()
    averaged = _ratio(_count_both(close, similarity.T, steps.minimum), size)
    return (averaged + averaged.T) / 2


def _ratio(part: Tensor, whole: Tensor) -> Tensor:
    """Compute part / whole; zero if both are zero."""
    return part / torch.where(whole == 0, 1, whole)


def _both(a: Tensor, b: Tensor, minimum: bool) -> Tensor:
    """Compute the logical "and" elementwise: the minimum or the product."""
    return torch.minimum(a, b) if minimum else a * b


def _count_both(a: Tensor, b: Tensor, minimum: bool) -> Tensor:
    """Sum a_ip "and" b_jp over p, [n m] from [n r] and [m r]."""
    if not minimum:
        return a @ b.T
    rows = max(1, MIN_CHUNK_BYTES // (b.numel() * b.element_size()))
    return torch.cat(
        [checkpoint(_count_minima, block, b, use_reentrant=False) for block in a.split(rows)]
    )


def _count_minima(a: Tensor, b: Tensor) -> Tensor:
    return torch.minimum(a[:, None], b[None]).sum(2)


def corrected(distances: Tensor, positives: Tensor) -> Tensor:
    """Return the same distances [n n] with a gradient clamped by the label: >= 0 for positives, <= 0 for negatives.

    A gradient then pulls only positives and pushes only negatives (004, eq. 10).
    """
    distances = distances.clone()
    if distances.requires_grad:
        distances.register_hook(
            lambda slope: torch.where(positives, slope.clamp_min(0), slope.clamp_max(0))
        )
    return distances
