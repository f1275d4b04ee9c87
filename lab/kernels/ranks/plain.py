"""The tiled kernels in plain tensors: every device, every surrogate, both precisions. Other paths are held to it.

A block is a few whole rows of the similarity matrix, so a positive's similarity and those it is compared with come
from one product, in which equal embeddings tie exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from lab.kernels import sharing
from lab.kernels.products import add_product, product, repeats, tie
from lab.kernels.ranks.layout import block_bytes

if TYPE_CHECKING:
    from lab.kernels.ranks.layout import Mixture
    from lab.surrogates import Surrogate

BLOCK_BYTES = 4 << 20
"""Size of one block of similarities; the surrogate then works on a quarter of it at a time, which stays in cache."""

MIN_ROWS = 32
"""Fewer rows than this would spend a block's time on reading the items."""

ROW_WORK = 16
"""Positives whose comparisons take about as long as a row's products."""


class Products:
    """Similarities of queries to items, block by block, and the gradients that flow back through them."""

    def __init__(self, queries: Tensor, items: Tensor):
        self.queries, self.items, self.anchor = queries, items, queries
        self.height, self.columns = len(queries), len(items)
        self.repeated = repeats(items)

    def position(self) -> Tensor:
        """Where each query row comes in the loop, [q]."""
        return torch.arange(len(self.queries), device=self.queries.device)

    def rows(self, chosen: Tensor) -> Tensor:
        """Similarities of the chosen query rows, [b r]."""
        return tie(product(self.queries[chosen], self.items), self.repeated)

    def start(self) -> None:
        """Make room for the gradients."""
        self.query_grad = torch.zeros_like(self.queries)
        self.item_grad = self.query_grad if self.items is self.queries else torch.zeros_like(self.items)

    def accumulate(self, chosen: Tensor, gradient: Tensor) -> None:
        """Add the gradients of one block from that of its similarities, [b r]."""
        self.query_grad.index_add_(0, chosen, product(gradient, self.items.T))
        add_product(self.item_grad, gradient.T, self.queries[chosen])

    def gradients(self) -> tuple[Tensor, Tensor | None]:
        """Gradients of queries and items; one only when they are the same tensor."""
        return self.query_grad, None if self.items is self.queries else self.item_grad


