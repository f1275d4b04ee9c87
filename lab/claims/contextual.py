"""004 (the contextual loss): its parts, weights and knobs, wrong labels, few classes, large batches; its regulariser on
other losses, and its re-ranking."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import lab.metrics
import lab.reranking
from lab.claims._study import Claim, Contrast, DataSetup, Point, Study, above, ahead, arms, less
from lab.core.results import Evidence

if TYPE_CHECKING:
    from lab.claims._train import TrainedModel

CONTEXT = "contextual"
RIVALS = {
    "contrastive": {"name": "margin_contrastive"},
    "multi-similarity": {"name": "multi_similarity"},
    "ROADMAP": {"name": "roadmap"},
}
"""Losses of the comparison. The contrastive one is the paper's own, on cosines."""


def contextual(lam: float = 1.0, gamma: float = 0.0, **knobs: Any) -> dict:
    """The contextual loss, by itself unless told otherwise."""
    return {"name": "contextual", "lam": lam, "gamma": gamma, **knobs}


def rivalry(setting: Mapping[str, Any], task: DataSetup) -> list[Point]:
    """The contextual part alone and its rivals at one place of an axis.

    The part alone has the same weights in each variant, so it stands there once.
    """
    alone = Point({"loss": CONTEXT, **setting}, {"loss": contextual()}, task)
    return [alone, *arms(RIVALS, setting, task)]


def train_score(model: TrainedModel) -> dict[str, float]:
    """r@1 of the training images among each other."""
    train = model.embedded(model.dataset.splits["train"].query)
    metrics = {"hit_rate_at_k": lab.metrics.create("hit_rate_at_k", k=(1,))}
    return {"train r@1": model.evaluated(train, metrics=metrics).values["r@1"]}


KEPT, CLAMPED = {"gradient": "as it is"}, {"gradient": "clamped"}

contextual_clamped = Study(
    turn=4,
    title="Clamped gradients",
    source="Contextual, table 1",
    points=tuple(
        Point(setting, {"loss": contextual(correct_gradient=setting is CLAMPED)}) for setting in (KEPT, CLAMPED)
    ),
    column="r@1",
    extra=train_score,
    claims=(
        Claim(
            "Clamping the gradients by the labels lowers r@1 on unseen classes.",
            (less(KEPT, CLAMPED),),
        ),
        Claim("It raises r@1 on the training classes.", (less(CLAMPED, KEPT, "train r@1"),)),
    ),
)

contextual_classes = Study(
    turn=17,
    title="Fewer training classes",
    source="Contextual, figure 6",
    points=tuple(point for share in (0.5, 1.0) for point in rivalry({"classes": share}, DataSetup(classes=share))),
    column="r@1",
    claims=(
        Claim(
            "With half of the classes, the contextual loss is ahead of the other pairwise losses.",
            ahead(CONTEXT, *RIVALS, at={"classes": 0.5}),
        ),
    ),
    remark="All of the classes are 304.",
)

SHARES = (0.0, 0.05, 0.1, 0.2)


def given_up(s: Callable[..., float], name: str) -> float:
    """What a loss gives up from clean labels to 20 % wrong ones."""
    return s(loss=name, **{"wrong labels": 0.0}) - s(loss=name, **{"wrong labels": 0.2})


contextual_noise = Study(
    turn=12,
    title="Wrong training labels",
    source="Contextual, figure 6",
    points=tuple(
        point for share in SHARES for point in rivalry({"wrong labels": share}, DataSetup(wrong_labels=share))
    ),
    column="r@1",
    claims=(
        Claim(
            "With 5, 10 or 20 % of the labels wrong, the contextual loss is ahead of the other pairwise losses.",
            tuple(one for w in SHARES[1:] for one in ahead(CONTEXT, *RIVALS, at={"wrong labels": w})),
        ),
        Claim(
            "It loses less than they do from clean labels to 20 % wrong ones.",
            tuple(
                Contrast(f"loss of {n} less loss of {CONTEXT}", lambda s, n=n: given_up(s, n) - given_up(s, CONTEXT))
                for n in RIVALS
            ),
            source="Contextual, section 4.4",
        ),
    ),
    remark="Labels are drawn anew at random for that share of the training images; validation and test stay clean. The "
    "contextual part alone, lambda 1 and gamma 0, as in the paper.",
)

ALL_AT_ONCE = "1398, six a class"
"""Nearly all that can be trained on at once: every image of 233 classes, as the paper's largest batch is its whole set.
Neighbourhoods are then as wide as classes."""

