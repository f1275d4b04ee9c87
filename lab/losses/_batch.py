"""What a loss is given, once it has been checked: queries, the items they are ranked against, and who is whom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from lab.kernels import positive_pairs


@dataclass(frozen=True)
class Batch:
    """One call's input.

    queries: float [n d].
    query_labels: int64 [n].
    items: [r d], what each query ranks; the very tensor `queries` when a batch is ranked among itself.
    item_labels: int64 [r].
    self_ranked: item first + i is query i itself, for every i < n. False for references that hold none of the queries.
    mined: an indices tuple of pytorch-metric-learning's miners, or None.
    first: not zero in a `part`.
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
        """bool [n r]."""
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
        """Some of the queries with all items; for what masks of all pairs say, and no kernel."""
        return replace(
            self, queries=self.queries[rows], query_labels=self.query_labels[rows], first=self.first + rows.start
        )

    def positives(self, include_self: bool = False) -> Tensor:
        """bool [n r]: items of the query's class; the query itself only on request."""
        return self.same_label if include_self else self.same_label & ~self.itself

    def masks(self, rows: slice, include_self: bool) -> tuple[Tensor, Tensor]:
        """bool [b r] for some of the queries: their positives, and with them the negatives, all that is ranked."""
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
        """[n r] dot products."""
        return self.queries @ self.items.T

    def every_pair(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """All pairs as an indices tuple of pytorch-metric-learning: anchors, positives, anchors, negatives."""
        positives, negatives = torch.nonzero(self.positives()), torch.nonzero(self.negatives)
        return positives[:, 0], positives[:, 1], negatives[:, 0], negatives[:, 1]

    def pairs(self, include_self: bool = False) -> Tensor:
        """int64 [p 2], query row and item row of every positive, without a mask of all pairs."""
        return self._pairs if include_self or not self.self_ranked else self._pairs_of_two

    @cached_property
    def _pairs(self) -> Tensor:
        """The same, each query that is an item paired with itself, too."""
        return positive_pairs(self.query_labels, self.item_labels, exclude_self=False)

    @cached_property
    def _pairs_of_two(self) -> Tensor:
        """The same without those of an item with itself."""
        return self._pairs[self._pairs[:, 0] != self._pairs[:, 1]]

    @cached_property
    def has_positives(self) -> bool:
        """Whether any query has a positive other than itself."""
        return len(self.pairs()) > 0

    @property
    def sides(self) -> tuple[Tensor, Tensor]:
        """Queries and items as the kernels take them; as many rows on both sides where each query is an item."""
        if self.self_ranked and self.items is not self.queries:
            return torch.cat([self.queries, self.items[len(self) :]]), self.items
        return self.queries, self.items


def admit(
    owner: str, embeddings: Tensor, labels: Tensor, ref_emb: Tensor | None = None, ref_labels: Tensor | None = None
) -> Batch:
    """Check one call's input and put it in working precision: float64 stays, anything shorter becomes float32.

    `owner` names the loss in messages. References that are the embeddings themselves are the batch.

    Raises:
        ValueError: wrong type, shape or count, labels that are not whole numbers, or a value that is not finite (names
            the first bad row).
    """
    queries, query_labels = _rows(owner, "embeddings", embeddings, "labels", labels)
    if ref_emb is None and ref_labels is not None:
        raise ValueError(f"{owner}: ref_labels came without ref_emb; give both or neither.")
    if ref_emb is None:
        return Batch(queries, query_labels, queries, query_labels, self_ranked=True)
    if ref_emb is embeddings:
        if ref_labels is not None and not (
            isinstance(ref_labels, Tensor) and torch.equal(ref_labels.to(labels), labels)
        ):
            raise ValueError(f"{owner}: ref_emb is embeddings itself, so ref_labels must equal labels.")
        return Batch(queries, query_labels, queries, query_labels, self_ranked=True)
    if ref_labels is None:
        raise ValueError(f"{owner}: ref_emb needs ref_labels, one whole number a row.")
    items, item_labels = _rows(owner, "ref_emb", ref_emb, "ref_labels", ref_labels)
    if items.shape[1] != queries.shape[1]:
        raise ValueError(
            f"{owner}: ref_emb must be as wide as embeddings, got {items.shape[1]} and {queries.shape[1]} columns."
        )
    kind = torch.promote_types(queries.dtype, items.dtype)
    # A tensor of its own, even where both sides were given one: pytorch-metric-learning takes labels that are the very
    # same tensor for one set of examples, and would leave out each query's own place.
    item_labels = item_labels.to(queries.device, copy=True)
    return Batch(queries.to(kind), query_labels, items.to(queries.device, kind), item_labels, self_ranked=False)


def check_mined(owner: str, mined: Sequence[Tensor], queries: int, items: int) -> None:
    """Refuse an indices tuple that is no pairs and no triplets of so many queries and items.

    Raises:
        ValueError: says what is wrong with it.
    """
    ends = {3: (queries, items, items), 4: (queries, items, queries, items)}.get(len(mined), ())
    if not ends or any(not isinstance(one, Tensor) or _not_whole(one) for one in mined):
        raise ValueError(
            f"{owner}: an indices tuple holds tensors of whole numbers, three for triplets (anchors, positives, "
            "negatives) or four for pairs (anchors, positives, anchors, negatives); got "
            f"{', '.join(map(_kind, mined)) or 'none'}."
        )
    for one, end in zip(mined, ends, strict=True):
        if one.numel() and not 0 <= int(one.min()) <= int(one.max()) < end:
            raise ValueError(
                f"{owner}: the indices tuple names rows {int(one.min())} to {int(one.max())} of a batch of {end}."
            )


def _rows(owner: str, name: str, rows: Tensor, labels_name: str, labels: Tensor) -> tuple[Tensor, Tensor]:
    if not isinstance(rows, Tensor) or not rows.is_floating_point() or rows.ndim != 2:
        raise ValueError(f"{owner}: {name} must be a float tensor [n d], got {_kind(rows)}.")
    if not isinstance(labels, Tensor) or _not_whole(labels) or labels.ndim != 1:
        raise ValueError(
            f"{owner}: {labels_name} must be a tensor [n] of whole numbers, one a row, got {_kind(labels)}."
        )
    if len(labels) != len(rows):
        raise ValueError(f"{owner}: {name} and {labels_name} must pair up, got {len(rows)} rows and {len(labels)}.")
    if rows.is_meta or labels.is_meta:
        raise ValueError(f"{owner}: tensors on the device 'meta' hold no numbers to compute with; give real ones.")
    # One sum tells that all is finite; where it is not, or overflowed, every row is looked at.
    if not math.isfinite(float(rows.detach().sum())) and not (finite := torch.isfinite(rows).all(1)).all():
        bad = torch.nonzero(~finite).flatten()
        what = "NaN" if torch.isnan(rows[bad[0]]).any() else "an infinite value"
        raise ValueError(
            f"{owner}: row {int(bad[0])} of {name} holds {what} (first of {len(bad)} bad rows among {len(rows)}); "
            f"look for a learning rate that is too high, or an overflow in half precision."
        )
    working = rows if rows.dtype == torch.float64 else rows.float()
    return working, labels.to(rows.device, torch.int64)


def _not_whole(labels: Tensor) -> bool:
    return labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool


def _kind(value: object) -> str:
    return f"{value.dtype} {list(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
