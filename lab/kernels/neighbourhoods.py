"""Contextual similarity by sparse neighbourhoods: value and exact straight-through gradient (004, eq. 1-5, appendix E).

One scan over blocks of similarities finds each row's k-th and k/2-th neighbour and lists who is near; what follows are
products of matrices with some k entries a row. With A and B the masks of the k and k/2 neighbourhoods, a = A 1,

    M = (A A' / a + (1-A)(1-A)' / (n-a)) / 2,   W = M o A,   C = B o B',   V = C W / C 1,   w = (V + V') / 2

The masks are steps whose slope backward is alpha everywhere, so the gradient of A has n x n entries. It is the sum of
a sparse matrix and of one that is constant along each row (from the strangers, 1 - A): X's gradient never
needs it whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from lab.kernels import paths
from lab.kernels._pairs import check_embeddings, positive_pairs

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BLOCK_BYTES = 4 << 20
"""Size of one block of similarities."""

MOST_NEIGHBOURS = 64
"""Mean size of a neighbourhood beyond which matrix products of whole masks are faster."""

MOST_VIOLATIONS = 256
"""Mean number of similarities over the margin a row that are listed."""


def contextual_errors(
    rows: Tensor, labels: Tensor, k: int, eps: float, alpha: float, margin: float
) -> tuple[Tensor, Tensor, Tensor] | None:
    """Squared errors of contextual against label similarity, and the excess of negatives over a margin, [n] each.

    Returns, for each row, the sum over the others of (y - w)^2 and of max(0, s - margin) over negatives, both
    differentiable (twice of neither), and how many negatives exceed the margin. None where neighbourhoods are so full
    that whole matrices are faster, as they are when embeddings have collapsed, and off the CPU.

    Args:
        rows: [n d], unit length.
        labels: int64 [n].
        k: neighbours, the row itself counted first; at least 1.
        eps: squared distance by which a neighbour may be further than the k-th.
        alpha: slope of the masks backward.
        margin: similarity.

    Time O(n^2 d) for one product, and some n k^3; memory O(n k^2).

    Raises:
        ValueError: rows are not a float matrix.
    """
    check_embeddings(rows, rows)
    if rows.device.type != "cpu":
        return None
    with torch.no_grad():
        found = _scan(rows, k, max(1, k // 2), eps, margin)
        classes = torch.unique(labels, return_counts=True)[1]
        if found is None or int(classes.square().sum()) > MOST_VIOLATIONS * len(rows):
            return None
    return _Errors.apply(rows, labels, alpha, found)


@dataclass(frozen=True)
class Scan:
    """Who is near whom: masks A and B as sparse [n n]; row, item and excess of every similarity over the margin."""

    near: csr_array
    nearer: csr_array
    over: tuple[np.ndarray, np.ndarray, np.ndarray]


def _scan(rows: Tensor, k: int, half: int, eps: float, margin: float) -> Scan | None:
    """Walk the similarities once; None as soon as the lists grow too long."""
    n = len(rows)
    listing = _listing(n)
    height = max(32, BLOCK_BYTES // (n * rows.element_size()))
    near, nearer, over = [], [], []
    for start in range(0, n, height):
        block = rows[start : start + height] @ rows.T
        parts = listing(block, min(k, n), min(half, n), eps, margin)
        so_far = min(start + height, n)
        for whole, (row, item, *rest) in zip((near, nearer, over), parts, strict=True):
            whole.append((row + start, item, *rest))
        if _count(near) > MOST_NEIGHBOURS * so_far or _count(over) > MOST_VIOLATIONS * so_far:
            return None
    near, nearer, over = (tuple(map(np.concatenate, zip(*whole, strict=True))) for whole in (near, nearer, over))
    return Scan(_ones(near, n), _ones(nearer, n), over)


def _count(parts: list[tuple[np.ndarray, ...]]) -> int:
    return sum(len(part[0]) for part in parts)


def _listing(n: int):
    """The fastest function that lists a block's neighbours."""
    if not _compiled(n):
        return list_plain
    from lab.kernels import _numba_lists

    return _numba_lists.list_block


def _compiled(n: int) -> bool:
    """Whether compiled loops take n rows; a small batch does not wait for the compiler, unless it is forced to."""
    return (n >= paths.SMALL or paths.forced()) and paths.path("cpu") == "compiled"


def list_plain(block: Tensor, k: int, half: int, eps: float, margin: float):
    """Rows and items of both masks, then rows, items and excess of similarities over the margin, in a block [b n]."""
    distances = (2 - 2 * block).clamp_min(0)
    for count in (k, half):
        kth = distances.kthvalue(count, dim=1, keepdim=True).values
        row, item = torch.nonzero(kth - distances + eps >= 0, as_tuple=True)
        yield row.numpy(), item.numpy()
    row, item = torch.nonzero(block > margin, as_tuple=True)
    yield row.numpy(), item.numpy(), (block[row, item] - margin).numpy()


