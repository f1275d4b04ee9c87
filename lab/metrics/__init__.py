"""Metrics, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

Derive your own from `Metric`.

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

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.core.knobs import knob
    from lab.metrics._base import Metric, PositiveRanks, measurement, positive_ranks

__all__ = [
    "Metric", "PositiveRanks", "add", "broken", "create", "entries", "get", "knob", "measurement", "names",
    "positive_ranks",
]  # fmt: skip

_catalog: "Catalog[Metric]" = Catalog(__name__, __path__, "metric", base="lab.metrics._base:Metric")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
entries, broken = _catalog.entries, _catalog.broken
if TYPE_CHECKING:
    from lab.metrics import _entries
    from lab.metrics._entries import *

    __all__ += _entries.__all__  # type: ignore[attr-defined]  # for pyright
else:
    __getattr__, __dir__ = _catalog.public()
