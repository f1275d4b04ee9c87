"""From embeddings to measurements: rank, gather the evidence, measure."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.core.records import Searching
from lab.core.results import Classifier, EmbeddingSet, Evidence, Measurement, Ranking, labelled
from lab.core.streams import ReportProgress, followed

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from lab.core.results import Relevance
    from lab.metrics import Metric
    from lab.reranking import Reranker


MANY_COPIES = 0.5
"""Share of queries with an equal vector in the gallery from which a warning says so."""


@dataclass(frozen=True)
class Evaluation:
    """The result on one set of queries.

    measurements: metric's name to its result. seconds: of the search and the metrics. copies: share of the queries
    whose first neighbour in a separate gallery is an equal vector.
    """

    ranking: Ranking
    measurements: Mapping[str, Measurement]
    seconds: float
    copies: float = 0.0

    @property
    def values(self) -> dict[str, float]:
        """Every column of every metric."""
        values: dict[str, float] = {}
        for measurement in self.measurements.values():
            values |= measurement.values
        return values

    @property
    def per_query(self) -> dict[str, np.ndarray]:
        """Every column that has a value for each query: float64 [q], NaN for excluded ones."""
        values: dict[str, np.ndarray] = {}
        for measurement in self.measurements.values():
            values |= measurement.per_query
        return values

    @property
    def excluded(self) -> int:
        """Queries without a positive."""
        return int((self.ranking.num_positives == 0).sum())

    @property
    def left_out(self) -> int:
        """Gallery images without a class, which are left out of every ranking."""
        return self.ranking.left_out

    @property
    def unlabelled(self) -> int:
        """Queries without a class; they are among the excluded."""
        return int((~labelled(self.ranking.query_labels)).sum())

    @property
    def first_tied(self) -> float:
        """Share of the queries whose first place is shared by an item of another class: chance decides such a place."""
        return float(self.ranking.first_tied.mean())

    @property
    def warnings(self) -> list[str]:
        """Sentences that a reader of the scores has to know: ties at the first place, and a set of one class."""
        warnings = []
        if self.first_tied:
            warnings.append(
                f"For {self.first_tied:.1%} of the queries, an item of another class has the same score as the first "
                "neighbour. A hash orders equal scores, so such a first place is chance."
            )
        classes = np.union1d(self.ranking.query_labels, self.ranking.gallery_labels)
        if len(classes[labelled(classes)]) == 1:
            warnings.append(
                "All items are of one class, so these scores say nothing about the model."
            )
        if self.copies >= MANY_COPIES:
            warnings.append(
                f"For {self.copies:.1%} of the queries, the first neighbour is an equal vector. If the gallery holds "
                "the queries themselves, each finds itself: leave the gallery out, or take the queries out of it."
            )
        return warnings

    def __repr__(self) -> str:
        scores = ", ".join(f"{column} {value:.4g}" for column, value in self.values.items())
        counts = f"{len(self.ranking):,} queries, {self.excluded:,} without a positive"
        return f"Evaluation({scores}; {counts})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{column}</td><td>{value:.4f}</td></tr>"
            for column, value in self.values.items()
        )
        notes = [
            f"{len(self.ranking):,} queries, {self.excluded:,} without a positive.",
            *self.warnings,
        ]
        return (
            f"<table><tr><th>metric</th><th>value</th></tr>{rows}</table><p>{' '.join(notes)}</p>"
        )


def evaluate(
    query: EmbeddingSet,
    gallery: EmbeddingSet | None,
    metrics: Mapping[str, Metric],
    *,
    k: int = 100,
    similarity: str = "cosine",
    anchors: np.ndarray | None = None,
    anchor_labels: np.ndarray | None = None,
    relevant: Relevance | None = None,
    levels: Mapping[str, np.ndarray] | None = None,
    reranker: Reranker | None = None,
    device: str | torch.device = "auto",
    what: str = "queries",
    search: str = "exact",
    classifier: Classifier | None = None,
    distractors: bool = False,
) -> Generator[Searching, None, Evaluation]:
    """Search `query` in `gallery` (None: among each other), and measure; yields progress.

    Images without a class count in no score: as queries they are excluded, and in the gallery they are left out.

    Args:
        metrics: name to metric; those that need anchors or a classifier are left out when there are none.
        relevant: judged relevance, for sets where equality of labels does not say it.
        levels: coarser labels of the whole data set, int64 [n], by name, for metrics that read a hierarchy.
        reranker: reorders the ranking before it is measured.
        device: where to search; auto takes a GPU when there is one.
        search: `exact`, or `two_stage` by the anchors (003).
        classifier: of a model that was trained with one.
        distractors: count gallery images without a class as wrong answers instead.

    Raises:
        ValueError: the embeddings cannot be searched, see `lab.search`; or a metric needs levels and there are none; or
            a two-stage search is to be re-ranked.
    """
    import lab.search

    started = time.perf_counter()
    check_levels(metrics, levels)
    if reranker is not None and search != "exact":
        raise ValueError(
            "A re-ranker needs whole rankings, which a two-stage search does not give; search exactly."
        )
    index = lab.search.create(search, device=device, k=k, similarity=similarity, ties="shuffled")
    of_index = {"anchors": anchors} if search == "two_stage" else {}
    searched = query if gallery is None else gallery
    index.build(searched, **of_index)
    same_source = gallery is None
    ranking = yield from _with_progress(
        what, lambda progress: index.rank(query, same_source, relevant, progress, distractors)
    )
    if reranker is not None:
        ranking = reranker.rerank(ranking, query, searched)
    labels_at = {}
    for name, labels in (levels or {}).items():
        labels_at[name] = (labels[query.items], labels[searched.items])
    evidence = Evidence(
        ranking, query, searched, anchors, anchor_labels, similarity, labels_at, classifier
    )
    lacking = {"anchors": anchors is None, "classifier": classifier is None}
    usable = {name: metric for name, metric in metrics.items() if not lacking.get(metric.needs)}
    return _measured(evidence, usable, started)


def evaluate_streamed(
    query: EmbeddingSet,
    gallery: EmbeddingSet,
    metrics: Mapping[str, Metric],
    *,
    k: int = 100,
    similarity: str = "cosine",
    same_source: bool = False,
    relevant: Relevance | None = None,
    what: str = "queries",
    distractors: bool = False,
) -> Generator[Searching, None, Evaluation]:
    """Measure n queries against a gallery of m items that may be on disk; yields progress.

    The same values as `evaluate`, bit for bit. Memory grows with the queries, their positives and
    k, not with m. Metrics that read the ranking or the queries alone are permitted, which are all but
    `decomposability_gap`, `opis` and `hierarchical_ap`.

    Args:
        gallery: in shards (`lab.search.galleries`), memory-mapped, or in memory.
        metrics: name to metric, as for `evaluate`.
        same_source: whether the queries are images of the gallery; each is then left out of its own ranking.
        distractors: as for `evaluate`.

    Raises:
        ValueError: a metric reads all of the gallery's vectors or needs more than vectors; or they cannot be searched.

    Example:
        >>> import lab, numpy as np
        >>> from lab.core.streams import result_of
        >>> vectors = np.array([[1, 0], [0.8, 0.6], [0, 1]], np.float32)
        >>> images = lab.EmbeddingSet(vectors, [0, 0, 1])
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
    refuse_what_needs_more(metrics, "measure it with `lab evaluate`")
    index: Any = lab.search.create("streamed", k=k, similarity=similarity, ties="shuffled").build(
        gallery
    )
    ranking = yield from _with_progress(
        what, lambda progress: index.rank(query, same_source, relevant, progress, distractors)
    )
    return _measured(Evidence(ranking, query, gallery, similarity=similarity), metrics, started)


