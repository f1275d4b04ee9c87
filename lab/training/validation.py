"""Validate a model in training on classes that it does not train on."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from lab.core.records import Record, Validated
from lab.core.results import Classifier, EmbeddingSet, Ranking
from lab.core.streams import result_of
from lab.data.images.loading import Loader
from lab.evaluation.embedding import embed
from lab.evaluation.mixed_precision import MixedPrecision
from lab.evaluation.scores import Evaluation, class_evidence, column_directions, evaluate

if TYPE_CHECKING:
    from lab.metrics import Metric
    from lab.training.distributed import Processes

BINS = 50
PINNED = 8
SHOWN = 8
SAMPLE = 1024


@dataclass
class Validator:
    """Embeds and searches the validation images.

    loader: with a testing transform. query, gallery: int64 positions in the data set; without a gallery the queries
        are searched among each other.
    metrics: name to metric. select_by: the column that chooses the best checkpoint. device: where to search.
    loss: the loss in training; metrics of its anchors or classifier need validation images of its classes, and are left
        out if it is None. classes: int64 [c], the label of each of its classes.

    Raises:
        ValueError: no metric has the column `select_by`; lists those there are.
    """

    loader: Loader
    query: np.ndarray
    gallery: np.ndarray | None
    metrics: Mapping[str, Metric]
    select_by: str
    batch_size: int = 256
    similarity: str = "cosine"
    precision: MixedPrecision | None = None
    device: str | torch.device = "auto"
    loss: torch.nn.Module | None = None
    classes: np.ndarray = field(default_factory=lambda: np.arange(0))
    higher_is_better: bool = field(init=False)

    def __post_init__(self) -> None:
        levels = self.loader.image_set.levels
        columns = columns_of(self.metrics, levels, self._class_evidence())
        if self.select_by not in columns:
            why = ""
            if self.select_by in columns_of(self.metrics, levels):
                why = " It needs a loss with class anchors or a classifier, and validation images of its classes."
            raise ValueError(
                f"select_by must be a column of the metrics, one of {', '.join(columns) or 'none'}; got "
                f"{self.select_by!r}.{why or ' Add its metric, or give --training.select_by.'}"
            )
        self.higher_is_better = columns[self.select_by]

    def __call__(
        self, encoder: torch.nn.Module, step: int, processes: Processes | None = None
    ) -> Generator[Record, None, Validated | None]:
        """Yield progress and return the validation; the caller sets its `best`.

        processes: those that share the embedding; the first searches and measures, the others return None.
        """
        started = time.perf_counter()
        query = yield from self.embedded(encoder, self.query, processes)
        gallery = None
        if self.gallery is not None:
            gallery = yield from self.embedded(encoder, self.gallery, processes)
        # All processes embedded; the first one measures.
        if processes is not None and not processes.first:
            return None
        evaluation: Evaluation = yield from evaluate(
            query,
            gallery,
            self.metrics,
            k=SHOWN,
            similarity=self.similarity,
            levels=self.loader.image_set.levels,
            device=self.device,
            what="validation queries",
            **self._class_evidence(),
        )
        searched = query if gallery is None else gallery
        return Validated(
            step=step,
            values=evaluation.values,
            best=False,
            seconds=time.perf_counter() - started,
            similarities=similarities(query),
            pinned=pinned(evaluation.ranking, query, searched),
            embeddings=query,
        )

    def _class_evidence(self) -> dict[str, Any]:
        """Return the present anchors and classifier of the loss."""
        return {} if self.loss is None else class_evidence(self.loss.state_dict(), self.classes)

    def embedded(
        self, encoder: Any, items: np.ndarray, processes: Processes | None = None
    ) -> Generator[Record, None, EmbeddingSet]:
        """Yield progress and return the embeddings of validation images, by their positions in the data set."""
        options: dict[str, Any] = {
            "batch_size": self.batch_size,
            "precision": self.precision,
            "what": "validation images",
        }
        if processes is None:
            return (yield from embed(encoder, self.loader, items, **options))
        share = processes.part_of(items, self.batch_size)
        part = None
        if len(share):
            part = yield from embed(encoder, self.loader, share, **options)
        return processes.whole(part, next(encoder.parameters()).device)

    def score(self, values: Mapping[str, float]) -> float:
        """Return the selecting column, signed so that larger is better."""
        value = values[self.select_by]
        return value if self.higher_is_better else -value


def similarities(embeddings: EmbeddingSet) -> dict[str, list[int]]:
    """Count positive and negative pairs in `BINS` equal bins of cosine on [-1, 1], of at most 1,024 images.

    Whole classes are taken, spread evenly over the set, so that there are positive pairs to count. An image without a
    class is in no pair.
    """
    embeddings = embeddings.take(np.flatnonzero(embeddings.labelled))
    if not len(embeddings):
        return {name: [0] * BINS for name in ("positive", "negative")}
    classes, counts = np.unique(embeddings.labels, return_counts=True)
    count = max(2, int(SAMPLE / counts.mean()))
    chosen = classes[np.unique(np.linspace(0, len(classes) - 1, count).astype(int))]
    rows = np.flatnonzero(np.isin(embeddings.labels, chosen))[:SAMPLE]
    vectors = embeddings.vectors[rows]
    labels = embeddings.labels[rows]
    vectors = vectors / np.maximum(
        np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny
    )
    upper = np.triu_indices(len(rows), k=1)
    cosines = np.clip((vectors @ vectors.T)[upper], -1, 1)
    same = (labels[:, None] == labels[None, :])[upper]
    parts = {"positive": cosines[same], "negative": cosines[~same]}
    return {
        name: np.histogram(part, bins=BINS, range=(-1, 1))[0].tolist()
        for name, part in parts.items()
    }


def pinned(ranking: Ranking, query: EmbeddingSet, gallery: EmbeddingSet) -> list[dict]:
    """Return the same eight queries at every validation, with their first neighbours."""
    strips = []
    for i in _pins(query, gallery):
        present = ranking.neighbours[i] >= 0
        strips.append(
            {
                "query": int(query.items[i]),
                "neighbours": gallery.items[ranking.neighbours[i][present][:SHOWN]].tolist(),
                "scores": [round(float(score), 5) for score in ranking.scores[i][present][:SHOWN]],
            }
        )
    return strips


def _pins(query: EmbeddingSet, gallery: EmbeddingSet) -> np.ndarray:
    """Return the rows of the queries that are followed: one per class, of classes spread evenly over those that have a
    match; with fewer classes than `PINNED`, further images spread evenly over the set."""
    _, codes, counts = np.unique(query.labels, return_inverse=True, return_counts=True)
    if gallery is query:
        matched = counts[codes] > 1
    else:
        matched = np.isin(query.labels, gallery.labels)
    matched &= query.labelled
    rows = np.flatnonzero(matched) if matched.any() else np.arange(len(query))
    firsts = rows[np.unique(codes[rows], return_index=True)[1]]
    chosen = firsts[np.unique(np.linspace(0, len(firsts) - 1, PINNED).astype(int))]
    others = np.setdiff1d(rows, chosen)
    count = max(0, min(PINNED - len(chosen), len(others)))
    more = np.unique(np.linspace(0, len(others) - 1, count).astype(int))
    return np.concatenate([chosen, others[more]])


def columns_of(
    metrics: Mapping[str, Metric],
    levels: Iterable[str] = (),
    class_weights: Iterable[str] = ("anchors", "classifier"),
) -> dict[str, bool]:
    """Return every column of these metrics, and whether more is better; measured on four unit vectors of two classes.

    Args:
        levels: names of the coarser levels that the data set has.
        class_weights: which of `anchors` and `classifier` the loss has; metrics that need another are left out.

    Raises:
        ValueError: a metric needs levels and there are none.
    """
    angles = np.array([0.0, 0.3, 2.0, 2.2], dtype=np.float32)
    labels = np.array([0, 0, 1, 1])
    toy = EmbeddingSet(np.stack([np.cos(angles), np.sin(angles)], axis=1), labels, np.arange(4))
    anchors = toy.vectors[::2]
    classes = np.arange(2)
    weights_of: dict[str, Any] = {}
    if "anchors" in class_weights:
        weights_of["anchors"] = anchors
    if "classifier" in class_weights:
        weights_of["classifier"] = Classifier(anchors, np.zeros(2, np.float32), classes)
    outcome = evaluate(
        toy,
        None,
        metrics,
        k=1,
        levels=dict.fromkeys(levels, labels),
        device="cpu",
        anchor_labels=classes,
        **weights_of,
    )
    return column_directions(metrics, result_of(outcome).measurements)
