"""Batches to inspect: one that the run's sampler draws, one that it stored, or a query with its list; and a loss."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from lab.core.arrays import check_shapes, header
from lab.core.arrays import read as tensors
from lab.core.knobs.labels import entry_in_words
from lab.core.results import EmbeddingSet
from lab.evaluation.collection import Collection
from lab.runs.config import RunConfig
from lab.runs.folder import EMBEDDED, Run
from lab.runs.schemas import Measured

if TYPE_CHECKING:
    from lab.losses import Loss

LARGEST = 160
"""Most images of an inspected batch: every pair of them is computed while a person waits."""
NEAREST = 47
LATE = 16
"""Images of a query's list: its first neighbours, and its true matches further down."""

DRAWN = "drawn"
QUERY = "query"
FAILURE = "failure"
SAVED = "saved"


def frame(path: Path) -> EmbeddingSet:
    """Read the validation embeddings in a file of `Run.frames`.

    Raises:
        ValueError: the file is damaged.
    """
    arrays = tensors(path)
    check_shapes(path, arrays, EMBEDDED)
    labels = Run(path.parent.parent).without_nameless(arrays["labels"], arrays["items"])
    return EmbeddingSet(arrays["vectors"], labels, arrays["items"])


@dataclass(frozen=True)
class InspectedBatch:
    """Embeddings with their labels and images.

    note: sentences about them. broken: images that are left out, as their embeddings are not finite. step: the
    training step at which the loss saw them; None for stored embeddings of a split.
    """

    embedded: EmbeddingSet
    note: str = ""
    broken: tuple[int, ...] = ()
    step: int | None = None

    def __len__(self) -> int:
        return len(self.embedded)


def offered(run: Run) -> dict[str, str]:
    """Return the code of every batch that a run offers, to its label for people."""
    batches = {DRAWN: "Drawn by the run's sampler", QUERY: "The shown query and its list"}
    if run.failure is not None:
        batches[FAILURE] = "The batch that stopped it"
    for step in reversed(run.batches()):
        batches[f"{SAVED}-{step}"] = f"Saved at step {step:,}"
    return batches


def read(
    run: Run, code: str, collection: Collection, draw: int = 0, item: int | None = None
) -> InspectedBatch:
    """Return the batch of a code.

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
    if code == FAILURE:
        path = run.failure
    else:
        path = run.batches().get(int(code.partition("-")[2]))
    if path is None:
        raise ValueError(
            "This batch has been deleted: a run keeps only its newest batches (training.keep_batches)."
        )
    return _kept(path)


def _drawn(run: Run, collection: Collection, draw: int) -> InspectedBatch:
    pool = collection.gallery
    super_labels = collection.images.super_labels
    if super_labels is not None:
        super_labels = super_labels[pool.items]
    config = run.config
    if config.outside:  # an external run has no sampler of its own, so small classes are no mistake
        config = config.changed("sampler.short_classes", "leave_out")
    full = config.sampler.values["batch_size"]
    # Halve the batch until it can be inspected and the split has enough classes for it.
    sizes = [full >> power for power in range(20) if 4 <= full >> power <= LARGEST] or [full]
    for size in sizes:
        try:
            sampler = config.changed("sampler.batch_size", size).sampler.create()
            rows = sampler.bind(pool.labels, super_labels, seed=config.training.knobs.seed).batch(
                draw
            )
            break
        except ValueError:  # too few classes for it
            if size == sizes[-1]:
                raise
    note = f"The sampler, {entry_in_words(config.sampler.name)}, took them from this split."
    if size != full and not config.outside:
        note = f"The run trained on batches of {full:,}; this one has {len(rows):,} images. {note}"
    return InspectedBatch(pool.take(rows), note)


def _list_of(collection: Collection, item: int | None) -> InspectedBatch:
    if item is None:
        raise ValueError("Choose a query first: on the Browse page, or in another batch.")
    evidence = collection.ask(item)
    positions, ranks = evidence.ranking.positives(0)
    near = evidence.ranking.neighbours[0][:NEAREST]
    near = near[near >= 0]
    late = positions[ranks > len(near)][:LATE]
    if not evidence.query.labelled.all():
        raise ValueError(
            "The class of this query is not known, so no loss can be asked of it; choose another query."
        )
    near = near[collection.gallery.labelled[near]]
    listed = collection.gallery.take(np.concatenate([near, late]))
    query = evidence.query
    embedded = EmbeddingSet(
        np.concatenate([query.vectors, listed.vectors]),
        np.concatenate([query.labels, listed.labels]),
        np.concatenate([query.items, listed.items]),
    )
    more = f" and {len(late)} true matches from further down" if len(late) else ""
    return InspectedBatch(
        embedded, f"The query, its {len(near)} nearest images{more}, as one batch."
    )


def _kept(path: Path) -> InspectedBatch:
    arrays = tensors(path)
    stored = header(path, Measured)
    check_shapes(path, arrays, {"embeddings": "float n d", "labels": "int n", "items": "int n"})
    whole = EmbeddingSet(arrays["embeddings"], arrays["labels"], arrays["items"])
    finite = np.isfinite(whole.vectors).all(1)
    rows = np.flatnonzero(finite & whole.labelled)
    notes = []
    if stored.get("loss") is not None:
        notes.append(f"The loss of this step was {stored['loss']:.4g}.")
    if stored.get("sentence"):
        notes.append(stored["sentence"])
    if len(rows) > LARGEST:  # class after class, in the order in which classes first appear
        _, first, codes = np.unique(whole.labels[rows], return_index=True, return_inverse=True)
        rows = np.sort(rows[np.argsort(first[codes], kind="stable")][:LARGEST])
        notes.append(
            f"The first {len(rows):,} of its {len(whole):,} images are inspected, whole classes at a time."
        )
    broken = tuple(whole.items[~finite].tolist())
    return InspectedBatch(whole.take(rows), " ".join(notes), broken, stored.get("step"))


WRAPPED = "loss."
"""Prefix that a wrapper adds to the names of the weights of the loss inside it."""


@dataclass(frozen=True)
class ChosenLoss:
    """A loss to inspect. values: its knobs. wrapped: with the run's wrappers."""

    name: str
    values: dict[str, Any]
    wrapped: bool = False

    @property
    def code(self) -> str:
        """A text that is equal for equal losses; a key for caches."""
        return json.dumps([self.name, self.values, self.wrapped], sort_keys=True)


