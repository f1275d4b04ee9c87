"""Contrastive loss on the signal-to-noise distance (Yuan et al., 2019).

The distance of a query x to z is var(x - z) / var(x), over the entries of the unit rows; a row of equal numbers has no
signal to divide by and is refused. Averages as the contrastive loss does. O(n r d) time; no
matrix of distances is kept.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lab.core.knobs import knob
from lab.kernels import Peak
from lab.losses._batch import Batch
from lab.losses._pairs import PairLoss, Pairs
from lab.losses.contrastive import contrastive_terms


class SignalToNoiseRatioContrastive(PairLoss):
    """Contrastive loss on noise over signal. Not negative, lower is better.

    When to use: to compare the signal-to-noise distance with the Euclidean one. A batch needs at least two images per
    class.

    Relations: `contrastive` on another distance, which is not symmetric.

    Example:
        >>> import lab, torch
        >>> loss = lab.losses.create("signal_to_noise_ratio_contrastive", neg_margin=0.5)
        >>> round(loss(torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]), torch.tensor([0, 0, 1])).item(), 3)
        8.32
    """

    family = "pair"
    peak = Peak(9, tiles=1.4)
    takes_zero_rows = False
    learns_from_negatives = True

    pos_margin: float = knob(
        "Positives closer than this are left alone.", default=0.0, ge=0, unit="variance ratio"
    )
    neg_margin: float = knob(
        "Negatives farther than this are left alone.", default=1.0, ge=0, unit="variance ratio"
    )

    def sides(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return rows whose product is a distance minus 1: (energy of the item - 2 product) / energy of the query."""
        queries = batch.queries - batch.queries.mean(1, keepdim=True)
        items = batch.items - batch.items.mean(1, keepdim=True)
        query_energy = queries.square().sum(1, keepdim=True)
        item_energy = items.square().sum(1, keepdim=True)
        left = torch.cat([-2 * queries / query_energy, 1 / query_energy], 1)
        return left, torch.cat([items, item_energy], 1)

    def terms(self, similarities: Tensor, pairs: Pairs) -> tuple[Tensor, Tensor]:
        tiny = torch.finfo(similarities.dtype).tiny
        # those of different rows are not zero, however they are rounded
        apart = (1 + similarities).clamp_min(tiny)
        equal = pairs.batch.equal_rows(pairs.rows)
        if equal is not None:
            apart = apart.masked_fill(equal, 0)
        return contrastive_terms(apart, pairs, self.knobs.pos_margin, self.knobs.neg_margin)

    def _admit(self, *args: Any) -> Batch:
        batch = super()._admit(*args)
        flat = (batch.queries == batch.queries[:, :1]).all(1)
        if flat.any():
            row = int(torch.nonzero(flat)[0])
            raise ValueError(
                f"SignalToNoiseRatioContrastive: row {row} of embeddings holds {batch.queries.shape[1]} equal numbers, "
                "so its signal is zero and there is no distance from it; look for a dead last layer."
            )
        return batch
