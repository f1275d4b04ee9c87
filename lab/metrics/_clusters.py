"""Base class of metrics that compare classes with k-means clusters, which are computed once for all of them."""

from __future__ import annotations

import warnings
import weakref
from typing import Any, ClassVar

import numpy as np

from lab.core.explain import need
from lab.core.knobs import MOST_ITEMS, knob
from lab.core.results import EmbeddingSet, Evidence, Measurement
from lab.metrics._base import Metric


class ClusterMetric(Metric):
    """Base class of metrics that compare the labels with k-means clusters; one value for the whole query set.

    Results vary with the seed (DML deck), so report the seed with the number. An entry names its `column` and defines
    `score`.
    """

    needs = "embeddings"
    column: ClassVar[str]

    clusters: int | None = knob(
        "Number of clusters; by default the number of classes.", default=None, ge=1, le=MOST_ITEMS
    )
    restarts: int = knob(
        "Number of k-means runs, of which the one with the lowest inertia is kept.",
        default=1,
        ge=1,
        le=10_000,
    )
    seed: int = knob("Seed of the first centroids.", default=0, ge=0)

    def score(self, labels: np.ndarray, assignment: np.ndarray) -> float:
        """Compute the value from the labels [n] and the cluster of each item, [n]."""
        raise NotImplementedError

    def __call__(self, evidence: Evidence) -> Measurement:
        score = self.score(evidence.query.labels, clusters(evidence.query, self.knobs))
        return Measurement({self.column: float(score)})


_last: tuple[weakref.ref, dict, np.ndarray] | None = None
"""The latest embeddings, settings and clusters, for the other metrics of the same evaluation."""


def clusters(embeddings: EmbeddingSet, knobs: Any) -> np.ndarray:
    """Compute the k-means cluster of each embedding, int [n].

    Raises:
        ValueError: more clusters than embeddings.
    """
    global _last
    settings = knobs.model_dump()
    if _last is not None and _last[0]() is embeddings and _last[1] == settings:
        return _last[2]

    need("A metric of clusters", "train", "sklearn")
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    count = knobs.clusters or len(np.unique(embeddings.labels))
    if count > len(embeddings):
        raise ValueError(
            f"clusters must be at most the number of embeddings, {len(embeddings)}, got {count}."
        )
    with warnings.catch_warnings():
        # The warning says that there are fewer distinct points than clusters; empty clusters do no harm here.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KMeans(count, n_init=knobs.restarts, random_state=knobs.seed).fit(
            embeddings.vectors
        )
    _last = (weakref.ref(embeddings), settings, model.labels_)
    return model.labels_
