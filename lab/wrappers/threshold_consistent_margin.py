"""Threshold-consistent margin (TCM; Zhang et al., 2024), for any loss.

    loss  +  lambda+ mean of m+ - s over the positive pairs with s <= m+
          +  lambda- mean of s - m- over the negative pairs with s >= m-

It holds the hard pairs of every class at the same two cosines, so that one threshold serves all classes; the metric
`opis` measures that. The same idea as ROADMAP's calibration (001, eq. 7): with both weights at 1 it is that loss as its
code was released, averaged over the pairs that violate a margin, except that pairs exactly at a margin count here. The
printed calibration averages over all pairs of a query instead, so that its gradient fades as violations become few.

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
    """Any loss, with its hard pairs drawn to two cosines that all classes share (TCM). Lower is better.

    The margin part is over the batch, or over queries and references. `per_query` gives the wrapped loss's value and n
    times the query's share of the rest.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> ranking, labels = lab.losses.create("sup_ap"), torch.tensor([0, 0, 1, 1])
        >>> loss = lab.wrappers.create("threshold_consistent_margin", loss=ranking)
        >>> added = loss(embeddings, labels) - ranking(embeddings, labels)
        >>> round(added.item(), 3)  # .9 - .8 of the positives, and the mean of .6, .96 and .6 less .5 of the negatives
        0.32
    """

    margin_pos: float = knob(
        "Positives should score above this.", default=0.9, ge=-1, le=1, unit="cosine", source="TCM"
    )
    margin_neg: float = knob(
        "Negatives should score below this.", default=0.5, ge=-1, le=1, unit="cosine", source="TCM"
    )
    weight_pos: float = knob("Weight of the positive pairs, lambda+.", default=1.0, ge=0, source="TCM")
    weight_neg: float = knob("Weight of the negative pairs, lambda-.", default=1.0, ge=0, source="TCM")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.mean_of_queries = False

    @property
    def peak(self) -> Peak | None:
        """Both: what the one keeps for its gradient is there while the other is computed."""
        inner, pairs = self.loss.peak, MarginContrastive.peak
        return inner and replace(inner, rows=inner.rows + pairs.rows, tiles=inner.tiles + pairs.tiles)

    def values(self, batch: Batch, **kwargs: Any) -> Tensor:
        return self.loss.values(batch, **kwargs) + self._shares(batch)

    def total(self, batch: Batch, **kwargs: Any) -> Tensor:
        return self.loss.total(batch, **kwargs) + self._shares(batch).mean()

    def _shares(self, batch: Batch) -> Tensor:
        """n times each query's share of the margin part, [n]."""
        knobs, batch = self.knobs, batch if self.cosine else normalised(batch)
        above, below = (
            float(torch.nextafter(batch.queries.new_tensor(margin), batch.queries.new_tensor(side)))
            for margin, side in ((knobs.margin_pos, math.inf), (knobs.margin_neg, -math.inf))
        )  # so that what lies exactly at a margin counts as violating it
        similarities, excess = positive_similarities(batch, include_self=False), excess_of_negatives(batch, below)
        far, near = active_pair_parts(batch, similarities, above, include_self=False, excess=excess)
        return knobs.weight_pos * far + knobs.weight_neg * near
