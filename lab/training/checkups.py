"""The check-ups of a training: when they are made, and what they record. `lab.training.signs` computes the signs, and
`lab.verdict` reads them.

Batches are examined at steps 1, 4, 16, 64, ... and at validations; validation images before the first step and at each
validation. Only for a training by one process: several see parts of a batch.
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
    """Makes the check-ups of a training of these `lab.training.loop.Parts`; none if `on` is false."""

    def __init__(self, parts: Any, steps: int, validate_every: int, on: bool):
        self.parts = parts
        self.steps = steps
        self.validate_every = validate_every
        self.on = on
        self._moved: float | None = None

    def due(self, step: int) -> bool:
        """Return whether the batch of this step is examined."""
        return self.on and (
            signs.due(step) or step % self.validate_every == 0 or step == self.steps
        )

    def optimised(self, step: int, take: Callable[[], None]) -> None:
        """Take a step of the optimiser; at a check-up, measure how far it moves the encoder."""
        if self.due(step):
            self._moved = signs.moved_by([*self.parts.encoder.parameters()], take)
        else:
            take()

    def of_batch(self, step: int, embeddings: torch.Tensor, batch: LoadedBatch) -> Checkup:
        """Return the signs of the batch of a step."""
        labels = torch.from_numpy(np.searchsorted(self.parts.classes, batch.labels.numpy())).to(
            embeddings.device
        )
        loss = self.parts.loss
        values: dict[str, Any] = signs.of_batch(
            embeddings.float().cpu().numpy(), labels.cpu().numpy()
        )
        # a loss that draws numbers draws the same ones without check-ups
        with torch.random.fork_rng(devices=[]):
            values |= signs.out_of_reach(loss, embeddings, labels)
            if step == 1:
                for name, value in signs.of_loss(loss, embeddings, labels).items():
                    values[f"loss_{name}"] = value
        values["moved"] = self._moved
        return Checkup(step, "batch", signs.rounded(values))

    def of_validation(self, validated: Validated) -> Generator[Record, None, None]:
        """Yield the signs of the embeddings of a validation.

        At the first validation, the second, fourth, eighth ... and the last one, training images are embedded in the
        same way and compared. This depends on the step alone, so that a resumed run is equal.
        """
        unseen = validated.embeddings
        if unseen is None or not self.on:
            return
        values = signs.of_validation(unseen.vectors, unseen.labels, unseen.items)
        number = validated.step // self.validate_every
        if validated.step == self.steps or number & (number - 1) == 0:
            values |= yield from self._seen_and_unseen(unseen)
        yield Checkup(validated.step, "validation", signs.rounded(values))

    def _seen_and_unseen(self, unseen: EmbeddingSet) -> Generator[Record, None, dict[str, float]]:
        """Return how well training images rank, beside the validation images, which are embedded already."""
        sample = self._training_images(signs.SAMPLE, whole=True)
        if sample is None:
            return {}
        items, loader = sample
        seen = yield from embed(self.parts.encoder, loader, items, what="training images")
        return signs.seen_and_unseen((seen.vectors, seen.labels), (unseen.vectors, unseen.labels))

    def before(self, untrained: EmbeddingSet | None) -> Generator[Record, None, None]:
        """Yield the signs before training: of its data, the untrained encoder and the pixels, on validation images.

        untrained: embeddings of the validation images, if they were computed already.
        """
        if not self.on:
            return
        validator = self.parts.validator
        # The data.
        # more images, among which copies are searched
        sample = self._training_images(2 * signs.SAMPLE)
        if sample is not None:
            items, loader = sample
            counts = np.unique(loader.image_set.labels[self.parts.items], return_counts=True)[1]
            single = int((counts == 1).sum())
            yield Checkup(
                0, "data", {"images": int(counts.sum()), "classes": len(counts), "single": single}
            )
        if validator is None:
            return
        # The untrained encoder and the pixels, on the same whole classes.
        chosen = signs.whole_classes(
            validator.loader.image_set.labels[validator.query], signs.SAMPLE
        )
        query = validator.query[chosen]
        try:
            if untrained is None:
                untrained = yield from embed(
                    self.parts.encoder, validator.loader, query, what="validation images"
                )
            values = signs.of_validation(untrained.vectors, untrained.labels, untrained.items)
            values |= yield from self._seen_and_unseen(untrained)
            yield Checkup(0, "untrained", signs.rounded(values))
            thumbnails = signs.Thumbnails()
            pixels = yield from embed(
                thumbnails, _shrunk(validator.loader), query, what="pixels of validation images"
            )
            values = signs.of_validation(pixels.vectors, pixels.labels, pixels.items)
            if sample is not None:
                trained = yield from embed(
                    thumbnails, _shrunk(loader), items, what="pixels of training images"
                )
                copies = signs.copies(pixels.vectors, trained.vectors)
                values["copies"] = int(copies.sum())
                values["compared"] = len(trained)
                values["training_images"] = int(counts.sum())
            yield Checkup(0, "pixels", signs.rounded(values))
        except NothingEmbedded:
            return

    def _training_images(self, most: int, whole: bool = False) -> tuple[np.ndarray, Loader] | None:
        """Return at most so many training images, with the labels of the training, and a loader that loads them as
        evaluation does; spread evenly, or in whole classes. None without a validator, which has such a loader."""
        items = self.parts.items
        validator = self.parts.validator
        if validator is None:
            return None
        loader = copy.copy(validator.loader)
        loader.image_set = self.parts.loader.image_set
        labels = loader.image_set.labels[items]
        if whole:
            return items[signs.whole_classes(labels, most)], loader
        spread = np.unique(np.linspace(0, len(items) - 1, most).astype(int))
        return items[spread], loader


def _shrunk(loader: Any) -> Any:
    """Return a loader of whole images at the size of thumbnails: a crop of two pictures may show the same part. A
    loader of features is returned as it is."""
    if not isinstance(loader, Loader):
        return loader
    zero = (0.0, 0.0, 0.0)
    one = (1.0, 1.0, 1.0)
    side = signs.THUMBNAIL
    other = copy.copy(loader)
    other.transform = transforms.testing(side, zero, one, resize=side, squash=True)
    return other
