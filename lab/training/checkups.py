"""When a training is examined, and what it records then: `lab.training.signs` says what, `lab.verdict` reads it.

Batches at steps 1, 4, 16, 64, ... and at validations; validation images before the first step and at each validation.
Of a training by one process: several see parts of a batch.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from lab.core.records import Checkup, Record, Validated
from lab.core.results import EmbeddingSet
from lab.data.images import transforms
from lab.data.images.loading import Loader
from lab.evaluation.embedding import NothingEmbedded, embed
from lab.training import signs

if TYPE_CHECKING:
    from lab.data.images.loading import LoadedBatch


class Checkups:
    """Makes the check-ups of a training of these `lab.training.loop.Parts`; none where `on` is false."""

    def __init__(self, parts: Any, steps: int, validate_every: int, on: bool):
        self.parts, self.steps, self.validate_every, self.on = parts, steps, validate_every, on
        self._moved: float | None = None

    def due(self, step: int) -> bool:
        """Whether the batch of this step is examined."""
        return self.on and (signs.due(step) or step % self.validate_every == 0 or step == self.steps)

    def optimised(self, step: int, take: Callable[[], None]) -> None:
        """Take a step of the optimiser; at a check-up, look how far it moves the encoder."""
        if self.due(step):
            self._moved = signs.moved_by([*self.parts.encoder.parameters()], take)
        else:
            take()

    def of_batch(self, step: int, embeddings: torch.Tensor, batch: LoadedBatch) -> Checkup:
        """What the batch of a step shows."""
        labels = torch.from_numpy(np.searchsorted(self.parts.classes, batch.labels.numpy())).to(embeddings.device)
        loss = self.parts.loss
        values: dict[str, Any] = signs.of_batch(embeddings.float().cpu().numpy(), labels.cpu().numpy())
        with torch.random.fork_rng(devices=[]):  # a loss that draws numbers draws the same ones without check-ups
            values |= signs.out_of_reach(loss, embeddings, labels)
            if step == 1:
                values |= {f"loss_{name}": one for name, one in signs.of_loss(loss, embeddings, labels).items()}
        return Checkup(step, "batch", signs.rounded(values | {"moved": self._moved}))

    def of_validation(self, validated: Validated) -> Generator[Record, None, None]:
        """What the embeddings of a validation show; beside those of training images, seen in the same way, at the first
        validation, the second, fourth, eighth ... and the last one: by its step alone, so that a resumed run is equal.
        """
        found = validated.embeddings
        if found is None or not self.on:
            return
        values = signs.of_validation(found.vectors, found.labels, found.items)
        number = validated.step // self.validate_every
        if validated.step == self.steps or number & (number - 1) == 0:
            values |= yield from self._seen_and_unseen(found)
        yield Checkup(validated.step, "validation", signs.rounded(values))

    def _seen_and_unseen(self, unseen: EmbeddingSet) -> Generator[Record, None, dict[str, float]]:
        """Return how well training images rank beside those of validation, which are embedded already."""
        sample = self._training_images(signs.SAMPLE, whole=True)
        if sample is None:
            return {}
        seen = yield from embed(self.parts.encoder, sample[1], sample[0], what="training images")
        return signs.seen_and_unseen((seen.vectors, seen.labels), (unseen.vectors, unseen.labels))

    def before(self, untrained: EmbeddingSet | None) -> Generator[Record, None, None]:
        """What the training starts from: its data, the encoder as it came and the pixels, on validation images.

        untrained: embeddings of the validation images, where they were made already.
        """
        validator, sample = self.parts.validator, self._training_images(2 * signs.SAMPLE)  # to find copies among
        if not self.on:
            return
        if sample is not None:
            counts = np.unique(sample[1].image_set.labels[self.parts.items], return_counts=True)[1]
            single = int((counts == 1).sum())
            yield Checkup(0, "data", {"images": int(counts.sum()), "classes": len(counts), "single": single})
        if validator is None:
            return
        chosen = signs.whole_classes(validator.loader.image_set.labels[validator.query], signs.SAMPLE)
        query = validator.query[chosen]
        try:
            if untrained is None:
                untrained = yield from embed(self.parts.encoder, validator.loader, query, what="validation images")
            values = signs.of_validation(untrained.vectors, untrained.labels, untrained.items)
            values |= yield from self._seen_and_unseen(untrained)
            yield Checkup(0, "untrained", signs.rounded(values))
            shrunk = _shrunk(validator.loader)
            seen = yield from embed(signs.Thumbnails(), shrunk, query, what="pixels of validation images")
            values = signs.of_validation(seen.vectors, seen.labels, seen.items)
            if sample is not None:
                shrunk = _shrunk(sample[1])
                trained = yield from embed(signs.Thumbnails(), shrunk, sample[0], what="pixels of training images")
                twice = signs.copies(seen.vectors, trained.vectors)
                values |= {"copies": int(twice.sum()), "compared": len(trained), "training_images": int(counts.sum())}
            yield Checkup(0, "pixels", signs.rounded(values))
        except NothingEmbedded:
            return

    def _training_images(self, most: int, whole: bool = False) -> tuple[np.ndarray, Loader] | None:
        """At most so many training images, with the labels of the training, as evaluation sees them; spread evenly, or
        in whole classes. None where nothing says how evaluation sees them."""
        items, validator = self.parts.items, self.parts.validator
        if validator is None:
            return None
        loader = copy.copy(validator.loader)
        loader.image_set = self.parts.loader.image_set
        labels = loader.image_set.labels[items]
        spread = np.unique(np.linspace(0, len(items) - 1, most).astype(int))
        return items[signs.whole_classes(labels, most) if whole else spread], loader


def _shrunk(loader: Any) -> Any:
    """Return a loader of whole images at the size of thumbnails: a crop of two pictures may show the same part. One of
    frozen features stays as it is."""
    if not isinstance(loader, Loader):
        return loader
    zero, one = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    side = signs.THUMBNAIL
    other = copy.copy(loader)
    other.transform = transforms.testing(side, zero, one, resize=side, squash=True)
    return other
