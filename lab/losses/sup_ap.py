"""SupAP (001, eq. 4 and 5): an upper bound on 1 - AP whose gradient does not vanish before the ranking is right.

For query q and its positive x,

    rank+ = 1 + number of other positives z with s_qz >= s_qx          (the hard step: no gradient)
    rank- = sum over negatives z of H-(s_qz - s_qx)                    (`lab.surrogates.HMinus`)
    loss  = 1 - mean over positives of rank+ / (rank+ + rank-)

then the mean over queries. rank+ has no gradient on purpose: it would push positives down. The queries are part of the
ranked set (M queries in Omega), so a query is its own first positive unless `include_self` is off.

The loss is an upper bound on 1 - AP. At exact ties between a positive and a negative the bound holds only if H-(0) is
1. Eq. 4 defines that point twice, as 0.5 and as 1; the released code takes 0.5, and `lift_ties` takes 1. The released
configurations set H- just after delta to 1.44, which is 0.053 below the value that would make it continuous.

Time O(n r d + p r) for p positive pairs; no similarity matrix is kept.
"""

from __future__ import annotations

from torch import Tensor

from lab.core.knobs import HasKnobs, knob
from lab.kernels import Peak
from lab.losses._base import Loss, RankingKnobs
from lab.losses._batch import Batch
from lab.losses._ranks import Ranked, ranked
from lab.surrogates import HMinus, HPlus

RELEASED_OFFSET = 1.44
"""H- just after delta in the authors' shipped configurations."""


class HMinusKnobs(HasKnobs):
    """The shape of H-, shared with ROADMAP."""

    tau: float = knob(
        "Temperature of the sigmoid part.",
        default=0.01,
        gt=0,
        scale="log",
        unit="cosine",
        source="ROADMAP, eq. 4",
    )
    rho: float = knob(
        "Slope of H- beyond delta.",
        default=100.0,
        ge=0,
        scale="log",
        unit="1 / cosine",
        source="ROADMAP, eq. 4",
    )
    delta: float = knob(
        "Gap at which the linear part begins.",
        default=0.05,
        ge=0,
        unit="cosine",
        source="ROADMAP, eq. 4",
    )
    offset: float | None = knob(
        "Value of H- just after delta; none: continuous (paper) or 1.44 (released).",
        default=None,
        source="ROADMAP, eq. 4",
    )
    start: float = knob(
        "Value that is added to H- between a gap of zero and delta.",
        default=0.5,
        ge=0,
        source="ROADMAP, eq. 4",
    )
    lift_ties: bool = knob(
        "Count a tie as 1, so that the bound also holds at ties (slower); otherwise as 0.5, as the released code does.",
        default=False,
        source="ROADMAP, eq. 4",
    )


def sup_ap_values(positives: Ranked, negatives_above: Tensor) -> Tensor:
    """Compute one value per query, [n] (001, eq. 5); negatives_above: [p], rank- of every positive."""
    rank_among_positives = 1 + positives.positives_above(HPlus()).detach()
    return positives.mean(negatives_above / (rank_among_positives + negatives_above))


class SupAP(HMinusKnobs, RankingKnobs, Loss):
    """Upper bound on 1 - AP with a robust gradient (ROADMAP, eq. 5). Range [0, 1), lower is better.

    When to use: to train for average precision with a gradient that does not vanish for badly ranked positives. A batch
    needs at least two images per class.

    Relations: replaces `smooth_ap`, whose sigmoid has no slope far from a tie. `roadmap` with lam=0 is this loss.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> labels = torch.tensor([0, 0, 1, 1])
        >>> loss = lab.losses.create("sup_ap")
        >>> loss.per_query(embeddings, labels).round(decimals=3)  # queries 1 and 2 see another class first
        tensor([0.0000, 0.4400, 0.4400, 0.0000])
    """

    family = "ranking"
    temperatures = {"tau": 0.1}
    peak = Peak(3.6, tiles=0.75, besides=2 << 20)
    with_self = ("paper", "released")

    def values(self, batch: Batch) -> Tensor:
        positives = self.ranked(batch)
        return sup_ap_values(positives, positives.negatives_above(self.step))

    def ranked(self, batch: Batch) -> Ranked:
        """Rank the positives; the query is among them unless `include_self` is False."""
        return ranked(batch, self.ranks_itself, self_is_positive=True)

    @property
    def step(self) -> HMinus:
        """The function H- with the parameters of the knobs and the variant."""
        knobs = self.knobs
        offset = knobs.offset
        if offset is None and knobs.variant == "released":
            offset = RELEASED_OFFSET
        return HMinus(knobs.tau, knobs.rho, knobs.delta, offset, knobs.start, knobs.lift_ties)
