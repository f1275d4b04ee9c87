"""A model that a study trained, and what may be measured on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.core.results import EmbeddingSet
from lab.core.streams import result_of
from lab.data import ImageSet
from lab.evaluation.embedding import embed
from lab.evaluation.scores import Evaluation, evaluate
from lab.runs.building.parts import metrics_of
from lab.runs.config import RunConfig
from lab.training.loop import Parts

if TYPE_CHECKING:
    from lab.metrics import Metric


@dataclass(frozen=True)
class TrainedModel:
    """A trained model with all that a study may measure on it."""

    config: RunConfig
    dataset: ImageSet
    parts: Parts
    testing: Any  # a loader of images or of features
    evaluation: Evaluation
    query: EmbeddingSet
    gallery: EmbeddingSet | None

    def embedded(self, items: np.ndarray) -> EmbeddingSet:
        """Embed images of the data set, int64 [n]."""
        return result_of(embed(self.parts.encoder, self.testing, items, batch_size=1024))

    @property
    def searched(self) -> EmbeddingSet:
        """The gallery, or the queries, where those are searched among themselves."""
        return self.query if self.gallery is None else self.gallery

    @property
    def anchors(self) -> np.ndarray | None:
        """Class anchors [c d] of the loss, if it has any."""
        named = dict(self.parts.loss.named_parameters())
        return named["anchors"].detach().cpu().numpy() if "anchors" in named else None

    def evaluated(
        self, query: EmbeddingSet, gallery: EmbeddingSet | None = None, metrics: Mapping[str, Metric] | None = None
    ) -> Evaluation:
        """Search and measure, with the metrics of the configuration unless others are given."""
        evaluation = evaluate(
            query, gallery, metrics or metrics_of(self.config), k=self.config.evaluation.knobs.k,
            similarity=self.config.similarity, device=self.config.training.knobs.device,
        )  # fmt: skip
        return result_of(evaluation)
