"""From queries and a gallery in shards to measurements: exact, the gallery read once and never held."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

from lab.core.records import Searching
from lab.core.results import EmbeddingSet, Evidence
from lab.core.streams import followed
from lab.evaluation.scores import Evaluation

if TYPE_CHECKING:
    from lab.core.results import Relevance
    from lab.metrics import Metric


def evaluate_streamed(
    query: EmbeddingSet,
    gallery: EmbeddingSet,
    metrics: Mapping[str, Metric],
    *,
    k: int = 100,
    similarity: str = "cosine",
    same_source: bool = False,
    relevant: Relevance | None = None,
    mapped: Any = map,
    parts: int = 1,
    what: str = "queries",
) -> Generator[Searching, None, Evaluation]:
    """Measure n queries against a gallery of m items that may lie on disk; yields progress.

    The same values as `lab.evaluation.scores.evaluate`, bit for bit. Memory grows with the queries, their positives and
    k, not with m. Metrics that read the ranking or the queries alone are permitted, which are all but
    `decomposability_gap` and `hierarchical_ap`.

    Args:
        gallery: in shards (`lab.galleries`), memory-mapped, or in memory.
        metrics: name to metric, as for `evaluate`.
        same_source: whether the queries are images of the gallery; each is then left out of its own ranking.
        mapped, parts: who reads the gallery, and in how many parts: `map`, or a launcher's (`lab.launchers`).

    Raises:
        ValueError: a metric reads all of the gallery's vectors or needs more than vectors; or they cannot be searched.

    Example:
        >>> import lab, numpy as np
        >>> from lab.core.streams import result_of
        >>> vectors = np.array([[1, 0], [0.8, 0.6], [0, 1]], np.float32)
        >>> images = EmbeddingSet(vectors, labels=np.array([0, 0, 1]), items=np.arange(3))
        >>> metrics = {"map_at_r": lab.metrics.create("map_at_r")}
        >>> result_of(evaluate_streamed(images, images, metrics, same_source=True)).values
        {'MAP@R': 1.0}
    """
    import lab.search

    started = time.perf_counter()
    for name, metric in metrics.items():
        if metric.reads_gallery:
            raise ValueError(
                f"{name} reads the vectors of the whole gallery, so it cannot be measured by stream; leave it out, or "
                "measure a gallery that fits into memory."
            )
        if metric.needs in ("anchors", "classifier", "levels"):
            raise ValueError(f"{name} needs more than vectors and labels; measure it with `lab evaluate`.")
    index: Any = lab.search.create("streamed", k=k, similarity=similarity).build(gallery)
    ranking = yield from followed(
        lambda progress: index.rank_over(mapped, parts, query, same_source, relevant, progress),
        lambda done, total: Searching(what, done, total),
    )
    evidence = Evidence(ranking, query, gallery, similarity=similarity)
    measurements = {name: metric(evidence) for name, metric in metrics.items()}
    return Evaluation(ranking, measurements, time.perf_counter() - started)
