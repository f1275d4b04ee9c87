"""Any loss mixed with the contrastive loss of 004 (eq. 29); appendix I.6 there tests it with each surrogate of AP.

    lambda loss + (1 - lambda) L_contrast

Ranking losses are zero as soon as the order is right; the contrastive part also keeps the scores at two thresholds that
are the same in every batch. `contextual` and `roadmap` contain such a part already. Time O(n r d) plus the loss.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import Tensor

from lab.core.knobs import knob
from lab.kernels import Peak
from lab.losses import Batch, normalised
from lab.losses.margin_contrastive import MarginContrastive, MarginKnobs, contrastive_shares
from lab.wrappers._base import Wrapper


class WithContrastive(MarginKnobs, Wrapper):
    """Any loss, with a share of the contrastive loss on cosines (Contextual, appendix I.6). Lower is better.

    The contrastive part is over the batch, or over queries and references. A memory or virtual examples inside the
    wrapped loss have no effect on it. `per_query` returns the wrapped loss's value mixed with n times the query's share
    of the contrastive part.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> ranking, labels = lab.losses.create("sup_ap"), torch.tensor([0, 0, 1, 1])
        >>> loss = lab.wrappers.create("with_contrastive", loss=ranking, lam=0)
        >>> round(loss(embeddings, labels).item(), 3)  # without the ranking loss: equals margin_contrastive
        0.46
    """

    lam: float = knob(
        "Weight of the wrapped loss; the contrastive loss has the rest.",
        default=0.5,
        ge=0,
        le=1,
        source="Contextual, appendix I.6",
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
        return self._mix(self.loss.values(batch, **kwargs), self._shares(batch))

    def total(self, batch: Batch, **kwargs: Any) -> Tensor:
        return self._mix(self.loss.total(batch, **kwargs), self._shares(batch).mean())

    def _shares(self, batch: Batch) -> Tensor:
        """Compute n times each query's share of the contrastive part, [n]."""
        if not self.cosine:
            batch = normalised(batch)
        return contrastive_shares(batch, self.knobs)

    def _mix(self, loss: Tensor, contrast: Tensor) -> Tensor:
        return self.knobs.lam * loss + (1 - self.knobs.lam) * contrast
