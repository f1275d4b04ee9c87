"""Metrics, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

Derive your own metric from `Metric`. For scores and relevance in arrays, `lab.metrics.functional` has plain functions.

Example:
    >>> import lab, numpy as np
    >>> from lab.core.results import EmbeddingSet, Evidence
    >>> angles = np.radians([0, 8, 20, 70, 79, 90])  # two groups of three points on a circle
    >>> vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1, dtype=np.float32)
    >>> images = EmbeddingSet(vectors, labels=np.array([0, 0, 1, 1, 1, 0]), items=np.arange(6))
    >>> ranking = lab.search.create("exact").build(images).rank(images, same_source=True)
    >>> evidence = Evidence(ranking, query=images, gallery=images)
    >>> lab.metrics.create("mean_reciprocal_rank")(evidence).per_query["MRR"].round(2)
    array([1.  , 1.  , 0.33, 1.  , 1.  , 0.25])
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
