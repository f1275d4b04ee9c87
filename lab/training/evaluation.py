"""From embeddings to measurements: rank, gather the evidence, measure."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass

import numpy as np

from lab.results import EmbeddingSet, Evidence, Measurement, Ranking
from lab.training._following import followed
from lab.training.records import Searching


@dataclass(frozen=True)
class Evaluation:
    """What was found on one set of queries.

    measurements: metric's name to what it found. seconds: of the search and the metrics.
    """

    ranking: Ranking
    measurements: Mapping[str, Measurement]
    seconds: float

    @property
    def values(self) -> dict[str, float]:
        """Every column of every metric."""
        return {column: value for m in self.measurements.values() for column, value in m.values.items()}

    @property
    def per_query(self) -> dict[str, np.ndarray]:
        """Every column that has a value for each query: float64 [q], NaN for excluded ones."""
        return {column: values for m in self.measurements.values() for column, values in m.per_query.items()}

    @property
    def excluded(self) -> int:
        """Queries without a positive."""
        return int((self.ranking.num_positives == 0).sum())


def evaluate(
    query: EmbeddingSet,
    gallery: EmbeddingSet | None,
    metrics: Mapping[str, object],
    *,
    k: int = 100,
    similarity: str = "cosine",
    anchors: np.ndarray | None = None,
    anchor_labels: np.ndarray | None = None,
    relevant: object | None = None,
    what: str = "queries",
) -> Generator[Searching, None, Evaluation]:
    """Search `query` in `gallery` (None: among each other) exactly, and measure; yields progress.

    Args:
        metrics: name to metric; those that need anchors are left out when there are none.
        relevant: judged relevance, for sets where equality of labels does not say it.

    Raises:
        ValueError: the embeddings cannot be searched; see `lab.search`.
    """
    import lab.search

    started = time.perf_counter()
    index = lab.search.create("exact", k=k, similarity=similarity)
    index.build(query if gallery is None else gallery)
    ranking = yield from followed(
        lambda progress: index.rank(query, same_source=gallery is None, relevant=relevant, progress=progress),
        lambda done, total: Searching(what, done, total),
    )
    evidence = Evidence(ranking, query, query if gallery is None else gallery, anchors, anchor_labels)
    usable = {name: m for name, m in metrics.items() if m.needs != "anchors" or anchors is not None}
    found = {name: metric(evidence) for name, metric in usable.items()}
    return Evaluation(ranking, found, time.perf_counter() - started)


def column_directions(metrics: Mapping[str, object], measured: Mapping[str, Measurement]) -> dict[str, bool]:
    """Column to whether a higher number is better."""
    return {column: metrics[name].higher_is_better for name, m in measured.items() for column in m.values}
