"""Contrastive loss on cosines, summed over pairs: what cross-batch memory was published with (Wang et al., 2020).

Of each query: the sum of 1 - s over its positives, plus the sum of s over negatives with s > margin; the mean over
queries. Nothing divides by the number of pairs, so that it grows with the items ranked, as a memory of 60,000 makes it.
(The released code leaves out positives with s above 1 - 1e-5, which are the query itself and its exact copies; here the
query is left out by its position.) O(n r d) time; no similarity matrix is kept.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lab.core.knobs import knob
from lab.kernels import Peak, by_rows
from lab.losses._base import Loss
from lab.losses._batch import Batch


class MemoryContrastive(Loss):
    """Pull every positive, push every negative above `margin`. Lower is better; not negative for a margin of 0 or more.

    Wrap it in `cross_batch_memory` for XBM.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> round(lab.losses.create("memory_contrastive")(embeddings, torch.tensor([0, 0, 1, 1])).item(), 3)
        1.28
    """

    family = "pair"
    peak = Peak(2, tiles=1)

    margin: float = knob(
        "Negatives below this are left alone.", default=0.5, ge=0, le=1, unit="cosine", source="Wang et al. 2020"
    )

    def values(self, batch: Batch) -> Tensor:
        def values(similarities: Tensor, rows: slice) -> Tensor:
            positives, ranked = batch.masks(rows, include_self=False)
            pulled = ((1 - similarities) * positives).sum(1)
            pushed = (similarities * (ranked & ~positives & (similarities > self.knobs.margin))).sum(1)
            return (pulled + pushed).masked_fill(~positives.any(1), torch.nan)

        return by_rows(batch.queries, batch.items, values)
