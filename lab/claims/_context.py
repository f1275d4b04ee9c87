"""What the studies of paper 004 share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import lab.metrics
from lab.claims._axes import arms, less
from lab.claims._study import Contrast, DataSetup, Point

if TYPE_CHECKING:
    from lab.claims._model import TrainedModel


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


def ahead_of_rivals(place: str, setting: Mapping[str, Any]) -> tuple[Contrast, ...]:
    """Contrasts: the contextual part above each of its rivals."""
    return tuple(
        less(f"{CONTEXT} - {n} at {place}", {"loss": CONTEXT, **setting}, {"loss": n, **setting}) for n in RIVALS
    )


def train_score(model: TrainedModel) -> dict[str, float]:
    """r@1 of the training images among each other."""
    train = model.embedded(model.dataset.splits["train"].query)
    metrics = {"hit_rate_at_k": lab.metrics.create("hit_rate_at_k", k=(1,))}
    return {"train r@1": model.evaluated(train, metrics=metrics).values["r@1"]}
