"""Contextual similarity by sparse neighbourhoods: value and exact straight-through gradient (004, eq. 1-5, appendix E).

One scan over blocks of similarities finds each row's k-th and k/2-th neighbour and lists the near items. The rest are
products of matrices with about k entries per row. With A and B the masks of the k and k/2 neighbourhoods, a = A 1,

    M = (A A' / a + (1-A)(1-A)' / (n-a)) / 2,   W = M o A,   C = B o B',   V = C W / C 1,   w = (V + V') / 2

In backward a mask has the slope alpha everywhere, so the gradient of A has n x n entries. It is the sum of a sparse
matrix and of a matrix that is constant along each row (from the strangers, 1 - A), so it is never stored as a whole.
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
"""Mean size of a neighbourhood above which products of whole matrices are faster."""

MOST_VIOLATIONS = 256
"""Largest mean number of similarities over the margin that are listed per row."""


def contextual_errors(
    rows: Tensor, labels: Tensor, k: int, eps: float, alpha: float, margin: float
) -> tuple[Tensor, Tensor, Tensor] | None:
    """Compute squared errors of contextual against label similarity, and the negatives' excess over a margin, [n] each.

    Returns for each row the sum over the others of (y - w)^2, the sum of max(0, s - margin) over negatives, and the
    number of negatives over the margin. The sums can be differentiated once. Returns None on other devices than the
    CPU, and if neighbourhoods are so large that whole matrices are faster, as in collapsed embeddings.

    Args:
        rows: [n d], unit length.
        labels: int64 [n].
        k: number of neighbours, counting the row itself; at least 1.
        eps: squared distance by which a neighbour may be further away than the k-th.
        alpha: slope of the masks in backward.
        margin: similarity.

    Time O(n^2 d) for one product, and about n k^3; memory O(n k^2).

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