SAMPLERS: dict[int | str, dict[str, int]] = {
    **{size: {"batch_size": size} for size in (64, 256, 1024)},
    ALL_AT_ONCE: {"batch_size": 1398, "per_class": 6},
}


def weighed(size: int | str, lam: float = 1.0) -> dict[str, int | str | float]:
    return {"batch size": size, "lambda": lam}


ENDS = ({"lambda": 0.0}, {"lambda": 0.5})

contextual_gap = Study(
    turn=21,
    title="Contextual loss by batch size, on the training classes",
    source="Contextual, figure 9",
    points=tuple(
        Point(weighed(size, lam), {"loss": contextual(lam), "sampler": sampler})
        for size, sampler in SAMPLERS.items()
        for lam in (0.0, 0.5, 1.0)
    ),
    column="r@1",
    extra=train_score,
    claims=(
        Claim(
            "With small batches, the contextual part alone does not rank the training set: it gains from large ones.",
            (less(weighed(1024), weighed(64), "train r@1"),),
        ),
        Claim(
            "With large batches, the contrastive part is not needed: lambda 1 is best.",
            above(weighed(1024), *ENDS, column="train r@1"),
        ),
        Claim(
            "Where batches hold whole classes, the contextual part alone gains over small batches.",
            (less(weighed(ALL_AT_ONCE), weighed(64), "train r@1"),),
        ),
        Claim(
            "Where batches hold whole classes, the contrastive part is not needed: lambda 1 is best.",
            above(weighed(ALL_AT_ONCE), *ENDS, column="train r@1"),
        ),
    ),
    remark="The learning rate is chosen on unseen classes; the scores told are r@1 among the training images. Batches "
    "of 1,024 hold four images of nearly every class, and neighbourhoods of four; the last row holds whole classes.",
)

KNOBS: dict[str, tuple[str, float, tuple[float, ...]]] = {
    "epsilon": ("eps", 0.05, (0.0, 0.02, 0.1, 0.2)),
    "gamma": ("gamma", 0.1, (0.05, 0.2, 0.4)),
    "target of the mean similarity": ("s_tilde", 0.3, (0.0, 0.15, 0.45)),
}
"""What the paper calls a knob, to its name here, its default, and other values."""
DEFAULT = {word: default for word, (_, default, _) in KNOBS.items()}

contextual_knobs = Study(
    turn=28,
    title="Slack, weight of the regulariser and its target",
    source="Contextual, figure 13",
    points=tuple(
        Point(setting, {"loss": {"name": "contextual", "lam": 0.4, **{KNOBS[w][0]: x for w, x in setting.items()}}})
        for setting in (DEFAULT, *({**DEFAULT, w: x} for w, (_, _, others) in KNOBS.items() for x in others))
    ),
    column="r@1",
    claims=tuple(
        Claim(
            f"The loss is not very sensitive to {word}: its neighbours are within half a point of the default.",
            tuple(less({**DEFAULT, word: other}, DEFAULT, expects="none") for other in others if other),
        )
        for word, (_, _, others) in KNOBS.items()
    ),
    remark="One knob at a time away from its default; lambda is 0.4.",
)

WHOLE = "whole"
CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "without M-": ({"complement": False}, "M-, the strangers in common, is necessary."),
    "without query expansion": ({"expansion": False}, "Query expansion is necessary."),
    "without intersection": ({"intersection": False}, "Comparing neighbourhoods is necessary."),
    "min for product": ({"conjunction": "min"}, "The product is better than the minimum."),
    "sigmoid for step": ({"theta": "sigmoid"}, "The step with a constant slope is better than a sigmoid."),
    "step 1 only": (
        {"intersection": False, "expansion": False}, "Neighbourhoods alone, by the first step, are not enough."
    ),
    "step 1 only, with a sigmoid": (
        {"intersection": False, "expansion": False, "theta": "sigmoid"}, "Nor are they with a sigmoid."
    ),
    "without the stop of gradients": (
        {"stop_gradient": False}, "No gradient may pass through the sizes of neighbourhoods."
    ),
}  # fmt: skip
"""What is taken away or changed, to the knobs that do it and to what the paper says of it."""


contextual_parts = Study(
    turn=19,
    title="Steps of the contextual similarity",
    source="Contextual, table 5",
    points=tuple(
        Point({"parts": name, "lambda": lam}, {"loss": contextual(lam, **knobs)})
        for lam in (1.0, 0.8)
        for name, (knobs, _) in {WHOLE: ({}, ""), **CHANGES}.items()
    ),
    column="r@1",
    claims=tuple(
        Claim(
            words, tuple(one for lam in (1.0, 0.8) for one in above({"parts": WHOLE, "lambda": lam}, {"parts": change}))
        )
        for change, (_, words) in CHANGES.items()
    ),
)

