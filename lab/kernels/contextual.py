"""Contextual similarity by sparse neighbourhoods: value and exact straight-through gradient (004, eq. 1-5, appendix E).

One scan over blocks of similarities finds each row's k-th and k/2-th neighbour and lists who is near; what follows are
products of matrices with some k entries a row. With A and B the masks of the k and k/2 neighbourhoods, a = A 1,

    M = (A A' / a + (1-A)(1-A)' / (n-a)) / 2,   W = M o A,   C = B o B',   V = C W / C 1,   w = (V + V') / 2

The masks are steps whose slope backward is alpha everywhere, so the gradient of A has n x n entries. It is the sum of
a sparse matrix and of one that is constant along each row (from the strangers, 1 - A): X's gradient never
needs it whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from lab.kernels import paths
from lab.kernels.cpu.products import repeats, tie
from lab.kernels.pairs import check_embeddings, positive_pairs
from lab.kernels.plain import ranks as plain
from lab.surrogates import once_differentiable

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
        context = _scan(rows, k, max(1, k // 2), eps, margin)
        classes = torch.unique(labels, return_counts=True)[1]
        if context is None or int(classes.square().sum()) > MOST_VIOLATIONS * len(rows):
            return None
    return _Errors.apply(rows, labels, alpha, context)


def _scan(rows: Tensor, k: int, half: int, eps: float, margin: float) -> tuple[tuple[np.ndarray, ...], ...] | None:
    """Rows and items of masks A and B, and rows, items and excess of every similarity over the margin.

    None as soon as the lists grow too long.
    """
    n = len(rows)
    k, half = min(k, n), min(half, n)
    compiled = _compiled(n)
    if compiled is not None:
        context = compiled.scan(rows, k, half, eps, margin)
        return None if context is None or _too_many(context[0], context[2], n) else context
    height = max(32, BLOCK_BYTES // (n * rows.element_size()))
    parts, repeated = [], repeats(rows)
    for start in range(0, n, height):
        block = tie(rows[start : start + height] @ rows.T, repeated)
        parts.append([(row + start, *rest) for row, *rest in list_plain(block, k, half, eps, margin)])
        near, _, over = zip(*parts, strict=True)
        if _too_many(_joined(near), _joined(over), min(start + height, n)):
            return None
    return tuple(map(_joined, zip(*parts, strict=True)))


def _joined(parts: tuple[tuple[np.ndarray, ...], ...]) -> tuple[np.ndarray, ...]:
    return tuple(map(np.concatenate, zip(*parts, strict=True)))


def _too_many(near: tuple[np.ndarray, ...], over: tuple[np.ndarray, ...], rows: int) -> bool:
    return len(near[0]) > MOST_NEIGHBOURS * rows or len(over[0]) > MOST_VIOLATIONS * rows


def list_plain(block: Tensor, k: int, half: int, eps: float, margin: float) -> Iterator[tuple[np.ndarray, ...]]:
    """Rows and items of both masks, then rows, items and excess of similarities over the margin, in a block [b n]."""
    distances = (2 - 2 * block).clamp_min(0)
    for count in (k, half):
        kth = distances.kthvalue(count, dim=1, keepdim=True).values
        row, item = torch.nonzero(kth - distances + eps >= 0, as_tuple=True)
        yield row.numpy(), item.numpy()
    row, item = torch.nonzero(block > margin, as_tuple=True)
    yield row.numpy(), item.numpy(), (block[row, item] - margin).numpy()


class PlainContext:
    """Contextual similarity of one batch, its squared errors `wrong` [n], and their gradient, by scipy in float64."""

    def __init__(self, near: tuple[np.ndarray, ...], nearer: tuple[np.ndarray, ...], labels: np.ndarray):
        n = len(labels)
        self.near, self.nearer = _ones(near, n), _ones(nearer, n)
        size = self.near.sum(1)
        self.of_shared = 0.5 / _divisor(size)
        self.of_strangers = 0.5 / _divisor(n - size)
        self.shared = self.near @ self.near.T
        self.strangers = n - size, size
        self.similarity = self._times_agreement(self.near)
        close = self.nearer.multiply(self.nearer.T).tocsr()
        count = close.sum(1)
        self.close, self.of_close, self.has_close = close, 1 / _divisor(count), count > 0
        self.averaged = _scaled(close @ self.similarity, self.of_close)
        all_labels = torch.from_numpy(labels)
        alike = positive_pairs(all_labels, all_labels, exclude_self=True).numpy().T
        errors = _ones(alike, n) - (self.averaged + self.averaged.T) / 2
        errors.setdiag(0)
        self.errors, self.wrong = errors, errors.power(2).sum(1)

    def _times_agreement(self, sparse: csr_array) -> csr_array:
        """sparse o M, where M_ij = (P_ij / a_i + (n - a_i - a_j + P_ij) / (n - a_i)) / 2 has n x n entries."""
        outside, size = self.strangers
        strangers = _scaled(sparse, outside) - sparse @ _diagonal(size) + sparse.multiply(self.shared)
        return _scaled(sparse.multiply(self.shared), self.of_shared) + _scaled(strangers, self.of_strangers)

    def gradient(self, rows: Tensor, alpha: float, of_wrong: np.ndarray) -> Tensor:
        """Gradient of the rows, [n d], from that of `wrong`, [n]."""
        of_masks, of_row = self._mask_gradients(of_wrong)
        # A mask's slope in the distance is -alpha, and the distance's in the similarity -2.
        sparse = (2 * alpha * _symmetric(of_masks)).astype(rows.numpy().dtype)
        to_row = torch.from_numpy(2 * alpha * of_row).to(rows)
        return torch.from_numpy(sparse @ rows.numpy()).addr_(to_row, rows.sum(0)).add_(to_row @ rows)

    def _mask_gradients(self, of_wrong: np.ndarray) -> tuple[csr_array, np.ndarray]:
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
    def forward(ctx: Any, rows: Tensor, labels: Tensor, alpha: float, scan: tuple) -> tuple[Tensor, ...]:
        n, classes, (near, nearer, over) = len(labels), labels.numpy(), scan
        row, item, excess = (part[classes[over[0]] != classes[over[1]]] for part in over)
        compiled = _compiled(n)
        ctx.context = (PlainContext if compiled is None else compiled.CompiledContext)(near, nearer, classes)
        ctx.save_for_backward(rows)
        ctx.alpha, ctx.over = alpha, (row, item)
        outputs: tuple[Any, ...] = ctx.context.wrong, np.bincount(row, excess, n), np.bincount(row, minlength=n)
        outputs = tuple(torch.from_numpy(x).to(rows) for x in outputs)
        ctx.mark_non_differentiable(outputs[2])
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_wrong: Tensor, of_excess: Tensor, _: Tensor | None) -> tuple[Tensor | None, ...]:
        (rows,) = ctx.saved_tensors
        rows = rows.contiguous()
        gradient = ctx.context.gradient(rows, ctx.alpha, of_wrong.double().numpy())
        row, item = (torch.from_numpy(part).long() for part in ctx.over)
        of_pairs, _ = plain.pair_similarities_backward(rows, None, torch.stack([row, item], 1), of_excess[row])
        return gradient.add_(of_pairs), None, None, None


def _compiled(n: int) -> ModuleType | None:
    """The compiled loops, where they take so many rows."""
    if not paths.compiles("cpu.neighbours", n):
        return None
    from lab.kernels.cpu import neighbours as compiled

    return compiled


def _ones(places: Sequence[np.ndarray] | np.ndarray, n: int) -> csr_array:
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