def _scan(
    rows: Tensor, k: int, half: int, eps: float, margin: float
) -> tuple[tuple[np.ndarray, ...], ...] | None:
    """List rows and items of the masks A and B, and rows, items and excess of every similarity over the margin.

    Returns None as soon as the lists are too long.
    """
    n = len(rows)
    k = min(k, n)
    half = min(half, n)
    compiled = _compiled(n)
    if compiled is not None:
        lists = compiled.scan(rows, k, half, eps, margin)
        if lists is None or _too_many(len(lists[0][0]), len(lists[2][0]), n):
            return None
        return lists

    height = max(32, BLOCK_BYTES // (n * rows.element_size()))
    repeated = repeats(rows)
    blocks = []
    near_count = 0
    over_count = 0
    for start in range(0, n, height):
        block = tie(rows[start : start + height] @ rows.T, repeated)
        near, nearer, over = list_plain(block, k, half, eps, margin)
        blocks.append([(row + start, *columns) for row, *columns in (near, nearer, over)])
        near_count += len(near[0])
        over_count += len(over[0])
        if _too_many(near_count, over_count, min(start + height, n)):
            return None
    return tuple(_joined(parts) for parts in zip(*blocks, strict=True))


def _joined(parts: tuple[tuple[np.ndarray, ...], ...]) -> tuple[np.ndarray, ...]:
    """Concatenate the columns of the lists of all blocks."""
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _too_many(neighbours: int, violations: int, rows: int) -> bool:
    """Whether the lists of some rows are longer than their limits."""
    return neighbours > MOST_NEIGHBOURS * rows or violations > MOST_VIOLATIONS * rows


def list_plain(
    block: Tensor, k: int, half: int, eps: float, margin: float
) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield rows and items of both masks, then rows, items and excess of similarities over the margin, of [b n]."""
    distances = (2 - 2 * block).clamp_min(0)
    for count in (k, half):
        kth = distances.kthvalue(count, dim=1, keepdim=True).values
        row, item = torch.nonzero(kth - distances + eps >= 0, as_tuple=True)
        yield row.numpy(), item.numpy()
    row, item = torch.nonzero(block > margin, as_tuple=True)
    yield row.numpy(), item.numpy(), (block[row, item] - margin).numpy()


class PlainContext:
    """Contextual similarity of one batch, its squared errors `wrong` [n], and their gradient, by scipy in float64."""

    def __init__(
        self, near: tuple[np.ndarray, ...], nearer: tuple[np.ndarray, ...], labels: np.ndarray
    ):
        n = len(labels)
        self.near = _ones(near, n)
        self.nearer = _ones(nearer, n)
        self.size = self.near.sum(1)
        self.of_shared = 0.5 / _divisor(self.size)
        self.of_strangers = 0.5 / _divisor(n - self.size)
        self.shared = self.near @ self.near.T
        self.similarity = self._times_agreement(self.near)

        # V: the mean over close reciprocal neighbours.
        self.close = self.nearer.multiply(self.nearer.T).tocsr()
        count = self.close.sum(1)
        self.of_close = 1 / _divisor(count)
        self.has_close = count > 0
        self.averaged = _scaled(self.close @ self.similarity, self.of_close)

        # The errors of w = (V + V') / 2 against equality of labels.
        all_labels = torch.from_numpy(labels)
        same_label = positive_pairs(all_labels, all_labels, exclude_self=True).numpy().T
        self.errors = _ones(same_label, n) - (self.averaged + self.averaged.T) / 2
        self.errors.setdiag(0)
        self.wrong = self.errors.power(2).sum(1)

    def _times_agreement(self, sparse: csr_array) -> csr_array:
        """Compute sparse o M; M_ij = (P_ij / a_i + (n - a_i - a_j + P_ij) / (n - a_i)) / 2 would have n x n entries."""
        outside = sparse.shape[0] - self.size
        strangers = (
            _scaled(sparse, outside) - sparse @ _diagonal(self.size) + sparse.multiply(self.shared)
        )
        return _scaled(sparse.multiply(self.shared), self.of_shared) + _scaled(
            strangers, self.of_strangers
        )

    def gradient(self, rows: Tensor, alpha: float, of_wrong: np.ndarray) -> Tensor:
        """Compute the gradient of the rows, [n d], from the gradient of `wrong`, [n]."""
        of_masks, of_row = self._mask_gradients(of_wrong)
        # A mask's slope in the distance is -alpha, and the distance's in the similarity -2.
        sparse = (2 * alpha * _symmetric(of_masks)).astype(rows.numpy().dtype)
        to_row = torch.from_numpy(2 * alpha * of_row).to(rows)
        return (
            torch.from_numpy(sparse @ rows.numpy()).addr_(to_row, rows.sum(0)).add_(to_row @ rows)
        )

    def _mask_gradients(self, of_wrong: np.ndarray) -> tuple[csr_array, np.ndarray]:
        """Compute the gradient of both masks: a sparse [n n], and a number for all entries of each row, [n]."""
        of_similarity = _scaled(self.errors, -2 * of_wrong)
        of_averaged = (of_similarity + of_similarity.T) / 2
        of_product = _scaled(of_averaged, self.of_close)

        # V = C W / C 1, C = B o B'. The gradient of C is needed only where B' is not zero.
        of_count = -of_averaged.multiply(self.averaged).sum(1) * self.of_close * self.has_close
        of_close = of_product @ self.similarity.T
        transposed = self.nearer.T.tocsr()
        of_nearer = transposed.multiply(of_close + of_close.T)
        of_nearer = of_nearer + _scaled(transposed, of_count) + transposed @ _diagonal(of_count)

        # W = M o A, with M from P = A A' and (1 - A)(1 - A)'; the sizes of neighbourhoods carry no gradient.
        of_w = self.close.T @ of_product
        of_m = of_w.multiply(self.near)
        of_strangers = _symmetric(_scaled(of_m, self.of_strangers))
        of_both = _symmetric(_scaled(of_m, self.of_shared)) + of_strangers
        of_near = self._times_agreement(of_w.tocsr()) + of_both @ self.near
        return (of_near + of_nearer).tocsr(), -of_strangers.sum(1)


class _Errors(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, labels: Tensor, alpha: float, scan: tuple
    ) -> tuple[Tensor, ...]:
        n = len(labels)
        classes = labels.numpy()
        near, nearer, over = scan
        compiled = _compiled(n)
        context_class = PlainContext if compiled is None else compiled.CompiledContext
        ctx.context = context_class(near, nearer, classes)

        # Of the similarities over the margin, only those of negatives count.
        row, item, excess = over
        negative = classes[row] != classes[item]
        row = row[negative]
        item = item[negative]
        excess = excess[negative]

        ctx.save_for_backward(rows)
        ctx.alpha = alpha
        ctx.over = (row, item)
        wrong = torch.from_numpy(ctx.context.wrong).to(rows)
        total = torch.from_numpy(np.bincount(row, excess, n)).to(rows)
        violations = torch.from_numpy(np.bincount(row, minlength=n)).to(rows)
        ctx.mark_non_differentiable(violations)
        return wrong, total, violations

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, of_wrong: Tensor, of_excess: Tensor, _: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        (rows,) = ctx.saved_tensors
        rows = rows.contiguous()
        gradient = ctx.context.gradient(rows, ctx.alpha, of_wrong.double().numpy())
        row, item = (torch.from_numpy(part).long() for part in ctx.over)
        of_pairs, _ = plain.pair_similarities_backward(
            rows, None, torch.stack([row, item], 1), of_excess[row]
        )
        return gradient.add_(of_pairs), None, None, None


def _compiled(n: int) -> ModuleType | None:
    """Return the module of compiled loops, or None if they are not used for this number of rows."""
    if not paths.compiles("cpu.neighbours", n):
        return None
    from lab.kernels.cpu import neighbours as compiled

    return compiled


def _ones(entries: Sequence[np.ndarray] | np.ndarray, n: int) -> csr_array:
    """Return a sparse [n n] of ones at these rows and columns."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(entries[0])), tuple(entries)), shape=(n, n))


def _diagonal(values: np.ndarray) -> csr_array:
    """Return a sparse diagonal matrix."""
    from scipy.sparse import diags_array

    return diags_array(values)


def _scaled(matrix: csr_array, factors: np.ndarray) -> csr_array:
    """Multiply each row by its factor."""
    return (_diagonal(factors) @ matrix).tocsr()


def _symmetric(matrix: csr_array) -> csr_array:
    """Return the sum of a matrix and its transpose."""
    return (matrix + matrix.T).tocsr()


def _divisor(size: np.ndarray) -> np.ndarray:
    """Return the sizes, with 1 in place of 0, so that 0 / 0 becomes 0."""
    return np.where(size == 0, 1, size)
