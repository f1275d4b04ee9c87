"""What the studies of paper 004 share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lab.metrics

if TYPE_CHECKING:
    from lab.claims._outcome import Outcome


CONTEXT = "contextual"
RIVALS = {
    "contrastive": {"name": "contrastive"},
    "multi-similarity": {"name": "multi_similarity"},
    "ROADMAP": {"name": "roadmap"},
}
LRS = (1e-3,)
"""What the study `losses` chose for each of these losses on every seed, out of 0.001 and 0.004."""


def contextual(lam: float = 1.0, gamma: float = 0.0, **knobs: Any) -> dict:
    """The contextual loss, by itself unless told otherwise."""
    return {"name": "contextual", "lam": lam, "gamma": gamma, **knobs}


def train_score(outcome: Outcome) -> dict[str, float]:
    """r@1 of the training images among each other."""
    metrics = {"hit_rate_at_k": lab.metrics.create("hit_rate_at_k", k=(1,))}
    return {"train r@1": outcome.evaluated(outcome.train, metrics=metrics).values["r@1"]}
