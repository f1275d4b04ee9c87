"""Blackbox-AP (Rolinek et al., 2020): true ranks forward, and a second ranking of perturbed scores backward.

Positives are handicapped and negatives helped by half a margin, s - margin (y - 1/2), and ranked. Forward is plain
average precision; its gradient g with respect to the ranks (divided by the number of items) becomes, for the scores,

    -(rank(s) - rank(s + lambda g)) / lambda,

the slope of a piecewise linear interpolation of the ranking: a large lambda reaches further, a small one is truer.
The rank among positives carries no gradient. The released code multiplies the margin by |N(0, 1)| noise for every pair
and adds 1e-5 to the number of positives, so a perfect ranking does not reach zero. The query is among the items and
among its own positives in both.

Equal scores are ranked in order of position. Time O(n r (d + log r)); no similarity matrix is kept, but
the released code's noise is.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lab.core.knobs import knob
from lab.kernels import Peak, by_rows
from lab.losses._base import Loss, RankingKnobs
from lab.losses._batch import Batch
from lab.losses._draws import Draws
from lab.surrogates import once_differentiable

SMOOTHING = 1e-5
"""What the released code adds to the number of positives."""


def ranks(scores: Tensor) -> Tensor:
    """Rank of each entry of each row, 1 for the highest, [n r]."""
    order = torch.argsort(scores, dim=1, descending=True, stable=True)
    places = torch.arange(1, scores.shape[1] + 1, device=scores.device, dtype=scores.dtype)
    return torch.empty_like(scores).scatter_(1, order, places.expand_as(scores))


class _BlackboxRanks(torch.autograd.Function):
    """Ranks divided by the number of items, with the interpolated gradient."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, lam: float) -> Tensor:
        normalised = ranks(scores) / scores.shape[1]
        ctx.save_for_backward(scores, normalised)
        ctx.lam = lam
        return normalised

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        scores, normalised = ctx.saved_tensors
        perturbed = ranks(scores + ctx.lam * gradient) / scores.shape[1]
        return (perturbed - normalised) / ctx.lam, None


def blackbox_ap_values(scores: Tensor, positives: Tensor, lam: float, smoothing: float) -> Tensor:
    """1 - AP with blackbox gradients, one value a query, [n].

    scores: [n r], -inf where an item is not ranked; positives: bool [n r].
    """
    rank = _BlackboxRanks.apply(scores, lam) * scores.shape[1]
    rank_among_positives = ranks(torch.where(positives, scores, -torch.inf).detach())
    count = positives.sum(1).to(scores)
    precision = torch.where(positives, rank_among_positives / rank, 0).sum(1) / (count.clamp_min(1) + smoothing)
    return (1 - precision).masked_fill(count == 0, torch.nan)


class BlackboxAP(RankingKnobs, Loss):
    """1 - AP, differentiated by interpolation (Rolinek et al., 2020). Range [0, 1), lower is better.

    variant "released": both calls take `noise`, [n r], in the place of |N(0, 1)|; without it the noise is drawn from
    (seed, number of training calls).

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> labels = torch.tensor([0, 0, 1, 1])
        >>> loss = lab.losses.create("blackbox_ap")
        >>> loss.per_query(embeddings, labels).round(decimals=3)  # queries 1 and 2 see another class first
        tensor([0.0000, 0.1670, 0.1670, 0.0000])
    """

    family = "ranking"
    exact_gradient = False
    without_chance = {"margin": 0.0}
    with_self = ("paper", "released")

    lam: float = knob(
        "Interpolation strength of the black-box gradient (lambda).",
        default=4.0,
        gt=0,
        scale="log",
        source="Rolinek et al. 2020, eq. 1",
    )
    margin: float = knob(
        "Margin by which negatives are raised over positives before ranking.",
        default=0.02,
        ge=0,
        unit="cosine",
        source="Rolinek et al. 2020, eq. 9",
    )
    seed: int = knob("Seed of the released code's noise.", default=0, ge=0, le=2**31 - 1)

    def __post_init__(self) -> None:
        self.draws = Draws(self.knobs.seed) if self.knobs.variant == "released" else None

    @property
    def peak(self) -> Peak:
        # The released code draws noise for every pair. Otherwise blocks come and go on the heap, which keeps more or
        # less of them: 1 to 3 times this was seen.
        return Peak(0.5, pairs=3) if self.knobs.variant == "released" else Peak(2, tiles=1)

    def values(self, batch: Batch, noise: Tensor | None = None) -> Tensor:
        knobs = self.knobs
        noise = self._noise(batch, noise)
        smoothing = SMOOTHING if knobs.variant == "released" else 0.0

        def values(similarities: Tensor, rows: slice) -> Tensor:
            positives, ranked = batch.masks(rows, self.ranks_itself)
            same = batch.masks(rows, True)[0].to(similarities)
            scores = similarities - knobs.margin * (same - 0.5) * (1 if noise is None else noise[rows])
            return blackbox_ap_values(scores.masked_fill(~ranked, -torch.inf), positives, knobs.lam, smoothing)

        return by_rows(batch.queries, batch.items, values)

    def _noise(self, batch: Batch, noise: Tensor | None) -> Tensor | None:
        if self.draws is None:
            if noise is not None:
                raise ValueError("BlackboxAP: noise belongs to variant='released'; the paper's margin is fixed.")
            return None
        shape = len(batch), len(batch.items)
        if noise is None:
            return self.draws.normal(shape, like=batch.queries).abs()
        if tuple(noise.shape) != shape:
            raise ValueError(f"BlackboxAP: noise must be {list(shape)}, one number a pair, got {list(noise.shape)}.")
        return noise.to(batch.queries)