class MixedProducts:
    """Similarities among originals and virtual rows, all mixed from products of originals."""

    def __init__(self, originals: Tensor, mixture: Mixture):
        n, v = len(originals), len(mixture.parents)
        self.originals, self.mixture, self.anchor = originals, mixture, originals
        self.height = self.columns = n + v
        originals_index = torch.arange(n, device=originals.device)
        self.first = torch.cat([originals_index, mixture.parents[:, 0]])
        self.second = torch.cat([originals_index, mixture.parents[:, 1]])
        self.alpha = torch.cat([originals.new_ones(n), mixture.alpha])[:, None]

    def position(self) -> Tensor:
        """Virtual rows follow their first parent, so that a block needs few originals."""
        order = torch.argsort(self.first, stable=True)
        return torch.empty_like(order).index_copy_(0, order, torch.arange(len(order), device=order.device))

    def _parents(self, chosen: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        needed, slot = torch.unique(torch.cat([self.first[chosen], self.second[chosen]]), return_inverse=True)
        return needed, slot[: len(chosen)], slot[len(chosen) :], self.alpha[chosen]

    def rows(self, chosen: Tensor) -> Tensor:
        needed, first, second, alpha = self._parents(chosen)
        among_originals = product(self.originals[needed], self.originals)
        mixed = torch.lerp(among_originals[second], among_originals[first], alpha)
        x, z = self.mixture.parents.unbind(1)
        return torch.cat([mixed, torch.lerp(mixed[:, z], mixed[:, x], self.mixture.alpha)], 1)

    def start(self) -> None:
        self.grad = torch.zeros_like(self.originals)

    def accumulate(self, chosen: Tensor, gradient: Tensor) -> None:
        n, (x, z) = len(self.originals), self.mixture.parents.unbind(1)
        of_mixed, of_virtual = gradient[:, :n].clone(), gradient[:, n:]
        of_mixed.index_add_(1, x, of_virtual * self.mixture.alpha)
        of_mixed.index_add_(1, z, of_virtual * (1 - self.mixture.alpha))
        needed, first, second, alpha = self._parents(chosen)
        of_originals = gradient.new_zeros(len(needed), n)
        of_originals.index_add_(0, first, of_mixed * alpha)
        of_originals.index_add_(0, second, of_mixed * (1 - alpha))
        self.grad.index_add_(0, needed, product(of_originals, self.originals.T))
        add_product(self.grad, of_originals.T, self.originals[needed])

    def gradients(self) -> tuple[Tensor, None]:
        return self.grad, None


def products(queries: Tensor, items: Tensor | None, mixture: Mixture | None) -> Products | MixedProducts:
    """The similarities to loop over; `items` None means the queries themselves."""
    if mixture is not None:
        return MixedProducts(queries, mixture)
    return Products(queries, queries if items is None else items)


class PlainTileLoop:
    """One batch ranked against some items, or among itself: `forward`, then `backward` as often as wanted."""

    def __init__(
        self,
        queries: Tensor,
        items: Tensor | None,
        mixture: Mixture | None,
        positives: Tensor,
        step: Surrogate | None,
        exclude_self: bool,
        against: bool,
        margin: float | None,
    ):
        self.given, self.positives = (queries, items, mixture), positives
        self.rest, self.share = (step, exclude_self, against, margin), sharing.current()

    def forward(self, keep: bool) -> tuple[Tensor, Tensor, Tensor]:
        """Rank sums [p], excess [q] and violations [q]. Nothing is kept, whether or not a backward will follow."""
        parts = forward(products(*self.given), self.positives, *self.rest, share=self.share)
        sums, excess, violations = self.share.sum(*parts)
        return sums, excess, violations

    def backward(self, weights: Tensor, excess_weights: Tensor) -> tuple[Tensor, Tensor | None]:
        """Gradients of queries and items from those of the sums, [p], and of the excess, [q]."""
        return backward(
            products(*self.given),
            self.positives,
            *self.rest,
            weights=weights,
            excess_weights=excess_weights,
            share=self.share,
        )


def forward(
    source: Products | MixedProducts,
    positives: Tensor,
    step: Surrogate | None,
    exclude_self: bool,
    against: bool,
    margin: float | None,
    share: sharing.Share = sharing.ALONE,
) -> tuple[Tensor, Tensor, Tensor]:
    """Sums of `lab.kernels.rank_sums`, [p], or with `against` of `negative_rank_sums`; excess and violations, [q].

    What is not in this process's share is left at zero.
    """
    sums = source.anchor.new_zeros(len(positives))
    excess, violations = source.anchor.new_zeros(2, source.height)
    for chosen, pairs, local, item in _blocks(source, positives, margin is not None, share):
        similarities = source.rows(chosen)
        itself = chosen if exclude_self else None
        if step is not None:
            for part in _parts(len(pairs), similarities):
                value = step.value(_gaps(similarities, local[part], item[part]))
                _leave_out(value, local[part], item[part], itself, local, item, against)
                sums[pairs[part]] = value.sum(1)
        if margin is not None:
            over = _unranked_as_zero((similarities - margin).clamp_min_(0), itself, local, item, against)
            excess[chosen] = over.sum(1)
            violations[chosen] = (over > 0).sum(1).to(over)
    return sums, excess, violations


def backward(
    source: Products | MixedProducts,
    positives: Tensor,
    step: Surrogate | None,
    exclude_self: bool,
    against: bool,
    margin: float | None,
    weights: Tensor,
    excess_weights: Tensor,
    share: sharing.Share = sharing.ALONE,
) -> tuple[Tensor, Tensor | None]:
    """Gradients of queries and items from those of the sums, [p], and of the excess, [q]."""
    source.start()
    for chosen, pairs, local, item in _blocks(source, positives, margin is not None, share):
        similarities = source.rows(chosen)
        itself = chosen if exclude_self else None
        gradient = torch.zeros_like(similarities)
        if margin is not None:
            gradient = (similarities > margin) * excess_weights[chosen, None]
            gradient = _unranked_as_zero(gradient, itself, local, item, against)
        if step is not None:
            for part in _parts(len(pairs), similarities):
                slope = step.derivative(_gaps(similarities, local[part], item[part]))
                _leave_out(slope, local[part], item[part], itself, local, item, against)
                slope *= weights[pairs[part], None]
                slope[torch.arange(len(slope), device=slope.device), item[part]] = -slope.sum(1)
                gradient.index_add_(0, local[part], slope)
        source.accumulate(chosen, gradient)
    return source.gradients()


def _blocks(
    source: Products | MixedProducts, positives: Tensor, every_row: bool, share: sharing.Share
) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Query rows of each block of a share, which pairs are theirs, and each pair's row in the block and item.

    Rows without pairs are left out unless asked for.
    """
    position = source.position()
    order = torch.argsort(position[positives[:, 0]], stable=True)
    counts = torch.bincount(positives[:, 0], minlength=source.height)
    rows = torch.argsort(position)
    rows = rows if every_row else rows[counts[rows] > 0]
    counts = counts[rows]
    owner = torch.repeat_interleave(torch.arange(len(rows), device=rows.device), counts)
    ends = [0, *counts.cumsum(0).tolist()]
    height = max(MIN_ROWS, block_bytes(source.anchor, BLOCK_BYTES) // (source.columns * source.anchor.element_size()))
    mine = share.rows(counts + ROW_WORK)
    for start in range(mine.start, mine.stop, height):
        stop = min(start + height, mine.stop)
        those = slice(ends[start], ends[stop])
        yield rows[start:stop], order[those], owner[those] - start, positives[order[those], 1]


def _parts(pairs: int, similarities: Tensor) -> Iterator[slice]:
    """Slices of pairs, each small enough for its [pairs r] gaps to stay in cache."""
    width = max(1, block_bytes(similarities, BLOCK_BYTES) // 4 // (similarities.shape[1] * similarities.element_size()))
    return (slice(start, start + width) for start in range(0, pairs, width))


def _gaps(similarities: Tensor, local: Tensor, item: Tensor) -> Tensor:
    return similarities[local].sub_(similarities[local, item][:, None])


def _unranked_as_zero(matrix: Tensor, itself: Tensor | None, local: Tensor, item: Tensor, against: bool) -> Tensor:
    """The matrix, [b r], with zeros where an item is not ranked: a query `itself`, [b], and `against` its positives."""
    if itself is not None:
        matrix[torch.arange(len(matrix), device=matrix.device), itself] = 0
    if against:
        matrix[local, item] = 0
    return matrix


def _leave_out(
    matrix: Tensor, query: Tensor, positive: Tensor, itself: Tensor | None, local: Tensor, item: Tensor, against: bool
) -> None:
    """The same of a matrix with a row for each of some pairs, [c r], in place; nor is a positive ranked against itself.

    query, positive: [c], those pairs. local, item: all pairs of the block, by query.
    """
    line = torch.arange(len(matrix), device=matrix.device)
    matrix[line, positive] = 0
    if itself is not None:
        matrix[line, itself[query]] = 0
    if against:
        first = torch.searchsorted(local, query)
        count = torch.searchsorted(local, query, right=True) - first
        owner = torch.repeat_interleave(line, count)
        nth = torch.arange(len(owner), device=matrix.device) - (count.cumsum(0) - count)[owner]
        matrix[owner, item[first[owner] + nth]] = 0


def pair_similarities(queries: Tensor, items: Tensor | None, pairs: Tensor) -> Tensor:
    """Dot product of each pair, [p]; `items` None means the queries themselves."""
    items = queries if items is None else items
    products, chunk = queries.new_empty(len(pairs)), _pairs_a_chunk(queries)
    for start in range(0, len(pairs), chunk):
        a, b = pairs[start : start + chunk].unbind(1)
        products[start : start + chunk] = (queries[a] * items[b]).sum(1)
    return products


def pair_similarities_backward(
    queries: Tensor, items: Tensor | None, pairs: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor | None]:
    """Gradients of queries and items from the gradient [p] of the pairs' similarities."""
    same, items = items is None, queries if items is None else items
    query_grad = torch.zeros_like(queries)
    item_grad = query_grad if same else torch.zeros_like(items)
    chunk = _pairs_a_chunk(queries)
    for start in range(0, len(pairs), chunk):
        (a, b), weight = pairs[start : start + chunk].unbind(1), weights[start : start + chunk, None]
        query_grad.index_add_(0, a, weight * items[b])
        item_grad.index_add_(0, b, weight * queries[a])
    return query_grad, None if same else item_grad


def _pairs_a_chunk(embeddings: Tensor) -> int:
    return max(1, block_bytes(embeddings, BLOCK_BYTES) // 4 // (embeddings.shape[1] * embeddings.element_size()))


def positive_sums(similarities: Tensor, ordered: Tensor, step: Surrogate, exclude_self: bool) -> Tensor:
    """Sums of `lab.kernels.positive_rank_sums`, [p], for pairs ordered by query."""
    sums = torch.empty_like(similarities)
    for part, others, valid in _groups(ordered, exclude_self):
        value = step.value(similarities[others] - similarities[part, None])
        sums[part] = torch.where(valid, value, 0).sum(1)
    return sums


def positive_sums_backward(
    similarities: Tensor, ordered: Tensor, step: Surrogate, exclude_self: bool, weights: Tensor
) -> Tensor:
    """Gradient [p] of the pairs' similarities from the gradient [p] of the sums."""
    grad = torch.zeros_like(similarities)
    for part, others, valid in _groups(ordered, exclude_self):
        slope = step.derivative(similarities[others] - similarities[part, None]) * weights[part, None]
        slope = torch.where(valid, slope, 0)
        grad.index_add_(0, others.flatten(), slope.flatten())
        grad[part] -= slope.sum(1)
    return grad


def _groups(ordered: Tensor, exclude_self: bool) -> Iterator[tuple[slice, Tensor, Tensor]]:
    """Slices of pairs, with the pairs of the same query [c P] and which of those are ranked against each."""
    if not len(ordered):
        return
    _, owner, counts = torch.unique_consecutive(ordered[:, 0], return_inverse=True, return_counts=True)
    size, start = counts[owner], (counts.cumsum(0) - counts)[owner]
    width = max(1, block_bytes(ordered, BLOCK_BYTES) // 4 // (8 * int(counts.max())))
    for first in range(0, len(ordered), width):
        part = slice(first, min(first + width, len(ordered)))
        slot = torch.arange(int(size[part].max()), device=ordered.device)
        inside = slot < size[part, None]
        others = torch.where(inside, start[part, None] + slot, start[part, None])
        this = torch.arange(part.start, part.stop, device=ordered.device)
        valid = inside & (others != this[:, None])
        if exclude_self:
            valid &= (ordered[:, 0] != ordered[:, 1])[others]
        yield part, others, valid