def _with_progress(
    what: str, search: Callable[[ReportProgress], Ranking]
) -> Generator[Searching, None, Ranking]:
    return followed(search, lambda done, total: Searching(what, done, total))


def _measured(evidence: Evidence, metrics: Mapping[str, Metric], started: float) -> Evaluation:
    measurements = {name: metric(evidence) for name, metric in metrics.items()}
    return Evaluation(
        evidence.ranking, measurements, time.perf_counter() - started, _copies(evidence)
    )


def _copies(evidence: Evidence) -> float:
    """Return the share of the queries whose first neighbour in a separate gallery is an equal vector."""
    ranking = evidence.ranking
    if (ranking.self_index >= 0).any() or not len(ranking):
        return 0.0
    has_neighbour = ranking.neighbours[:, 0] >= 0
    nearest = np.asarray(evidence.gallery.vectors[ranking.neighbours[has_neighbour, 0]])
    return float((nearest == evidence.query.vectors[has_neighbour]).all(1).sum() / len(ranking))


def left_out_sentence(count: int, of: int, distractors: bool = False) -> str:
    """Say how many gallery images have no class, and the consequence; empty if all have one.

    Example:
        >>> from lab.evaluation.scores import left_out_sentence
        >>> left_out_sentence(749, 997)
        '749 of 997 gallery images have no class; they are left out of every score.'
    """
    if not count:
        return ""
    verb = "has" if count == 1 else "have"
    consequence = (
        "they count as wrong answers" if distractors else "they are left out of every score"
    )
    return f"{count:,} of {of:,} gallery images {verb} no class; {consequence}."


