"""Contextual similarity: how far the neighbourhoods of two examples agree (004, eq. 1-4 and appendix E)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from lab.kernels.cpu.products import repeats, tie
from lab.surrogates import Surrogate

MIN_CHUNK_BYTES = 16 << 20
"""How much the minimum, which is no matrix product, may hold at a time."""


@dataclass(frozen=True)
class Steps:
    """Which steps of the definition are taken, and how (the rows of 004, table 5).

    k: neighbours, the example itself counted first. eps: how much further than the k-th a neighbour may be.
    theta: stands in for "is at least".
    minimum: logical and is the minimum instead of the product.
    intersection: step 2, compare neighbourhoods; off leaves the neighbourhood itself.
    complement: compare what is outside the neighbourhoods too (M-).
    expansion: step 3, average over close reciprocal neighbours and symmetrise.
    stop_gradient: the sizes of the neighbourhoods carry no gradient.
    detach_expansion: nor do the sizes of the reciprocal neighbourhoods of step 3.
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
    """Those of unit rows [n d] to each other, [n n]; equal rows are equally far from everyone."""
    similarities = rows @ rows.T
    repeated = repeats(rows.detach())
    if repeated is not None:
        plain = similarities.detach()
        similarities = similarities + (tie(plain.clone(), repeated) - plain)
    return (2 - 2 * similarities).clamp_min(0)


def contextual_similarity(distances: Tensor, steps: Steps) -> Tensor:
    """w [n n] from squared distances [n n] (004, eq. 2-4). O(n^3) time as matrix products, O(n^2) memory."""
    near = _neighbours(distances, steps.k, steps)
    similarity = _agreement(near, steps) if steps.intersection else near
    return _expanded(similarity, distances, steps) if steps.expansion else similarity


def _neighbours(distances: Tensor, k: int, steps: Steps) -> Tensor:
    """Who is at most as far as the k-th nearest, give or take eps (eq. 2)."""
    diagonal = torch.eye(len(distances), dtype=torch.bool, device=distances.device)
    others = distances if steps.include_self else distances.masked_fill(diagonal, torch.inf)
    reachable = len(distances) if steps.include_self else len(distances) - 1
    if not reachable:
        return torch.zeros_like(distances)
    kth = others.detach().kthvalue(min(k, reachable), dim=1, keepdim=True).values
    near = steps.theta(kth - distances + steps.eps)
    return near if steps.include_self else near.masked_fill(diagonal, 0)


def _agreement(near: Tensor, steps: Steps) -> Tensor:
    """W1: shared neighbours and shared strangers of each pair of neighbours (eq. 3)."""
    shared = _share(near, near, steps)
    if steps.complement:
        shared = (shared + _share(1 - near, 1 - near, steps)) / 2
    return _both(shared, near, steps.minimum)


def _share(rows: Tensor, others: Tensor, steps: Steps) -> Tensor:
    """Size of the intersection over the size of the first set; zero where that is empty."""
    size = rows.sum(1, keepdim=True)
    return _ratio(_count_both(rows, others, steps.minimum), size.detach() if steps.stop_gradient else size)


def _expanded(similarity: Tensor, distances: Tensor, steps: Steps) -> Tensor:
    """Mean over the reciprocal k/2 neighbours, symmetrised (eq. 4)."""
    near = _neighbours(distances, max(1, steps.k // 2), steps)
    close = _both(near, near.T, steps.minimum)
    size = close.sum(1, keepdim=True)
    size = size.detach() if steps.detach_expansion else size
    averaged = _ratio(_count_both(close, similarity.T, steps.minimum), size)
    return (averaged + averaged.T) / 2


def _ratio(part: Tensor, whole: Tensor) -> Tensor:
    """part / whole, and zero where there is no whole."""
    return part / torch.where(whole == 0, 1, whole)


def _both(a: Tensor, b: Tensor, minimum: bool) -> Tensor:
    return torch.minimum(a, b) if minimum else a * b


def _count_both(a: Tensor, b: Tensor, minimum: bool) -> Tensor:
    """sum over p of a_ip and b_jp, [n m] from [n r] and [m r]."""
    if not minimum:
        return a @ b.T
    rows = max(1, MIN_CHUNK_BYTES // (b.numel() * b.element_size()))
    return torch.cat([checkpoint(_count_minima, some, b, use_reentrant=False) for some in a.split(rows)])


def _count_minima(a: Tensor, b: Tensor) -> Tensor:
    return torch.minimum(a[:, None], b[None]).sum(2)


def corrected(distances: Tensor, positives: Tensor) -> Tensor:
    """The same distances [n n], whose gradient is clamped by the label: >= 0 for positives, <= 0 for negatives.

    So it may pull positives and push negatives, never the reverse (004, eq. 10).
    """
    distances = distances.clone()
    if distances.requires_grad:
        distances.register_hook(lambda slope: torch.where(positives, slope.clamp_min(0), slope.clamp_max(0)))
    return distances
