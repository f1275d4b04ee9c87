"""SiMix (000, eq. 8-10), for any loss: add one virtual example for each pair of positives.

A virtual example v = alpha x + (1 - alpha) z, alpha ~ U(0, 1), is not normalised again and has the label of its
parents. It is a query, a positive and a negative like any other example. The wrapped loss gets n + v examples,
v = n (m - 1) / 2 for m examples per class. The knob `simix` of `recall_at_k` mixes similarities instead; this is
cheaper, and it uses the paper's list of k for SiMix. Our losses use the virtual rows as they are; the losses of
pytorch-metric-learning scale every row to unit length first.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from lab.core.knobs import knob
from lab.losses import Batch, Draws, mixed, mixing_weights, positive_couples
from lab.wrappers._base import Wrapper


class SiMix(Wrapper):
    """Any loss, over the batch and its virtual examples (RS@k, eq. 8-10).

    `per_query` returns [n+v] values, first of the originals, then of the virtual examples. Both calls take `alpha`, one
    weight for each pair of positives in row order; without it the weights are drawn from (seed, number of training
    calls).

    Example:
        >>> import lab, torch
        >>> loss = lab.wrappers.create("simix", loss=lab.losses.create("smooth_ap"))
        >>> embeddings, labels = torch.eye(4), torch.tensor([0, 0, 1, 1])
        >>> len(loss.per_query(embeddings, labels))  # four examples, and one virtual one for each pair of a class
        6
    """

    seed: int = knob("Seed of the mixing weights.", default=0, ge=0, le=2**31 - 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.takes_references = False
        self.takes_mined_pairs = False
        self.draws = Draws(self.knobs.seed)

    def values(self, batch: Batch, alpha: Tensor | None = None, **kwargs: Any) -> Tensor:
        return self.loss.values(self._mixed(batch, alpha), **kwargs)

    def total(self, batch: Batch, alpha: Tensor | None = None, **kwargs: Any) -> Tensor:
        loss = self.loss.total(self._mixed(batch, alpha), **kwargs)
        if self.training:
            self.draws.advance()
        return loss

    def _mixed(self, batch: Batch, alpha: Tensor | None) -> Batch:
        """Return the batch followed by its virtual examples."""
        if batch.items is not batch.queries or batch.mined is not None:
            raise ValueError(
                "SiMix mixes a batch with itself and takes neither ref_emb nor mined pairs; drop them."
            )
        couples = positive_couples(batch.query_labels)
        if alpha is None:
            alpha = self.draws.uniform((len(couples),), like=batch.queries)
        return mixed(batch, couples, mixing_weights("SiMix", alpha, couples, like=batch.queries))