BESIDE = {"anchors": "class anchors", "classifier": "a classifier", "levels": "super-classes"}


def refuse_what_needs_more(metrics: Mapping[str, Metric], instead: str) -> None:
    """Refuse a metric that needs more than vectors and labels.

    Raises:
        ValueError: names the metric, what it needs and what to do.
    """
    for name, metric in metrics.items():
        if metric.needs in BESIDE:
            raise ValueError(
                f"{name} needs {BESIDE[metric.needs]} beside vectors and labels; {instead}."
            )


def check_levels(metrics: Mapping[str, Metric], levels: Mapping[str, np.ndarray] | None) -> None:
    """Refuse a metric that reads a hierarchy where there is none.

    Raises:
        ValueError: names the metric and says what to do.
    """
    for name, metric in metrics.items():
        if metric.needs == "levels" and not levels:
            raise ValueError(
                f"{name} measures at coarser levels, too, but this data set has no super-classes; choose another "
                "metric, or give them, for instance in a manifest's column super_class."
            )


def column_directions(
    metrics: Mapping[str, Metric], measured: Mapping[str, Measurement]
) -> dict[str, bool]:
    """Return column to whether a higher number is better."""
    directions: dict[str, bool] = {}
    for name, measurement in measured.items():
        directions |= dict.fromkeys(measurement.values, metrics[name].higher_is_better)
    return directions


def is_anchors(name: str) -> bool:
    """Return whether a weight of a loss holds class anchors."""
    return name.rpartition(".")[2] == "anchors"


def anchors_in(state: Mapping[str, Tensor]) -> np.ndarray | None:
    """Return class anchors [c d] in the state of a loss, wrapped or not, if it has any."""
    for name, value in state.items():
        if is_anchors(name):
            return value.cpu().numpy()
    return None


def classifier_in(state: Mapping[str, Tensor]) -> tuple[np.ndarray, np.ndarray] | None:
    """Return weight [c d] and bias [c] of the linear classifier in the state of a loss, wrapped or not, if any."""
    for name, value in state.items():
        if f".{name}".endswith(".classifier.weight"):
            weight = value.cpu().numpy()
            bias = state.get(name.removesuffix("weight") + "bias")
            return weight, np.zeros(len(weight), np.float32) if bias is None else bias.cpu().numpy()
    return None


def class_evidence(state: Mapping[str, Tensor], labels: np.ndarray) -> dict[str, Any]:
    """Return the arguments of `evaluate` about a loss's class weights.

    Weights that do not have one row for each label are left out.

    Args:
        state: of the loss. labels: int64 [c], the class label of each row of its weights.
    """
    anchors = anchors_in(state)
    classifier = classifier_in(state)
    weights: dict[str, Any] = {}
    if anchors is not None and len(anchors) == len(labels):
        weights["anchors"] = anchors
        weights["anchor_labels"] = labels
    if classifier is not None and len(classifier[0]) == len(labels):
        weights["classifier"] = Classifier(*classifier, labels)
    return weights
