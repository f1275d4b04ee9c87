"""Threshold-consistent margin (TCM; Zhang et al., 2024), for any loss.

    loss  +  lambda+ mean of m+ - s over the positive pairs with s <= m+
          +  lambda- mean of s - m- over the negative pairs with s >= m-

It pulls the hard pairs of every class towards the same two cosines, so that one threshold serves all classes; the
metric `opis` measures this. The idea is that of ROADMAP's calibration (001, eq. 7): with both weights at 1 the added
part equals that loss in its released code, which averages over the pairs that violate a margin, except that pairs
exactly at a margin count here. The printed calibration averages over all pairs of a query instead, so its gradient
shrinks when violations become few.

Formula and defaults are those of "Threshold-Consistent Margin Loss for Open-World Deep Metric Learning" (ICLR 2024) as
pytorch-metric-learning 2.9 has them. Time O(n r d) beside the loss.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from lab.core.knobs import knob
from lab.kernels import Peak
from lab.losses import Batch, normalised
from lab.losses.calibration import active_pair_parts, excess_of_negatives, positive_similarities
from lab.losses.margin_contrastive import MarginContrastive
from lab.wrappers._base import Wrapper


class ThresholdConsistentMargin(Wrapper):
    """Any loss, with its hard pairs pulled towards two cosines that all classes share (TCM). Lower is better.

    The margin part is over the batch, or over queries and references. `per_query` returns the wrapped loss's value plus
    n times the query's share of the margin part.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> ranking, labels = lab.losses.create("sup_ap"), torch.tensor([0, 0, 1, 1])
        >>> loss = lab.wrappers.create("threshold_consistent_margin", loss=ranking)
        >>> added = loss(embeddings, labels) - ranking(embeddings, labels)
        >>> round(added.item(), 3)  # positives 0.9 - 0.8; negatives: mean of 0.6, 0.96 and 0.6, minus 0.5
        0.32
    """

    margin_pos: float = knob(
        "Positives should score above this.", default=0.9, ge=-1, le=1, unit="cosine", source="TCM"
    )
    margin_neg: float = knob(
        "Negatives should score below this.", default=0.5, ge=-1, le=1, unit="cosine", source="TCM"
    )
    weight_pos: float = knob(
        "Weight of the positive pairs, lambda+.", default=1.0, ge=0, source="TCM"
    )
    weight_neg: float = knob(
        "Weight of the negative pairs, lambda-.", default=1.0, ge=0, source="TCM"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.mean_of_queries = False

    @property
    def peak(self) -> Peak | None:
        """The sum of both parts: one keeps tensors for its gradient while the other is computed."""
        inner = self.loss.peak
        if inner is None:
            return None
        pairs = MarginContrastive.peak
        return replace(inner, rows=inner.rows + pairs.rows, tiles=inner.tiles + pairs.tiles)

    def values(self, batch: Batch, **kwargs: Any) -> Tensor:
        return self.loss.values(batch, **kwargs) + self._shares(batch)

    def total(self, batch: Batch, **kwargs: Any) -> Tensor:
        return self.loss.total(batch, **kwargs) + self._shares(batch).mean()

    def _shares(self, batch: Batch) -> Tensor:
        """Compute n times each query's share of the margin part, [n]."""
        knobs = self.knobs
        if not self.cosine:
            batch = normalised(batch)

        # Move the margins by the smallest possible amount, so that pairs exactly at a margin count as violating it.
        margin_pos = _next_number(knobs.margin_pos, math.inf, like=batch.queries)
        margin_neg = _next_number(knobs.margin_neg, -math.inf, like=batch.queries)

        similarities = positive_similarities(batch, include_self=False)
        excess = excess_of_negatives(batch, margin_neg)
        far, near = active_pair_parts(
            batch, similarities, margin_pos, include_self=False, excess=excess
        )
        return knobs.weight_pos * far + knobs.weight_neg * near


def _next_number(number: float, towards: float, like: Tensor) -> float:
    """Return the neighbour of a number in the type of a tensor."""
    return float(torch.nextafter(like.new_tensor(number), like.new_tensor(towards)))
