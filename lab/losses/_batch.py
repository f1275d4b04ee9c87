"""The validated input of a loss: queries, the items that they rank, and the labels of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn

import torch
from torch import Tensor

from lab.kernels import positive_pairs
from lab.kernels.cpu.products import repeats


@dataclass(frozen=True)
class Batch:
    """The input of one call of a loss.

    queries: float [n d].
    query_labels: int64 [n].
    items: [r d], the items that each query ranks; the same tensor object as `queries` if a batch ranks itself.
    item_labels: int64 [r].
    self_ranked: item first + i is query i itself, for every i < n. False for references that hold no query.
    mined: an indices tuple of pytorch-metric-learning's miners, or None.
    first: index of the first query among the items; not zero in a `part`.
    """

    queries: Tensor
    query_labels: Tensor
    items: Tensor
    item_labels: Tensor
    self_ranked: bool
    mined: tuple[Tensor, ...] | None = None
    first: int = 0

    def __len__(self) -> int:
        return len(self.queries)

    @cached_property
    def same_label(self) -> Tensor:
        """bool [n r]: query and item have the same label."""
        return self.query_labels[:, None] == self.item_labels[None, :]

    @cached_property
    def itself(self) -> Tensor:
        """bool [n r]: the item is the query."""
        itself = torch.zeros_like(self.same_label)
        if self.self_ranked:
            rows = torch.arange(len(self), device=itself.device)
            itself[rows, self.first + rows] = True
        return itself

    def part(self, rows: slice) -> Batch:
        """Return a batch of some of the queries with all items; its masks are right, but kernels do not accept it."""
        return replace(
            self,
            queries=self.queries[rows],
            query_labels=self.query_labels[rows],
            first=self.first + rows.start,
        )

    def positives(self, include_self: bool = False) -> Tensor:
        """bool [n r]: items of the query's class, without the query itself unless `include_self` is set."""
        return self.same_label if include_self else self.same_label & ~self.itself

    def masks(self, rows: slice, include_self: bool) -> tuple[Tensor, Tensor]:
        """Return two masks, bool [b r], for some of the queries: their positives, and all items that they rank."""
        same = self.query_labels[rows, None] == self.item_labels
        positives = same.clone()
        if self.self_ranked and not include_self:
            positives[:, rows].fill_diagonal_(False)
        return positives, positives | ~same

    @property
    def negatives(self) -> Tensor:
        """bool [n r]: items of other classes."""
        return ~self.same_label

    @cached_property
    def similarities(self) -> Tensor:
        """Dot products of queries and items, [n r]."""
        return self.queries @ self.items.T

    def every_pair(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return all pairs as an indices tuple of pytorch-metric-learning: anchors, positives, anchors, negatives."""
        positive_anchors, positives = torch.nonzero(self.positives(), as_tuple=True)
        negative_anchors, negatives = torch.nonzero(self.negatives, as_tuple=True)
        return positive_anchors, positives, negative_anchors, negatives

    def pairs(self, include_self: bool = False) -> Tensor:
        """int64 [p 2]: query row and item row of every positive pair, computed without an [n r] mask."""
        if include_self or not self.self_ranked:
            return self._pairs_with_self
        return self._pairs_without_self

    @cached_property
    def _pairs_with_self(self) -> Tensor:
        """int64 [p 2]: all positive pairs, among them each query with itself if it is an item."""
        return positive_pairs(self.query_labels, self.item_labels, exclude_self=False)

    @cached_property
    def _pairs_without_self(self) -> Tensor:
        """int64 [p 2]: all positive pairs of two different rows."""
        pairs = self._pairs_with_self
        return pairs[pairs[:, 0] != pairs[:, 1]]

    @cached_property
    def has_positives(self) -> bool:
        """Whether any query has a positive other than itself."""
        return len(self.pairs()) > 0

    @cached_property
    def query_squares(self) -> Tensor:
        """Squared lengths of unit queries, [n]: 1, or 0 for a row of zeros."""
        return (self.queries != 0).any(1).to(self.queries)

    @cached_property
    def item_squares(self) -> Tensor:
        """Squared lengths of unit items, [r]: 1, or 0 for a row of zeros."""
        return (self.items != 0).any(1).to(self.items)

    def equal_rows(self, rows: slice) -> Tensor | None:
        """bool [b r] for some of the queries: the item is exactly equal to the query. None if no two rows are equal."""
        if self._kinds is None:
            return None
        query_kinds, item_kinds = self._kinds
        return query_kinds[rows, None] == item_kinds

    @cached_property
    def _kinds(self) -> tuple[Tensor, Tensor] | None:
        """A number for each query and each item, the same for equal rows; None if no two rows are equal."""
        itself = self.items is self.queries
        rows = self.queries if itself else torch.cat([self.queries, self.items])
        repeated = repeats(rows.detach())
        if repeated is None:
            return None
        later, first = repeated
        kinds = torch.arange(len(rows), device=rows.device)
        kinds[later] = first
        return (kinds, kinds) if itself else (kinds[: len(self)], kinds[len(self) :])

    @property
    def sides(self) -> tuple[Tensor, Tensor]:
        """Queries and items as the kernels take them: with equally many rows if every query is an item."""
        if self.self_ranked and self.items is not self.queries:
            return torch.cat([self.queries, self.items[len(self) :]]), self.items
        return self.queries, self.items


def admit(
    owner: str,
    embeddings: Tensor,
    labels: Tensor,
    ref_emb: Tensor | None = None,
    ref_labels: Tensor | None = None,
) -> Batch:
    """Validate the input of one call and convert it to working precision: float64 stays, shorter types become float32.

    `owner` names the loss in messages. If `ref_emb` is the same tensor object as `embeddings`, the batch ranks itself.

    Raises:
        ValueError: a type, shape or count is wrong, labels are not whole numbers, or a value is not finite (the message
            names the first bad row).
    """
    queries, query_labels = _rows(owner, "embeddings", embeddings, "labels", labels)
    if ref_emb is None and ref_labels is not None:
        raise ValueError(f"{owner}: ref_labels came without ref_emb; pass both or neither.")
    if ref_emb is embeddings and ref_labels is not None:
        equal = isinstance(ref_labels, Tensor) and torch.equal(ref_labels.to(labels), labels)
        if not equal:
            raise ValueError(
                f"{owner}: ref_emb is embeddings itself, so ref_labels must equal labels."
            )
    if ref_emb is None or ref_emb is embeddings:
        return Batch(queries, query_labels, queries, query_labels, self_ranked=True)

    if ref_labels is None:
        raise ValueError(f"{owner}: ref_emb needs ref_labels, one whole number a row.")
    items, item_labels = _rows(owner, "ref_emb", ref_emb, "ref_labels", ref_labels)
    if items.shape[1] != queries.shape[1]:
        raise ValueError(
            f"{owner}: ref_emb must be as wide as embeddings, got {items.shape[1]} and {queries.shape[1]} columns."
        )
    precision = torch.promote_types(queries.dtype, items.dtype)
    # The labels are copied because pytorch-metric-learning compares tensor objects: if queries and references shared
    # one label tensor, it would take them for the same examples and leave out the pair (i, i) of each query.
    item_labels = item_labels.to(queries.device, copy=True)
    items = items.to(queries.device, precision)
    return Batch(queries.to(precision), query_labels, items, item_labels, self_ranked=False)


def check_mined(owner: str, mined: Sequence[Tensor], queries: int, items: int) -> None:
    """Validate the indices tuple of a miner for a number of queries and items.

    Raises:
        ValueError: the tuple does not hold pairs or triplets of whole numbers, or names a row that does not exist.
    """
    row_counts = {3: (queries, items, items), 4: (queries, items, queries, items)}.get(
        len(mined), ()
    )
    if not row_counts or any(
        not isinstance(indices, Tensor) or _not_whole(indices) for indices in mined
    ):
        raise ValueError(
            f"{owner}: an indices tuple holds tensors of whole numbers, three for triplets (anchors, positives, "
            "negatives) or four for pairs (anchors, positives, anchors, negatives); got "
            f"{', '.join(map(_describe, mined)) or 'none'}."
        )
    for indices, row_count in zip(mined, row_counts, strict=True):
        if not indices.numel():
            continue
        low = int(indices.min())
        high = int(indices.max())
        if low < 0 or high >= row_count:
            raise ValueError(
                f"{owner}: the indices tuple names rows {low} to {high} of a batch of {row_count}."
            )


def _rows(
    owner: str, name: str, rows: Tensor, labels_name: str, labels: Tensor
) -> tuple[Tensor, Tensor]:
    """Validate embeddings and their labels; return them in working precision and as int64."""
    if not isinstance(rows, Tensor) or not rows.is_floating_point() or rows.ndim != 2:
        raise ValueError(f"{owner}: {name} must be a float tensor [n d], got {_describe(rows)}.")
    if not isinstance(labels, Tensor) or _not_whole(labels) or labels.ndim != 1:
        raise ValueError(
            f"{owner}: {labels_name} must be a tensor [n] of whole numbers, one a row, got {_describe(labels)}."
        )
    if len(labels) != len(rows):
        raise ValueError(
            f"{owner}: {name} and {labels_name} must pair up, got {len(rows)} rows and {len(labels)}."
        )
    if rows.is_meta or labels.is_meta:
        raise ValueError(
            f"{owner}: tensors on the device 'meta' hold no numbers to compute with; pass tensors on a real device."
        )

    # A finite sum shows that all entries are finite. Otherwise an entry is not finite, or the sum overflowed.
    if not math.isfinite(float(rows.detach().sum())):
        bad = torch.nonzero(~torch.isfinite(rows).all(1)).flatten()
        if len(bad):
            _refuse_bad_rows(owner, name, rows, bad)

    working = rows if rows.dtype == torch.float64 else rows.float()
    return working, labels.to(rows.device, torch.int64)


def _refuse_bad_rows(owner: str, name: str, rows: Tensor, bad: Tensor) -> NoReturn:
    """Raise ValueError that names the first of the rows with a value that is not finite; bad: int64 [b]."""
    value = "NaN" if torch.isnan(rows[bad[0]]).any() else "an infinite value"
    raise ValueError(
        f"{owner}: row {int(bad[0])} of {name} holds {value} (first of {len(bad)} bad rows among {len(rows)}); "
        "look for a learning rate that is too high, or an overflow in half precision."
    )


def _not_whole(labels: Tensor) -> bool:
    return labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool


def _describe(value: object) -> str:
    """Describe a value in a message: type and shape of a tensor, the class of anything else."""
    if isinstance(value, Tensor):
        return f"{value.dtype} {list(value.shape)}"
    return type(value).__name__


def references(batch: Batch) -> tuple[Tensor | None, Tensor | None]:
    """Return the items and their labels as pytorch-metric-learning expects them: None if the batch ranks itself."""
    if batch.items is batch.queries:
        return None, None
    return batch.items, batch.item_labels
