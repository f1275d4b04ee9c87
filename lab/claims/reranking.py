"""004, table 10: contextual re-ranking after training with several losses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lab.metrics
import lab.reranking
from lab.claims._axes import arms
from lab.claims._study import Claim, Contrast, Study
from lab.core.results import Evidence

if TYPE_CHECKING:
    from lab.claims._model import TrainedModel

LOSSES = {
    "contextual": {"name": "contextual"},
    "contrastive": {"name": "contrastive"},
    "multi-similarity": {"name": "multi_similarity"},
    "ROADMAP": {"name": "roadmap"},
}
SIZES = (4, 8, 16)


def reranked(model: TrainedModel) -> dict[str, float]:
    """r@1 after re-ranking with neighbourhoods of several sizes."""
    metric, scores = lab.metrics.create("hit_rate_at_k", k=(1,)), {}
    for k in SIZES:
        reranker = lab.reranking.create("contextual", device=model.config.training.knobs.device, k=k)
        ranking = reranker.rerank(model.evaluation.ranking, model.query, model.query)
        scores[f"r@1, k {k}"] = metric(Evidence(ranking, model.query, model.query)).values["r@1"]
    return scores


def gain(loss: str, k: int) -> Contrast:
    return Contrast(f"{loss}, k = {k}", lambda s: s(f"r@1, k {k}", loss=loss) - s(loss=loss))


STUDY = Study(
    turn=16,
    title="Contextual re-ranking",
    source="Contextual, table 10",
    points=tuple(arms(LOSSES)),
    column="r@1",
    extra=reranked,
    claims=(
        Claim(
            "Re-ranking with neighbourhoods of 4, as on SOP, raises r@1 of every loss.",
            tuple(gain(n, 4) for n in LOSSES),
        ),
        Claim("So it does with neighbourhoods of 16, as on CUB.", tuple(gain(n, 16) for n in LOSSES)),
    ),
    remark="Classes have 6 images here; SOP has 5 and is given k = 4, CUB has 60 and is given 16 and 32.",
)