def loss_for(
    run: Run, chosen: ChosenLoss, batch: InspectedBatch, split: str
) -> tuple[Loss, np.ndarray, str]:
    """Return the loss, the labels [n] for its call, and a sentence on where its class weights come from.

    A loss with weights takes those that the run has learnt, if it is the run's own loss and the batch is of classes
    that it was trained on: those of the checkpoint and step of the split's embeddings. Else it takes random weights for
    the classes of the batch, and the sentence says so.

    Raises:
        ValueError: knobs out of range, or that do not fit together.
    """
    config = run.config.changed("loss", {"name": chosen.name, **chosen.values})
    if not chosen.wrapped:
        config = config.changed("wrappers", [])
    labels = batch.embedded.labels
    width = batch.embedded.vectors.shape[1]
    classes, compact = np.unique(labels, return_inverse=True)
    if not config.loss.derived:
        return _created(config, len(classes), width), labels, ""
    dataset = run.dataset()
    trained = classes[:0]
    if "train" in dataset.splits:
        trained = np.unique(dataset.labels[dataset.splits["train"].items])
    if run.config.loss.outside:
        why = "this run was made elsewhere"
    elif chosen.name != run.config.loss.name:
        why = f"this run was trained with {entry_in_words(run.config.loss.name)}, which learns no such weights"
    elif not np.isin(classes, trained).all():
        why = "this run was trained on other classes; choose a batch that it stored to see learnt weights"
    else:
        loss = _created(config, len(trained), width)
        why, weights = _take_over(loss, run, chosen.wrapped, batch, split)
        if not why:
            return loss, np.searchsorted(trained, labels), weights
    sentence = f"Its weights for the {len(classes)} classes of this batch are random: {why}."
    return _created(config, len(classes), width), compact, sentence


def _created(config: RunConfig, num_classes: int, width: int) -> Loss:
    import torch

    from lab.runs.building.loss import wrapped_loss

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.training.knobs.seed)
        return cast("Loss", wrapped_loss(config, num_classes, width))


def _take_over(
    loss: Loss, run: Run, wrapped: bool, batch: InspectedBatch, split: str
) -> tuple[str, str]:
    """Load the weights that the run has learnt into a loss.

    Returns:
        why that is impossible (empty if it was done), and a sentence on which weights they are.
    """
    from lab.runs.building.trained import read_checkpoint

    origin = run.origin(split)
    if run.used_checkpoint() is None:
        return "the run has no checkpoint", ""
    name, state = read_checkpoint(run, origin.checkpoint)
    step = state["progress"]["step"]
    if (
        batch.step is None
        and origin.checkpoint
        and (name, step) != (origin.checkpoint, origin.step)
    ):
        return (
            f"these embeddings are of the {origin.words}, which is not kept any more; evaluate the run again",
            "",
        )
    prefix = "" if wrapped else WRAPPED * len(run.config.wrappers)
    learnt = {}
    for key, value in state["loss"].items():
        if key.startswith(prefix):
            learnt[key.removeprefix(prefix)] = value
    try:
        loss.load_state_dict(learnt)
    except RuntimeError:
        return (
            f"those of the {name} checkpoint have another shape, since the loss has other knobs here",
            "",
        )
    sentence = (
        f"Its class weights are those that the run has learnt: {name} checkpoint, step {step:,}"
    )
    if batch.step is not None and batch.step != step:
        sentence += f", while the embeddings of this batch are of step {batch.step:,}"
    return "", f"{sentence}."
