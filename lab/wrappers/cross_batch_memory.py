"""Cross-batch memory (Wang et al., 2020), for any loss over pairs: rank the batch among the last `size` embeddings.

Embeddings change slowly during training, so embeddings of recent batches, stored without gradient, replace a larger
batch. The memory is an exact ring buffer, first in first out: each query is compared with the whole batch except
itself, and with the newest stored embeddings. (The released code overwrites the newest slots when the memory overflows,
and takes the memory for empty if the last slot holds label 0.)

With `unique` there is one slot for each image, which holds its latest embedding. 001 used this on SOP, with as many
slots as training images. The training loop provides the numbers of the images.

The memory and its count are buffers, so a checkpoint restores them exactly. Rows are stored as the wrapped loss reads
them: normalised if it normalises, and in float64 as soon as a batch is float64. O(size d) memory, plus the wrapped loss
with r = size items.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from lab.core.knobs import MOST_ITEMS, WIDEST, knob
from lab.losses import Batch
from lab.wrappers._base import Wrapper


class CrossBatchMemory(Wrapper):
    """Any loss over pairs, with recent embeddings as further items (Wang et al., 2020, algorithm 1).

    In training mode each call of `forward` stores its batch; `per_query`, and `forward` in evaluation mode, only read.

    embeddings: buffer [size d]; labels: buffer int64 [size].
    seen: buffer, number of rows stored so far; the next one goes to slot seen % size. With `unique`, the slots in use.
    images: buffer int64 [size], only with `unique`: the number of the image in each slot, -1 for an empty slot.
    images_of_batch: int64 [n], the numbers of the images of the next batch; with `unique` the caller must set it.

    Example:
        >>> import lab, torch
        >>> loss = lab.wrappers.create("cross_batch_memory", loss=lab.losses.create("contrastive"), size=8, dim=2)
        >>> for step in range(3):
        ...     value = loss(torch.eye(2), torch.tensor([step, step]))
        >>> int(loss.seen), loss.labels.tolist()[:6]
        (6, [0, 0, 1, 1, 2, 2])
    """

    images_of_batch = cast("Tensor | None", None)
    takes_mined_pairs = False

    dim: int = knob("Width of the embeddings.", ge=1, le=WIDEST)
    size: int = knob(
        "Number of embeddings in the memory.",
        default=1024,
        ge=1,
        le=MOST_ITEMS,
        scale="log",
        unit="embeddings",
    )
    unique: bool = knob(
        "Keep one embedding of each image, its latest; size must then be at least the number of training images.",
        default=False,
    )
    batch_weight: float = knob(
        "Weight of the loss of the batch without memory, which is 1 in the released code.",
        default=0.0,
        ge=0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.needs_positives and self.takes_references):
            raise ValueError(
                f"CrossBatchMemory needs a loss that ranks references, got {type(self.loss).__name__}, "
                "which compares with class weights."
            )
        self.needs_positives = False
        self.takes_references = False
        self.takes_mined_pairs = False
        self.mean_of_queries = self.mean_of_queries and not self.knobs.batch_weight
        size = self.knobs.size
        dim = self.knobs.dim
        self.embeddings: Tensor = nn.Buffer(torch.zeros(size, dim))
        self.labels: Tensor = nn.Buffer(torch.zeros(size, dtype=torch.int64))
        self.seen: Tensor = nn.Buffer(torch.zeros((), dtype=torch.int64))
        if self.knobs.unique:
            self.images: Tensor = nn.Buffer(torch.full((size,), -1))

    def values(self, batch: Batch, **kwargs: Any) -> Tensor:
        values = self.loss.values(self._with_memory(batch), **kwargs)
        weight = self.knobs.batch_weight
        if weight:
            values = values + weight * self.loss.values(batch, **kwargs).nan_to_num(0)
        return values

    def total(self, batch: Batch, **kwargs: Any) -> Tensor:
        loss = self._wrapped_loss(self._with_memory(batch), kwargs)
        if self.knobs.batch_weight:
            loss = loss + self.knobs.batch_weight * self._wrapped_loss(batch, kwargs)
        if self.training:
            self._store(batch)
        return loss

    def _wrapped_loss(self, batch: Batch, kwargs: dict) -> Tensor:
        """Compute the wrapped loss, [], also for a batch without positives."""
        if batch.has_positives:
            return self.loss.total(batch, **kwargs)
        return self.loss.without_positives(batch, **kwargs)

    def _admit(
        self, embeddings: Tensor, labels: Tensor, indices_tuple: Any, ref_emb: Any, ref_labels: Any
    ) -> Batch:
        if indices_tuple is not None or ref_emb is not None:
            raise ValueError(
                "CrossBatchMemory uses its memory as references and takes neither ref_emb nor mined pairs; leave them "
                "out."
            )
        batch = super()._admit(embeddings, labels, None, None, None)
        if batch.queries.shape[1] != self.knobs.dim:
            raise ValueError(
                f"CrossBatchMemory was built for embeddings of width {self.knobs.dim}, got {batch.queries.shape[1]}."
            )
        if len(batch) > self.knobs.size:
            raise ValueError(
                f"CrossBatchMemory: size must be at least the batch size, got size {self.knobs.size} and a batch of "
                f"{len(batch)}."
            )
        return batch

    def _with_memory(self, batch: Batch) -> Batch:
        """Return the batch with more items: first its own rows, then the rows of the memory."""
        if self.knobs.unique:
            in_use = self.images >= 0
            in_batch = torch.isin(self.images, self._image_numbers(batch))
            slots = torch.nonzero(in_use & ~in_batch).flatten()
        else:  # the newest rows, newest first, as many as fit into the ring together with the batch
            seen = int(self.seen)
            kept = min(seen, self.knobs.size - len(batch))
            slots = (seen - 1 - torch.arange(kept, device=self.labels.device)) % self.knobs.size
        return replace(
            batch,
            items=torch.cat([batch.queries.detach(), self.embeddings[slots].to(batch.queries)]),
            item_labels=torch.cat([batch.query_labels, self.labels[slots].to(batch.query_labels)]),
        )

    def _image_numbers(self, batch: Batch) -> Tensor:
        """Return the numbers of the images of the batch, int64 [n]."""
        images = self.images_of_batch
        if images is None or len(images) != len(batch):
            raise ValueError(
                "CrossBatchMemory: unique has a slot for each image and must know which images a batch holds; train "
                "with `lab train`, or set images_of_batch to their numbers before each call."
            )
        return images.to(self.images)

    def _slots_of(self, batch: Batch) -> Tensor:
        """Return the slot of each image of the batch, int64 [n]; new images take free slots."""
        images = self._image_numbers(batch)
        new_images = torch.unique(images[~torch.isin(images, self.images)])
        first = int(self.seen)
        if first + len(new_images) > self.knobs.size:
            raise ValueError(
                f"CrossBatchMemory: unique needs a slot for each training image, but {self.knobs.size} slots are full; "
                "raise size to the number of training images."
            )
        self.images[first : first + len(new_images)] = new_images
        self.seen += len(new_images)

        # Look the images up among the slots in use, sorted by image number.
        order = self.images[: int(self.seen)].argsort()
        return order[torch.searchsorted(self.images[order], images)]

    @torch.no_grad()
    def _store(self, batch: Batch) -> None:
        """Store the embeddings and labels of the batch."""
        if self.knobs.unique:
            slots = self._slots_of(batch)
        else:
            slots = (
                self.seen + torch.arange(len(batch), device=self.seen.device)
            ) % self.knobs.size
            self.seen += len(batch)
        self._widen(batch.queries)
        self.embeddings[slots] = batch.queries.to(self.embeddings)
        self.labels[slots] = batch.query_labels.to(self.labels)

    def _widen(self, rows: Tensor) -> None:
        """Convert the memory to float64 if these rows are float64."""
        if rows.dtype == torch.float64:
            self.embeddings = self.embeddings.double()

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *rest: Any) -> None:
        self._widen(state.get(f"{prefix}embeddings", self.embeddings))
        super()._load_from_state_dict(state, prefix, *rest)
