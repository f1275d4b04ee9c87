"""Similarity regulariser (004, eq. 7 and table 6), for any loss.

    gamma (s~ - mean of all similarities)^2 + (1 - gamma) loss

Losses that only compare similarities allow the embeddings to crowd into a small part of the sphere; this regulariser
keeps their mean cosine near s~. The mean runs over all pairs, including the diagonal, and is computed as the product of
mean rows in O(n d).
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from lab.core.knobs import knob
from lab.kernels import Peak, unit
from lab.losses import Batch
from lab.wrappers._base import Wrapper


def mean_similarity(queries: Tensor, items: Tensor) -> Tensor:
    """Compute the mean dot product over all pairs of rows [n d] and [r d], []."""
    return queries.mean(0) @ items.mean(0)


class SimilarityRegulariser(Wrapper):
    """Any loss, with the mean cosine of the batch drawn to a fixed value (Contextual, table 6). Lower is better.

    Example:
        >>> import lab, torch
        >>> crowded, labels = torch.tensor([[1.0, 0.0], [0.99, 0.01]]), torch.tensor([0, 0])
        >>> ranking = lab.losses.create("smooth_ap")
        >>> loss = lab.wrappers.create("similarity_regulariser", loss=ranking, s_tilde=0.3, gamma=1)
        >>> round(loss(crowded, labels).item(), 2)  # (1 - 0.3)^2: every cosine is near 1
        0.49
    """

    s_tilde: float = knob(
        "Target of the mean similarity.",
        default=0.3,
        ge=-1,
        le=1,
        unit="cosine",
        source="Contextual, eq. 7",
    )
    gamma: float = knob(
        "Weight of the regulariser; the wrapped loss has the rest.",
        default=0.1,
        ge=0,
        le=1,
        source="Contextual, table 6",
    )

    @property
    def peak(self) -> Peak | None:
        """The peak of the wrapped loss; the mean rows need no memory worth counting."""
        return self.loss.peak

    def values(self, batch: Batch, **kwargs: Any) -> Tensor:
        return self._mix(batch, self.loss.values(batch, **kwargs))

    def total(self, batch: Batch, **kwargs: Any) -> Tensor:
        return self._mix(batch, self.loss.total(batch, **kwargs))

    def _mix(self, batch: Batch, loss: Tensor) -> Tensor:
        queries = batch.queries
        items = batch.items
        if not self.cosine:  # the wrapped loss does not normalise
            queries = unit(queries)
            items = unit(items)
        regulariser = (self.knobs.s_tilde - mean_similarity(queries, items)).square()
        return self.knobs.gamma * regulariser + (1 - self.knobs.gamma) * loss
