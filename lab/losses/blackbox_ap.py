"""Blackbox-AP (Rolinek et al., 2020): true ranks in forward, and a second ranking of perturbed scores in backward.

The scores of positives are lowered and those of negatives raised by half a margin, s - margin (y - 1/2), then ranked.
Forward is plain average precision. From its gradient g with respect to the ranks (divided by the number of items),
backward computes the gradient with respect to the scores,

    -(rank(s) - rank(s + lambda g)) / lambda,

which is the slope of a piecewise linear interpolation of the ranking. A large lambda gives a gradient to scores that
are further apart; a small one follows the ranking more closely. The rank among positives carries no gradient. The
released code multiplies the margin by |N(0, 1)| noise for every pair and adds 1e-5 to the number of positives, so a
perfect ranking does not reach zero. In both variants the query is among the items and among its own positives.

Equal scores are ranked in order of their index. Time O(n r (d + p)) for p positives a query, at most log r; no
similarity matrix is kept, except the noise of the released code.
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
from lab.losses._pairs import slots
from lab.surrogates import once_differentiable

SMOOTHING = 1e-5
"""The released code adds this to the number of positives."""

FEW = 32
"""Positives a query up to which comparing each with all items is quicker than sorting the items."""


def ranks(scores: Tensor) -> Tensor:
    """Compute the rank of each entry within its row, 1 for the highest, [n r]."""
    order = torch.argsort(scores, dim=1, descending=True, stable=True)
    ascending = torch.arange(1, scores.shape[1] + 1, device=scores.device, dtype=scores.dtype)
    return torch.empty_like(scores).scatter_(1, order, ascending.expand_as(scores))


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


class _RanksOfFew(torch.autograd.Function):
    """`_BlackboxRanks` of a few items a query, [b k], by comparing them with all others instead of sorting.

    Only these items move in backward, so an item's rank changes by the number of them that pass it.
    """

    @staticmethod
    def forward(ctx: Any, scores: Tensor, items: Tensor, there: Tensor, lam: float) -> Tensor:
        values = scores.gather(1, items)
        counts = []
        for value, item in zip(values.unbind(1), items.unbind(1), strict=True):
            below = _above(value, item, scores).sum(1)
            counts.append(scores.shape[1] - below)
        ctx.save_for_backward(scores, items, there)
        ctx.lam = lam
        return torch.stack(counts, 1).to(scores) / scores.shape[1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        scores, items, there = ctx.saved_tensors
        before = scores.gather(1, items)
        after = before + ctx.lam * gradient
        row, slot = there.nonzero(as_tuple=True)
        places = row, items[row, slot]
        moved = scores.index_put(places, after[row, slot])
        stays = torch.ones_like(scores, dtype=torch.bool).index_put(
            places, torch.zeros_like(row, dtype=torch.bool)
        )
        change = torch.zeros_like(scores)
        for number in range(items.shape[1]):
            item = items[:, number]
            passed = _above(after[:, number], item, moved).to(scores) - _above(
                before[:, number], item, scores
            ).to(scores)
            passed *= there[:, number, None]
            change += passed
            change.scatter_add_(1, item[:, None], -(passed * stays).sum(1, keepdim=True))
        return change / (scores.shape[1] * ctx.lam), None, None, None


def _above(value: Tensor, item: Tensor, scores: Tensor) -> Tensor:
    """bool [b r]: an item of each row, with a value [b], is ranked before the others; equal ones in order of index."""
    before = value[:, None] > scores
    equal = value[:, None] == scores
    if int(torch.count_nonzero(equal)) > len(scores):
        columns = torch.arange(scores.shape[1], device=scores.device)
        before |= equal & (item[:, None] < columns)
    return before


def blackbox_ap_values(scores: Tensor, positives: Tensor, lam: float, smoothing: float) -> Tensor:
    """Compute 1 - AP with blackbox gradients for each query, [n].

    scores: [n r], -inf where an item is not ranked; positives: bool [n r].
    """
    count = positives.sum(1).to(scores)
    if int(count.max()) <= FEW:
        query, item = positives.nonzero(as_tuple=True)
        found = list(slots(query, item, len(scores)))
        if not found:
            return torch.full_like(count, torch.nan)
        items, there = (torch.stack(column, 1) for column in zip(*found, strict=True))
        rank = _RanksOfFew.apply(scores, items, there, lam) * scores.shape[1]
        own = scores.detach().gather(1, items).masked_fill(~there, -torch.inf)
        # the items of a query are in order of their index, as `ranks` wants ties
        rank_among_positives = ranks(own)
        hits = there
    else:
        rank = _BlackboxRanks.apply(scores, lam) * scores.shape[1]
        rank_among_positives = ranks(torch.where(positives, scores, -torch.inf).detach())
        hits = positives
    precision = torch.where(hits, rank_among_positives / rank, 0).sum(1) / (
        count.clamp_min(1) + smoothing
    )
    return (1 - precision).masked_fill(count == 0, torch.nan)


class BlackboxAP(RankingKnobs, Loss):
    """1 - AP, differentiated by interpolation (Rolinek et al., 2020). Range [0, 1), lower is better.

    In the variant "released" both calls take `noise`, [n r], instead of |N(0, 1)|. Without it the noise is drawn from
    (seed, number of training calls).

    When to use: to compare a smooth surrogate of AP with the true AP and an interpolated gradient. A batch needs at
    least two images per class.

    Relations: with a margin of 0 its value is 1 minus the true AP of the batch, which `smooth_ap` and `sup_ap`
    approximate.

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
        if self.knobs.variant == "released":
            return Peak(0.5, pairs=3)  # noise for every pair
        # measured: 1 to 3 times this, depending on how many freed blocks the heap keeps
        return Peak(2, tiles=1)

    def values(self, batch: Batch, noise: Tensor | None = None) -> Tensor:
        knobs = self.knobs
        noise = self._noise(batch, noise)
        smoothing = SMOOTHING if knobs.variant == "released" else 0.0

        def values_of_rows(similarities: Tensor, rows: slice) -> Tensor:
            positives, ranked = batch.masks(rows, self.ranks_itself)
            same = batch.masks(rows, True)[0].to(similarities)
            noise_of_rows = 1 if noise is None else noise[rows]
            scores = similarities - knobs.margin * (same - 0.5) * noise_of_rows
            return blackbox_ap_values(
                scores.masked_fill(~ranked, -torch.inf), positives, knobs.lam, smoothing
            )

        return by_rows(batch.queries, batch.items, values_of_rows)

    def _noise(self, batch: Batch, noise: Tensor | None) -> Tensor | None:
        """Return the noise of every pair, [n r]: as passed or drawn; None in the paper's variant."""
        if self.draws is None:
            if noise is not None:
                raise ValueError(
                    "BlackboxAP: noise belongs to variant='released'; the paper's margin is fixed."
                )
            return None
        shape = len(batch), len(batch.items)
        if noise is None:
            return self.draws.normal(shape, like=batch.queries).abs()
        if tuple(noise.shape) != shape:
            raise ValueError(
                f"BlackboxAP: noise must be {list(shape)}, one number a pair, got {list(noise.shape)}."
            )
        return noise.to(batch.queries)
