"""Measure vectors and labels, for instance after an epoch of your own training loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.core.explain import names_arguments
from lab.core.results import EmbeddingSet, as_array, label_column, labelled, no_class, parts_of
from lab.core.streams import result_of
from lab.evaluation.scores import Evaluation, refuse_what_needs_more
from lab.evaluation.scores import evaluate as _evaluate

if TYPE_CHECKING:
    from lab.metrics import Metric

DEFAULT = ("hit_rate_at_k", "map_at_r")
"""Scores that papers of the field report: recall@k as benchmarks call it, and MAP@R."""


@names_arguments
def evaluate(
    vectors: Any,
    labels: Any = None,
    metrics: str | Sequence[str | Metric] | Mapping[str, Metric] = DEFAULT,
    *,
    gallery: Any = None,
    gallery_labels: Any = None,
    k: int = 100,
    similarity: str = "cosine",
    device: str = "auto",
    distractors: bool = False,
) -> Evaluation:
    """Rank every vector among the others, or among a gallery, and measure. `lab.evaluate` is this function.

    Memory holds no [q g] matrix, so sets of a hundred thousand images fit.

    Args:
        vectors: float [q d]: a numpy array, a tensor on any device, or lists; or a `lab.EmbeddingSet` with its labels.
            Cosine needs no unit length.
        labels: [q], whole numbers or names. None, NaN and an empty text stand for no class: such a vector counts in no
            score as a query and is left out of the gallery. A negative number is a class like any other.
        metrics: names of `lab.metrics`, metrics made with knobs (`lab.metrics.create("hit_rate_at_k", k=(1,))`), or a
            mapping from a name of yours to a metric.
        gallery, gallery_labels: [g d] and [g], or one `lab.EmbeddingSet`; without them each vector is left out of its
            own ranking.
        k: how many neighbours of each query are kept in the ranking; ranks of all positives are always known.
        similarity: cosine or euclidean.
        device: where it searches: cpu, cuda, cuda:1, or auto, a GPU when there is one.
        distractors: keep gallery vectors without a class, as wrong answers to every query.

    Returns:
        `values`, a number from 0 to 1 by column; `per_query`, float64 [q] by column, NaN for queries without a
        positive; and the `ranking` itself.

    Raises:
        ValueError: shapes that do not fit, NaN or infinity, a metric that is unknown or needs more than vectors.

    Example:
        >>> import lab
        >>> found = lab.evaluate([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], ["cat", "cat", "dog"], metrics="map_at_r")
        >>> found.values, found.excluded  # the dog has no other
        ({'MAP@R': 1.0}, 1)
    """
    chosen = metrics_of(metrics)
    vectors, labels = parts_of(vectors, labels)
    gallery, gallery_labels = parts_of(gallery, gallery_labels)
    if labels is None:
        raise ValueError(
            "evaluate needs the class of each vector: evaluate(vectors, labels), or a set of both."
        )
    if (gallery is None) != (gallery_labels is None):
        raise ValueError(
            "evaluate needs gallery and gallery_labels together; give both, or neither."
        )
    refuse_what_needs_more(
        chosen, "measure it with lab.evaluation.scores.evaluate, which takes them"
    )
    columns = [label_column(labels)]
    if not labelled(columns[0]).any():
        raise ValueError(
            "None of the labels names a class, so nothing can be right or wrong; give the classes."
        )
    if gallery is not None:
        columns.append(label_column(gallery_labels, "gallery_labels"))
    numbers = _numbered(columns)
    query = _set(vectors, numbers[0], 0)
    searched = None
    if gallery is not None:
        searched = _set(gallery, numbers[1], len(query.labels))
    records = _evaluate(
        query, searched, chosen, k=k, similarity=similarity, device=device, distractors=distractors
    )
    return result_of(records)


def metrics_of(metrics: Any) -> dict[str, Metric]:
    """Return name to metric, of the metrics that `evaluate` takes."""
    import lab.metrics
    from lab.core.catalog import name_of

    if isinstance(metrics, Mapping):
        return dict(metrics)
    if isinstance(metrics, str) or not hasattr(metrics, "__iter__"):
        metrics = [metrics]
    named: dict[str, Metric] = {}
    for metric in metrics:
        if not isinstance(metric, lab.metrics.Metric):
            metric = lab.metrics.create(metric)
        name = name_of(type(metric))
        if name in named:  # one kind may come with several knobs
            name = f"{name} {len(named)}"
        named[name] = metric
    return named


def _numbered(columns: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Number the classes of several columns of labels alike, int64 [n] each; values without a class get `no_class`."""
    if any(column.dtype.kind == "U" for column in columns):
        columns = [_names(column) for column in columns]
    number: dict[Any, int] = {}
    numbered = []
    for column in columns:
        classes, place = np.unique(column, return_inverse=True)
        # Plain Python numbers are equal exactly where they are the same, whatever the types of the columns.
        of_class = np.array(
            [number.setdefault(name, len(number)) for name in classes.tolist()], np.int64
        )
        numbered.append(
            np.where(labelled(column), of_class[place], no_class(np.arange(len(column))))
        )
    return numbered


def _names(column: np.ndarray) -> np.ndarray:
    """Return the labels [n] of a column as names."""
    if column.dtype.kind == "U":
        return column
    return np.where(labelled(column), column.astype(str), "")


def _set(vectors: Any, labels: np.ndarray, first: int) -> EmbeddingSet:
    array = as_array(vectors, "vectors")
    if array.dtype.kind == "f":
        array = array.astype(np.promote_types(array.dtype, np.float32), copy=False)
    return EmbeddingSet(array, labels, first + np.arange(len(labels)))
