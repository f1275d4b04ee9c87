"""k-means clusters of embeddings, found once for all metrics that read them."""

from __future__ import annotations

import warnings
import weakref

import numpy as np

from lab.core.knobs import Knobs, knob
from lab.core.results import EmbeddingSet


class ClusterKnobs(Knobs):
    """How the embeddings are clustered. Results vary with seeds (DML deck), so the seed is part of the number."""

    clusters: int | None = knob(None, "Number of clusters; by default the number of classes.", ge=1)
    restarts: int = knob(1, "Number of k-means runs, of which the one with the lowest inertia is kept.", ge=1)
    seed: int = knob(0, "Seed of the first centroids.", ge=0)


_last: tuple[weakref.ref, dict, np.ndarray] | None = None


def clusters(embeddings: EmbeddingSet, knobs: ClusterKnobs) -> np.ndarray:
    """int [n]: the k-means cluster of each embedding.

    Raises:
        ValueError: more clusters than embeddings.
    """
    global _last
    settings = knobs.model_dump()
    if _last is not None and _last[0]() is embeddings and _last[1] == settings:
        return _last[2]
    assignment = _k_means(embeddings, knobs)
    _last = (weakref.ref(embeddings), settings, assignment)
    return assignment


def _k_means(embeddings: EmbeddingSet, knobs: ClusterKnobs) -> np.ndarray:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    count = knobs.clusters or len(np.unique(embeddings.labels))
    if count > len(embeddings):
        raise ValueError(f"clusters must be at most the number of embeddings, {len(embeddings)}, got {count}.")
    with warnings.catch_warnings():
        # Fewer distinct points than clusters: the empty clusters are harmless here.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KMeans(count, n_init=knobs.restarts, random_state=knobs.seed).fit(embeddings.vectors)
    return model.labels_
