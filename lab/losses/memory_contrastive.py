"""Contrastive loss on cosines, summed over pairs, with which cross-batch memory was published (Wang et al., 2020).

For each query, the sum of 1 - s over its positives plus the sum of s over negatives with s > margin; then the mean over
queries. The sums are not divided by the number of pairs, so the loss grows with the number of items, for instance with
the size of a memory. (The released code drops positives with s above 1 - 1e-5, which are the query and its exact
copies; here the query is left out by its index.) O(n r d) time; no similarity matrix is kept.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from lab.core.knobs import knob
from lab.kernels import Peak, by_rows, mean_of_rows
from lab.losses._base import Loss
from lab.losses._batch import Batch


class MemoryContrastive(Loss):
    """Pull every positive, push every negative above `margin`. Lower is better; not negative for a margin of 0 or more.

    Wrap it in `cross_batch_memory` for XBM.

    When to use: inside the wrapper `cross_batch_memory`; this pair is the method XBM. A batch needs at least two images
    per class, or a memory that holds others.

    Relations: `margin_contrastive` averages over the violating pairs instead of summing over all.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> round(lab.losses.create("memory_contrastive")(embeddings, torch.tensor([0, 0, 1, 1])).item(), 3)
        1.28
    """

    family = "pair"
    peak = Peak(2, tiles=1)

    margin: float = knob(
        "Negatives below this are left alone.",
        default=0.5,
        ge=0,
        le=1,
        unit="cosine",
        source="Wang et al. 2020",
    )

    def total(self, batch: Batch) -> Tensor:
        return mean_of_rows(batch.queries, batch.items, self._of_rows(batch))

    def values(self, batch: Batch) -> Tensor:
        return by_rows(batch.queries, batch.items, self._of_rows(batch))

    def _of_rows(self, batch: Batch) -> Callable[[Tensor, slice], Tensor]:
        """Return the function of similarities and rows that the kernels call."""

        def values_of_rows(similarities: Tensor, rows: slice) -> Tensor:
            positives, ranked = batch.masks(rows, include_self=False)
            hard_negatives = ranked & ~positives & (similarities > self.knobs.margin)
            pull = ((1 - similarities) * positives).sum(1)
            push = (similarities * hard_negatives).sum(1)
            return (pull + push).masked_fill(~positives.any(1), torch.nan)

        return values_of_rows
