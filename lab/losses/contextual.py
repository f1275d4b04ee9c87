"""Contextual loss (004, eq. 1-7): make two examples share their neighbourhoods exactly when they share their label.

    L_context   mean over all pairs of (y - w)^2, the diagonal left out of the sum but not of n^2      (eq. 5)
    L_contrast  contrastive loss averaged over the pairs that violate delta+ or delta-                 (eq. 29)
    L_reg       (s~ - mean of all similarities)^2                                                      (eq. 7)
    loss        lambda L_context + (1 - lambda) L_contrast + gamma L_reg                               (eq. 6)

w is the contextual similarity (`lab.kernels.plain.neighbours`): the neighbours of an example lie within eps of its
k-th; w is the share of neighbours, and of examples outside both neighbourhoods, that a pair has in common, averaged
over close reciprocal neighbours. theta, the comparison "at least", is a step with the constant slope alpha in backward.
k is the number of examples per class in the batch.

The released code for 256-pixel images weights the contrastive part 1 - lambda - gamma ("released"); that for 224-pixel
images swaps the roles of lambda ("released_224"). If a neighbourhood covers the whole batch, nothing is outside and the
released code returns NaN; ours counts zero shared examples outside.

With `ref_emb`, neighbourhoods are taken among queries and references together, and the loss is over their pairs.
On the CPU, as long as neighbourhoods are small, sparse products take O(n^2 d) time and O(n k^2) memory. On other
devices, or with a switch of table 5 changed, matrix products take O(n^3) time and O(n^2) memory.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from lab.core.knobs import MOST_ITEMS, knob
from lab.kernels import Peak, contextual_errors
from lab.kernels.memory import require_whole_matrices
from lab.kernels.plain.neighbours import Steps, contextual_similarity, corrected, squared_distances
from lab.losses._base import Loss, RankingKnobs
from lab.losses._batch import Batch
from lab.losses._ranks import Excess
from lab.losses.calibration import active_pair_values, excess_of_negatives, positive_similarities
from lab.surrogates import ConstantGradient, LinearTail, Sigmoid, Surrogate


class Contextual(RankingKnobs, Loss):
    """Contextual similarity against label similarity (Contextual, eq. 6). Not negative, lower is better.

    The loss is a mean over pairs, so `per_query` returns n times each query's share. If every query has a positive,
    the mean of `per_query` is the loss; a query without a positive gets NaN.

    The defaults lam 0.4, eps 0.05 and gamma 0.1 are appendix G's, for 256 pixels; its s_tilde is 0.25. The default 0.3
    is section 5's, for 224 pixels, where eps and lam (best at 0.8 to 0.9) are tuned for each data set.

    When to use: labels are noisy or training images are few (section 4.4 of the paper). A batch needs at least two
    images per class, best the same number of each, because k is the class size.

    Relations: in the variant "paper", lam=0 and gamma=0 leave `margin_contrastive` with the same two thresholds. The
    wrapper `similarity_regulariser` adds the regulariser to any loss, and `with_contrastive` the contrastive part.

    Example:
        >>> import lab, torch
        >>> embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])
        >>> loss = lab.losses.create("contextual")
        >>> right, wrong = loss(embeddings, torch.tensor([0, 0, 1, 1])), loss(embeddings, torch.tensor([0, 1, 0, 1]))
        >>> bool(right < wrong)  # neighbours of one label cost less
        True
    """

    family = "pair"
    compares_items = True
    exact_gradient = False
    mean_of_queries = False
    learns_from_negatives = True
    with_self = ("paper", "released", "released_224")

    variant: Literal["paper", "released", "released_224"] = knob(  # type: ignore[assignment]  # one more
        "How the three parts are weighted: as in eq. 6, or as in the released code for 256 or for 224 pixels.",
        default="paper",
    )
    include_self: bool | None = knob(
        "Whether an example counts as the first of its own k neighbours; none: yes, as in every variant.",
        default=None,
    )
    k: int | None = knob(
        "Number of neighbours, the example itself included; none: the mean class size in the batch.",
        default=None,
        ge=1,
        le=MOST_ITEMS,
    )
    eps: float = knob(
        "Slack (epsilon) by which a neighbourhood is enlarged.",
        default=0.05,
        ge=0,
        le=4,
        unit="squared distance",
        source="Contextual, eq. 2",
    )
    alpha: float = knob(
        "Slope of theta in the backward pass.",
        default=10.0,
        gt=0,
        scale="log",
        source="Contextual, eq. 20",
    )
    delta_pos: float = knob(
        "Positives should score above this.",
        default=0.75,
        ge=-1,
        le=1,
        unit="cosine",
        source="Contextual, eq. 29",
    )
    delta_neg: float = knob(
        "Negatives should score below this.",
        default=0.6,
        ge=-1,
        le=1,
        unit="cosine",
        source="Contextual, eq. 29",
    )
    s_tilde: float = knob(
        "Target of the mean similarity.",
        default=0.3,
        ge=-1,
        le=1,
        unit="cosine",
        source="Contextual, eq. 7",
    )
    lam: float = knob(
        "Weight of the contextual part.", default=0.4, ge=0, le=1, source="Contextual, eq. 6"
    )
    gamma: float = knob(
        "Weight of the similarity regulariser.", default=0.1, ge=0, le=1, source="Contextual, eq. 6"
    )
    theta: Literal["step", "sigmoid", "upper_bound"] = knob(
        "Surrogate of the step in the comparison of distances.",
        default="step",
        source="Contextual, eq. 20, 21; appendix E.2",
    )
    tau: float = knob(
        "Temperature of the sigmoid and the upper bound.",
        default=0.01,
        gt=0,
        scale="log",
        unit="squared distance",
        source="Contextual, eq. 21",
    )
    conjunction: Literal["product", "min"] = knob(
        "Surrogate of the logical 'and'.", default="product", source="Contextual, table 5, row 5"
    )
    intersection: bool = knob(
        "Compare neighbourhoods by their intersection (step 2).",
        default=True,
        source="Contextual, table 5, row 4",
    )
    complement: bool = knob(
        "Also compare the complements of the neighbourhoods (M-).",
        default=True,
        source="Contextual, table 5, row 7",
    )
    expansion: bool = knob(
        "Average over close reciprocal neighbours (query expansion, step 3).",
        default=True,
        source="Contextual, table 5, row 3",
    )
    stop_gradient: bool = knob(
        "Pass no gradient through the sizes of neighbourhoods.",
        default=True,
        source="Contextual, table 5, row 8",
    )
    detach_expansion: bool = knob(
        "Pass no gradient through the sizes of the reciprocal neighbourhoods (step 3) either.",
        default=False,
        source="Contextual, appendix H.6, figure 17",
    )
    correct_gradient: bool = knob(
        "Drop gradients that push positives or pull negatives.",
        default=False,
        source="Contextual, eq. 10",
    )

    def values(self, batch: Batch) -> Tensor:
        return self._shares(batch).masked_fill(~batch.positives().any(1), torch.nan)

    def total(self, batch: Batch) -> Tensor:
        return self._shares(batch).mean()

    def _shares(self, batch: Batch) -> Tensor:
        """Compute each query's share of the loss, times the number of queries, [n]."""
        knobs = self.knobs
        context, contrast, regulariser = self.parts(batch)
        if knobs.variant == "paper":
            return knobs.lam * context + (1 - knobs.lam) * contrast + knobs.gamma * regulariser
        if knobs.variant == "released":
            return (
                knobs.lam * context
                + (1 - knobs.lam - knobs.gamma) * contrast
                + knobs.gamma * regulariser
            )
        return knobs.lam * contrast + (1 - knobs.lam) * context + knobs.gamma * regulariser

    def parts(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Compute L_context and L_contrast as shares whose mean is the part, [n] each, and L_reg, []."""
        knobs = self.knobs
        mean_query = batch.queries.mean(0)
        mean_item = mean_query if batch.items is batch.queries else batch.items.mean(0)
        mean_similarity = mean_query @ mean_item  # the mean over all pairs of rows

        similarities = positive_similarities(batch, include_self=False)
        sparse = self._sparse_errors(batch)
        if sparse is not None:
            errors, excess = sparse
        else:
            errors = self._dense_errors(batch)
            excess = excess_of_negatives(batch, knobs.delta_neg)
        contrast = active_pair_values(
            batch, similarities, knobs.delta_pos, include_self=False, excess=excess
        )
        return errors / len(batch.items), contrast, (knobs.s_tilde - mean_similarity).square()

    @property
    def peak(self) -> Peak | None:
        return Peak(4.4, tiles=0.5, besides=2 << 20) if self._as_published else None

    @property
    def _as_published(self) -> bool:
        """Whether all switches of table 5 have their defaults, for which sparse neighbourhoods suffice."""
        knobs = self.knobs
        all_steps = knobs.intersection and knobs.complement and knobs.expansion
        all_gradients = (
            knobs.stop_gradient and not knobs.detach_expansion and not knobs.correct_gradient
        )
        step_surrogates = knobs.theta == "step" and knobs.conjunction == "product"
        return all_steps and all_gradients and step_surrogates and self.ranks_itself

    def _sparse_errors(self, batch: Batch) -> tuple[Tensor, Excess] | None:
        """Compute the squared errors [n] and the negatives' excess from sparse neighbourhoods; None if not possible."""
        knobs = self.knobs
        if not (self._as_published and batch.items is batch.queries):
            return None
        labels = batch.query_labels
        sums = contextual_errors(
            batch.queries, labels, self._k(labels), knobs.eps, knobs.alpha, knobs.delta_neg
        )
        if sums is None:  # no kernel for this device, or neighbourhoods that are too large
            return None
        errors, total, violations = sums
        return errors, Excess(total, violations)

    def _dense_errors(self, batch: Batch) -> Tensor:
        """Compute the squared errors of each query's contextual similarities, [n], by whole matrices."""
        contextual = self._similarity(batch)
        errors = (batch.same_label.to(contextual) - contextual).square()
        return errors.masked_fill(batch.itself, 0).sum(1)

    def _similarity(self, batch: Batch) -> Tensor:
        """Compute w of each query and item, [n r]; neighbourhoods are taken among queries and items together."""
        n = len(batch)
        ranked = len(batch.items) + (0 if batch.self_ranked else n)
        require_whole_matrices(ranked, batch.queries.element_size(), str(batch.queries.device))

        # All examples: the queries, then the items that are no queries.
        rows = batch.queries
        labels = batch.query_labels
        if batch.items is not batch.queries:
            added = slice(n if batch.self_ranked else 0, None)
            rows = torch.cat([rows, batch.items[added]])
            labels = torch.cat([labels, batch.item_labels[added]])

        distances = squared_distances(rows)
        if self.knobs.correct_gradient:
            distances = corrected(distances, labels[:, None] == labels[None, :])
        among_all = contextual_similarity(distances, self._steps(labels))
        return among_all[:n] if batch.self_ranked else among_all[:n, n:]

    def _steps(self, labels: Tensor) -> Steps:
        """Collect the switches of the contextual similarity for a batch with these labels."""
        knobs = self.knobs
        steps: dict[str, Surrogate] = {
            "step": ConstantGradient(knobs.alpha),
            "sigmoid": Sigmoid(knobs.tau),
            "upper_bound": LinearTail(knobs.tau),
        }
        return Steps(
            k=self._k(labels),
            eps=knobs.eps,
            theta=steps[knobs.theta],
            minimum=knobs.conjunction == "min",
            intersection=knobs.intersection,
            complement=knobs.complement,
            expansion=knobs.expansion,
            stop_gradient=knobs.stop_gradient,
            detach_expansion=knobs.detach_expansion,
            include_self=self.ranks_itself,
        )

    def _k(self, labels: Tensor) -> int:
        """Return the size of a neighbourhood: the knob k, or the mean class size of these labels."""
        if self.knobs.k is not None:
            return self.knobs.k
        return max(1, round(len(labels) / len(labels.unique())))
