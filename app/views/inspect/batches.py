"""Batches to inspect: one that the run's sampler draws, one that the run kept, or a query with its list.

Knows nothing of Streamlit.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.forms import knob_labels
from app.results.collection import Collection
from lab.core.results import EmbeddingSet
from lab.runs import Run
from lab.runs.folder import header, tensors

LARGEST = 160
"""Images of a batch that is inspected: every pair of them is looked at while a person waits."""
NEAREST, LATE = 47, 16
"""Of a query's list: its first neighbours, and its true matches further down."""

DRAWN, QUERY, FAILURE, SAVED = "drawn", "query", "failure", "saved"


@dataclass(frozen=True)
class InspectedBatch:
    """Embeddings with their labels and images.

    note: what should be known about them, in sentences. step: at which the loss saw them, in training; None for stored
    embeddings of a split. broken: int64 [b], images whose embeddings are not finite; they
    are left out.
    """

    embedded: EmbeddingSet
    note: str = ""
    broken: tuple[int, ...] = ()
    step: int | None = None

    def __len__(self) -> int:
        return len(self.embedded)


def offered(run: Run) -> dict[str, str]:
    """Code of every batch that a run offers, to what people call it."""
    batches = {DRAWN: "Drawn by the run's sampler", QUERY: "The shown query and its list"}
    if run.failure is not None:
        batches[FAILURE] = "The batch that stopped it"
    return batches | {f"{SAVED}-{step}": f"Saved at step {step:,}" for step in reversed(run.batches())}


def read(run: Run, code: str, collection: Collection, draw: int = 0, item: int | None = None) -> InspectedBatch:
    """The batch of a code.

    Args:
        collection: the split that batches are drawn from and queries are ranked in.
        draw: which of the sampler's batches.
        item: the shown query.

    Raises:
        ValueError: the batch is gone or damaged, none can be drawn, or the image is no query.
    """
    if code == DRAWN:
        return _drawn(run, collection, draw)
    if code == QUERY:
        return _list_of(collection, item)
    path = run.failure if code == FAILURE else run.batches().get(int(code.partition("-")[2]))
    if path is None:
        raise ValueError("This batch has been deleted: a run keeps only its newest batches (training.keep_batches).")
    return _kept(path)


def _drawn(run: Run, collection: Collection, draw: int) -> InspectedBatch:
    pool = collection.gallery
    supers = collection.images.super_labels
    supers = None if supers is None else supers[pool.items]
    config = run.config
    if config.outside:  # nobody chose its sampler, so small classes are no mistake
        config = config.changed("sampler.short_classes", "leave_out")
    size = full = config.sampler.values["batch_size"]
    while True:
        try:
            if size <= LARGEST:
                smaller = config.changed("sampler.batch_size", size)
                sampler = smaller.sampler.create().bind(pool.labels, supers, seed=config.training.knobs.seed)
                rows = sampler.batch(draw)
                break
        except ValueError:
            if size < 8:
                raise
        size //= 2
    cut = f"The run trained on batches of {full:,}; this one has {len(rows):,} images. "
    cut = "" if size == full or config.outside else cut
    kind = knob_labels.named(config.sampler.name)
    note = f"{cut}The sampler, {kind}, took them from this split."
    return InspectedBatch(EmbeddingSet(pool.vectors[rows], pool.labels[rows], pool.items[rows]), note)


def _list_of(collection: Collection, item: int | None) -> InspectedBatch:
    if item is None:
        raise ValueError("Choose a query first: on the Browse page, or in another batch.")
    evidence = collection.ask(item)
    positions, ranks = evidence.ranking.positives(0)
    near = evidence.ranking.neighbours[0][:NEAREST]
    near = near[near >= 0]
    late = positions[ranks > len(near)][:LATE]
    rows = np.concatenate([near, late])
    one, pool = evidence.query, collection.gallery
    embedded = EmbeddingSet(
        np.concatenate([one.vectors, pool.vectors[rows]]),
        np.concatenate([one.labels, pool.labels[rows]]),
        np.concatenate([one.items, pool.items[rows]]),
    )
    more = f" and {len(late)} true matches from further down" if len(late) else ""
    return InspectedBatch(embedded, f"The query, its {len(near)} nearest images{more}, as one batch.")


def _kept(path: Path) -> InspectedBatch:
    arrays = tensors(path)
    stored = header(path)
    whole = EmbeddingSet(arrays["embeddings"], arrays["labels"], arrays["items"])
    finite = np.isfinite(whole.vectors).all(1)
    broken = tuple(int(item) for item in whole.items[~finite])
    rows = _classwise(whole.labels, np.flatnonzero(finite))
    notes = []
    if "loss" in stored and stored["loss"] is not None:
        notes.append(f"The loss of this step was {stored['loss']:.4g}.")
    if stored.get("sentence"):
        notes.append(str(stored["sentence"]))
    if len(rows) < int(finite.sum()):
        notes.append(f"The first {len(rows):,} of its {len(whole):,} images are inspected, whole classes at a time.")
    return InspectedBatch(
        EmbeddingSet(whole.vectors[rows], whole.labels[rows], whole.items[rows]),
        " ".join(notes),
        broken,
        stored.get("step"),
    )


def _classwise(labels: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """At most `LARGEST` of the rows, class after class in the order in which classes first appear."""
    if len(rows) <= LARGEST:
        return rows
    _, first, codes = np.unique(labels[rows], return_index=True, return_inverse=True)
    return np.sort(rows[np.argsort(first[codes], kind="stable")][:LARGEST])