LAM, GAMMA = (0.0, 0.4, 0.8, 1.0), (0.0, 0.1)


contextual_weights = Study(
    turn=8,
    title="Weights of the contextual loss, lambda and gamma",
    source="Contextual, figure 7",
    points=tuple(
        Point({"lambda": lam, "gamma": gamma}, {"loss": contextual(lam, gamma)}) for gamma in GAMMA for lam in LAM
    ),
    column="r@1",
    claims=(
        Claim(
            "A mixture of both losses is best: lambda = 0.8 beats contrastive alone and contextual alone.",
            tuple(
                one
                for gamma in GAMMA
                for one in above({"lambda": 0.8, "gamma": gamma}, {"lambda": 0.0}, {"lambda": 1.0})
            ),
            source="Contextual, section 5",
        ),
        Claim(
            "The similarity regulariser is sometimes helpful but never detrimental.",
            tuple(less({"lambda": lam, "gamma": 0.1}, {"lambda": lam, "gamma": 0.0}, expects="no loss") for lam in LAM),
            source="Contextual, section 5",
        ),
    ),
)

REGULARISED: dict[str, dict[str, Any]] = {
    "contrastive": {"name": "margin_contrastive"},
    "triplet": {"name": "triplet_margin", "margin": 0.05, "miner": "distance_weighted"},
    "NT-Xent": {"name": "nt_xent"},
    "multi-similarity": {"name": "multi_similarity"},
    "SmoothAP": {"name": "smooth_ap"},
    "ROADMAP": {"name": "roadmap"},
}
"""As 004 trained its baselines, but that SmoothAP and ROADMAP stand here in both variants."""

TARGETS: dict[str, list[dict[str, Any]]] = {
    "none": [],
    **{f"{s:g}": [{"name": "similarity_regulariser", "gamma": 0.1, "s_tilde": s}] for s in (0.25, 0.3)},
}


regulariser = Study(
    turn=33,
    title="The similarity regulariser on other losses",
    source="Contextual, table 6",
    points=tuple(
        point
        for name, loss in REGULARISED.items()
        for target, wrappers in TARGETS.items()
        for point in arms({name: loss}, {"mean similarity": target}, wrappers=wrappers)
    ),
    column="r@1",
    claims=tuple(
        Claim(
            f"The similarity regulariser adds to {name}.",
            tuple(
                less({"loss": name, "mean similarity": target}, {"loss": name, "mean similarity": "none"})
                for target in TARGETS
                if target != "none"
            ),
        )
        for name in REGULARISED
    ),
    remark="gamma L_reg + (1 - gamma) loss with gamma 0.1, as in the paper, whose two targets of the mean similarity "
    "are both tried. There it adds 1 to 10 points of r@1 on Cars196 to four losses, to NT-Xent and multi-similarity "
    "less than one, and little on SOP.",
)

RERANKED = {
    "contextual": {"name": "contextual"},
    "contrastive": {"name": "contrastive"},
    "multi-similarity": {"name": "multi_similarity"},
    "ROADMAP": {"name": "roadmap"},
}


def reranked(model: TrainedModel) -> dict[str, float]:
    """r@1 after re-ranking with neighbourhoods of several sizes."""
    metric, scores = lab.metrics.create("hit_rate_at_k", k=(1,)), {}
    for k in (4, 8, 16):
        reranker = lab.reranking.create("contextual", device=model.config.training.knobs.device, k=k)
        ranking = reranker.rerank(model.evaluation.ranking, model.query, model.query)
        scores[f"r@1, k {k}"] = metric(Evidence(ranking, model.query, model.query)).values["r@1"]
    return scores


def reranking_gains(k: int) -> tuple[Contrast, ...]:
    return tuple(
        Contrast(f"{loss}, k = {k}", lambda s, loss=loss: s(f"r@1, k {k}", loss=loss) - s(loss=loss))
        for loss in RERANKED
    )


reranking = Study(
    turn=16,
    title="Contextual re-ranking",
    source="Contextual, table 10",
    points=tuple(arms(RERANKED)),
    column="r@1",
    extra=reranked,
    claims=(
        Claim("Re-ranking with neighbourhoods of 4, as on SOP, raises r@1 of every loss.", reranking_gains(4)),
        Claim("So it does with neighbourhoods of 16, as on CUB.", reranking_gains(16)),
    ),
    remark="Classes have 6 images here; SOP has 5 and is given k = 4, CUB has 60 and is given 16 and 32.",
)
