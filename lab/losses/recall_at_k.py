"""RS@k, the recall@k surrogate (000, eq. 5-7), with SiMix (000, eq. 8-10) on request.

For query q, its positives P and each k,

    above(x) = sum over items z of sigma(gap / tau2),   gap = s_qz - s_qx
    found(k) = sum over positives x of sigma((k - 1 - above(x)) / tau1)
    loss     = 1 - min(found(k), k) / min(k, |P|)

then the mean over the values of k and over queries. Dividing by min(k, |P|) and clipping at k let the loss reach zero
for k < |P|. With SiMix each pair of positives adds a virtual example that is query, positive and negative alike; its
similarities are mixed from those of its parents.

The released code keeps the query among the ranked items (every rank one higher), though not among its positives, clamps
the sigmoid's exponent to +-50, and cuts each k to the number of (original) examples.

Time O(n r d + p r) for p positive pairs, n and p counting virtual examples; no similarity matrix is kept.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from lab.core.knobs import MOST_ITEMS, knob
from lab.kernels import Peak, mixed_rank_sums, positive_pairs
from lab.losses._base import Loss, RankingKnobs
from lab.losses._batch import Batch
from lab.losses._draws import Draws, mixing_weights, positive_couples
from lab.losses._ranks import ranked
from lab.surrogates import Sigmoid

KS = (1, 2, 4, 8, 16)
SIMIX_KS = (1, 2, 4, 8, *range(12, 33, 4))
"""The paper's cut-offs k, without and with SiMix (000, section 4.2)."""


def recall_values(
    above: Tensor, owner: Tensor, queries: int, ks: tuple[int, ...], tau1: float
) -> Tensor:
    """Compute 1 - soft recall@k, averaged over `ks`, for each query, [n] (000, eq. 5-7).

    above: [p], soft number of items above each positive; owner: int64 [p], the query of each positive.
    """
    positives = torch.bincount(owner, minlength=queries)
    lengths = torch.tensor(ks, dtype=above.dtype, device=above.device)[:, None]

    # The sigmoid is cut off below 1e-24 (float32). A smaller slope, multiplied by another one, is a subnormal number,
    # and products of subnormal numbers take five times as long on an Intel Xeon. If all positives of a batch rank that
    # low, 55 tau1 ranks beyond the largest k, the gradient is zero instead of 1e-25 or less.
    numbers = torch.finfo(above.dtype)
    farthest = math.log(numbers.tiny / numbers.eps**2)
    hits = torch.sigmoid(((lengths - 1 - above) / tau1).clamp_min(farthest))
    retrieved = above.new_zeros(len(ks), queries).index_add(1, owner, hits)
    share = torch.minimum(retrieved, lengths) / torch.minimum(positives.clamp_min(1), lengths)
    return (1 - share.mean(0)).masked_fill(positives == 0, torch.nan)


class RecallAtK(RankingKnobs, Loss):
    """Recall@k surrogate (RS@k, eq. 5-7). Range [0, 1], lower is better.

    With `simix`, `per_query` returns [n+v] values, first of the originals, then of the virtual examples. Both calls
    then take `alpha`, one weight for each pair of positives in row order. Without `alpha` the weights are drawn from
    (seed, number of training calls).

    When to use: to train for recall among the first k results. A batch needs at least two images per class, and more
    images than the largest k; the paper trains with batches of about 4,000 images.

    Relations: `smooth_ap` is the same sigmoid rank, for average precision. The wrapper `simix` adds virtual examples to
    any loss; the knob `simix` here mixes their similarities instead.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> labels = torch.tensor([0, 0, 1, 1])
        >>> loss = lab.losses.create("recall_at_k", k=(1,), tau1=0.1)
        >>> loss.per_query(embeddings, labels).round(decimals=3)  # at rank 1 the sigmoid is at one half
        tensor([0.5000, 1.0000, 1.0000, 0.5000])
    """

    family = "ranking"
    temperatures = {"tau2": 0.1}
    with_self = ("released",)

    k: tuple[int, ...] | None = knob(
        "Cut-offs k; the loss is the mean over them. None: 1, 2, 4, 8, 16, or with simix 1, 2, 4, 8, 12, "
        "16, 20, 24, 28, 32.",
        default=None,
        ge=1,
        le=MOST_ITEMS,
        source="RS@k, eq. 7, section 4.2",
    )
    tau1: float = knob(
        "Temperature on ranks.", default=1.0, gt=0, scale="log", unit="ranks", source="RS@k, eq. 5"
    )
    tau2: float = knob(
        "Temperature on similarity gaps.",
        default=0.01,
        gt=0,
        scale="log",
        unit="cosine",
        source="RS@k, eq. 5",
    )
    simix: bool = knob(
        "Add a virtual example for every pair of positives.", default=False, source="RS@k, eq. 8-10"
    )
    seed: int = knob("Seed of the mixing weights.", default=0, ge=0, le=2**31 - 1)

    def __post_init__(self) -> None:
        if self.knobs.k == ():
            raise ValueError(
                "RecallAtK: k must hold at least one cut-off, got (); set for instance k=(1, 2, 4)."
            )
        self.draws: Any = Draws(self.knobs.seed) if self.knobs.simix else None

    @property
    def peak(self) -> Peak:
        return Peak(2.2, tiles=1, besides=2 << 20, mixes=self.knobs.simix)

    @property
    def ks(self) -> tuple[int, ...]:
        """The cut-offs k."""
        if self.knobs.k is not None:
            return self.knobs.k
        return SIMIX_KS if self.knobs.simix else KS

    def values(self, batch: Batch, alpha: Tensor | None = None) -> Tensor:
        knobs = self.knobs
        released = knobs.variant == "released"
        step = Sigmoid(knobs.tau2, clamp=50.0 if released else None)
        ks = self.ks
        if released:
            ks = tuple(min(k, len(batch)) for k in ks)

        if not knobs.simix:
            if alpha is not None:
                raise ValueError("RecallAtK: alpha needs simix=True.")
            positives = ranked(batch, self.ranks_itself, self_is_positive=False)
            return recall_values(positives.above(step), positives.owner, len(batch), ks, knobs.tau1)

        # With SiMix the originals are followed by their virtual examples, which rank and are ranked alike.
        couples, alpha = self._mixture(batch, alpha)
        labels = torch.cat([batch.query_labels, batch.query_labels[couples[:, 0]]])
        pairs = positive_pairs(labels, labels, exclude_self=True)
        above = mixed_rank_sums(
            batch.queries, couples, alpha, pairs, step, exclude_self=not self.ranks_itself
        )
        return recall_values(above, pairs[:, 0], len(labels), ks, knobs.tau1)

    def _mixture(self, batch: Batch, alpha: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the pairs of positives to mix, int64 [v 2], and their weights, [v]."""
        if batch.items is not batch.queries:
            raise ValueError(
                "RecallAtK: simix mixes and ranks the batch itself and takes no ref_emb; leave it out."
            )
        couples = positive_couples(batch.query_labels)
        if alpha is None:
            return couples, self.draws.uniform((len(couples),), like=batch.queries)
        return couples, mixing_weights("RecallAtK", alpha, couples, like=batch.queries)