class Context:
    """Contextual similarity of one batch, its errors, and their gradient, all in sparse float64."""

    def __init__(self, near: csr_array, nearer: csr_array, labels: np.ndarray):
        n = len(labels)
        self.near, self.nearer = near, nearer
        size = near.sum(1)
        self.of_shared = 0.5 / _divisor(size)
        self.of_strangers = 0.5 / _divisor(n - size)
        self.shared = near @ near.T
        self.strangers = n - size, size
        self.similarity = self._times_agreement(near)
        close = nearer.multiply(nearer.T).tocsr()
        count = close.sum(1)
        self.close, self.of_close, self.has_close = close, 1 / _divisor(count), count > 0
        self.averaged = _scaled(close @ self.similarity, self.of_close)
        alike = positive_pairs(*[torch.from_numpy(labels)] * 2, exclude_self=True).numpy().T
        errors = _ones(alike, n) - (self.averaged + self.averaged.T) / 2
        errors.setdiag(0)
        self.errors = errors

    def _times_agreement(self, sparse: csr_array) -> csr_array:
        """sparse o M, where M_ij = (P_ij / a_i + (n - a_i - a_j + P_ij) / (n - a_i)) / 2 has n x n entries."""
        outside, size = self.strangers
        strangers = _scaled(sparse, outside) - sparse @ _diagonal(size) + sparse.multiply(self.shared)
        return _scaled(sparse.multiply(self.shared), self.of_shared) + _scaled(strangers, self.of_strangers)

    def mask_gradients(self, of_wrong: np.ndarray) -> tuple[csr_array, np.ndarray]:
        """Gradient of both masks together, as a sparse [n n] and what is added to every entry of each row, [n]."""
        of_similarity = _scaled(self.errors, -2 * of_wrong)
        of_averaged = (of_similarity + of_similarity.T) / 2
        of_product = _scaled(of_averaged, self.of_close)

        # V = C W / C 1, C = B o B'. C's gradient is wanted only where B' is.
        of_count = -of_averaged.multiply(self.averaged).sum(1) * self.of_close * self.has_close
        of_close = of_product @ self.similarity.T
        turned = self.nearer.T.tocsr()
        of_nearer = turned.multiply(of_close + of_close.T) + _scaled(turned, of_count) + turned @ _diagonal(of_count)

        # W = M o A, M from P = A A' and (1 - A)(1 - A)'; the sizes of neighbourhoods carry no gradient.
        of_w = self.close.T @ of_product
        of_m = of_w.multiply(self.near)
        of_strangers = _symmetric(_scaled(of_m, self.of_strangers))
        of_both = _symmetric(_scaled(of_m, self.of_shared)) + of_strangers
        of_near = self._times_agreement(of_w.tocsr()) + of_both @ self.near
        return (of_near + of_nearer).tocsr(), -of_strangers.sum(1)


class _Errors(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows, labels, alpha, scan):
        n, labels = len(labels), labels.numpy()
        row, item, excess = (part[labels[scan.over[0]] != labels[scan.over[1]]] for part in scan.over)
        ctx.context, ctx.alpha, ctx.over = Context(scan.near, scan.nearer, labels), alpha, (row, item)
        ctx.save_for_backward(rows)
        wrong = ctx.context.errors.power(2).sum(1)
        found = wrong, np.bincount(row, excess, n), np.bincount(row, minlength=n)
        found = tuple(torch.from_numpy(x).to(rows) for x in found)
        ctx.mark_non_differentiable(found[2])
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx, of_wrong, of_excess, _):
        (rows,) = ctx.saved_tensors
        of_masks, of_row = ctx.context.mask_gradients(of_wrong.double().numpy())
        # A mask's slope in the distance is -alpha, and the distance's in the similarity -2.
        violations = _ones(ctx.over, len(rows))
        sparse = _symmetric(2 * ctx.alpha * of_masks + _scaled(violations, of_excess.double().numpy()))
        of_row = torch.from_numpy(2 * ctx.alpha * of_row).to(rows)
        gradient = _product(sparse, rows)
        gradient += torch.outer(of_row, rows.sum(0)) + (of_row @ rows)
        return gradient, None, None, None


def _product(sparse: csr_array, rows: Tensor) -> Tensor:
    """sparse [n n] times rows [n d]."""
    values = sparse.data.astype(rows.numpy().dtype)
    if not _compiled(len(rows)):
        return torch.from_numpy(type(sparse)((values, sparse.indices, sparse.indptr), sparse.shape) @ rows.numpy())
    from lab.kernels import _numba_lists

    product = torch.zeros_like(rows)
    _numba_lists.add_product(sparse.indptr, sparse.indices, values, rows.numpy(), product.numpy())
    return product


def _ones(places: tuple[np.ndarray, np.ndarray], n: int) -> csr_array:
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(places[0])), tuple(places)), shape=(n, n))


def _diagonal(values: np.ndarray) -> csr_array:
    from scipy.sparse import diags_array

    return diags_array(values)


def _scaled(matrix: csr_array, factors: np.ndarray) -> csr_array:
    """Each row times its factor."""
    return (_diagonal(factors) @ matrix).tocsr()


def _symmetric(matrix: csr_array) -> csr_array:
    return (matrix + matrix.T).tocsr()


def _divisor(size: np.ndarray) -> np.ndarray:
    """The size, and one where it is zero: nothing over nothing is nothing."""
    return np.where(size == 0, 1, size)
