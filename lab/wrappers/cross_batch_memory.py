"""Cross-batch memory (Wang et al., 2020), for any loss over pairs: rank the batch among the last `size` embeddings.

Embeddings drift slowly, so those of recent batches, kept without gradient, stand in for a larger batch. The memory is
an exact ring, first in first out: each query is compared with the whole batch, itself left out by position, and with
the newest of the embeddings before it. (The released code overwrites the newest slots when the memory overflows, and
forgets its fill when a class-0 label sits in the last slot.)

With `unique` there is one slot for each image instead, holding what it was embedded to last: how 001 ran it on SOP,
with as many slots as training images. The images' numbers come from the training loop.

The memory and its count are buffers, so that a checkpoint resumes it exactly. Rows are kept as the wrapped loss sees
them, normalised where it normalises, and in float64 once a batch is. O(size d) memory, and the wrapped loss with
r = size items.
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

    In training mode each call of `forward` puts its batch in; `per_query`, and `forward` in evaluation mode, only read.

    embeddings: buffer [size d]; labels: buffer int64 [size].
    seen: buffer, how many rows were ever put in; the next one goes to slot seen % size. With `unique`, slots in use.
    images: buffer int64 [size], with `unique` alone: the image in each slot, -1 where there is none.
    images_of_batch: int64 [n], the images of the next batch; whoever calls sets it, where `unique` needs it.

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
        "Number of embeddings in the memory.", default=1024, ge=1, le=MOST_ITEMS, scale="log", unit="embeddings"
    )
    unique: bool = knob(
        "Keep one embedding of each image, its latest; size must then be at least the number of training images.",
        default=False,
    )
    batch_weight: float = knob(
        "Weight of the loss of the batch without memory, which is 1 in the released code.", default=0.0, ge=0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.needs_positives and self.takes_references):
            raise ValueError(
                f"CrossBatchMemory needs a loss that ranks references, got {type(self.loss).__name__}, "
                "which compares with class weights."
            )
        self.needs_positives = self.takes_references = self.takes_mined_pairs = False
        self.mean_of_queries = self.mean_of_queries and not self.knobs.batch_weight
        size, dim = self.knobs.size, self.knobs.dim
        self.embeddings: Tensor = nn.Buffer(torch.zeros(size, dim))
        self.labels: Tensor = nn.Buffer(torch.zeros(size, dtype=torch.int64))
        self.seen: Tensor = nn.Buffer(torch.zeros((), dtype=torch.int64))
        if self.knobs.unique:
            self.images: Tensor = nn.Buffer(torch.full((size,), -1))

    def values(self, batch: Batch, **kwargs: Any) -> Tensor:
        values = self.loss.values(self._with_memory(batch), **kwargs)
        weight = self.knobs.batch_weight
        return values + weight * self.loss.values(batch, **kwargs).nan_to_num(0) if weight else values

    def total(self, batch: Batch, **kwargs: Any) -> Tensor:
        loss = self._of(self._with_memory(batch), kwargs)
        if self.knobs.batch_weight:
            loss = loss + self.knobs.batch_weight * self._of(batch, kwargs)
        if self.training:
            self._remember(batch)
        return loss

    def _of(self, batch: Batch, kwargs: dict) -> Tensor:
        return (self.loss.total if batch.has_positives else self.loss.without_positives)(batch, **kwargs)

    def _admit(self, embeddings: Tensor, labels: Tensor, indices_tuple: Any, ref_emb: Any, ref_labels: Any) -> Batch:
        if indices_tuple is not None or ref_emb is not None:
            raise ValueError("CrossBatchMemory brings its own references; it takes neither ref_emb nor mined pairs.")
        batch = super()._admit(embeddings, labels, None, None, None)
        if batch.queries.shape[1] != self.knobs.dim:
            raise ValueError(
                f"CrossBatchMemory was built for embeddings of width {self.knobs.dim}, got {batch.queries.shape[1]}."
            )
        if len(batch) > (size := self.knobs.size):
            raise ValueError(
                f"CrossBatchMemory: size must be at least the batch, got size {size} and a batch of {len(batch)}."
            )
        return batch

    def _with_memory(self, batch: Batch) -> Batch:
        """The batch, ranking first itself and then what the memory holds beside it."""
        if self.knobs.unique:
            slots = torch.nonzero((self.images >= 0) & ~torch.isin(self.images, self._named(batch))).flatten()
        else:  # the newest rows that the ring still holds beside the batch, the newest first
            seen = int(self.seen)
            kept = min(seen, self.knobs.size - len(batch))
            slots = (seen - 1 - torch.arange(kept, device=self.labels.device)) % self.knobs.size
        return replace(
            batch,
            items=torch.cat([batch.queries.detach(), self.embeddings[slots].to(batch.queries)]),
            item_labels=torch.cat([batch.query_labels, self.labels[slots].to(batch.query_labels)]),
        )

    def _named(self, batch: Batch) -> Tensor:
        """Which images the batch shows, int64 [n]."""
        images = self.images_of_batch
        if images is None or len(images) != len(batch):
            raise ValueError(
                "CrossBatchMemory: unique has a slot for each image and must know which ones a batch shows; train it "
                "with `lab train`, or set images_of_batch to their numbers before each call."
            )
        return images.to(self.images)

    def _slots_of(self, batch: Batch) -> Tensor:
        """The slot of each image of the batch; those seen for the first time take free ones."""
        images = self._named(batch)
        fresh = torch.unique(images[~torch.isin(images, self.images)])
        first = int(self.seen)
        if first + len(fresh) > self.knobs.size:
            raise ValueError(
                f"CrossBatchMemory: unique needs a slot for each training image, but {self.knobs.size} slots are full; "
                "raise size to the number of training images."
            )
        self.images[first : first + len(fresh)] = fresh
        self.seen += len(fresh)
        order = self.images[: int(self.seen)].argsort()
        return order[torch.searchsorted(self.images[order], images)]

    @torch.no_grad()
    def _remember(self, batch: Batch) -> None:
        if self.knobs.unique:
            slots = self._slots_of(batch)
        else:
            slots = (self.seen + torch.arange(len(batch), device=self.seen.device)) % self.knobs.size
            self.seen += len(batch)
        self._widen(batch.queries)
        self.embeddings[slots] = batch.queries.to(self.embeddings)
        self.labels[slots] = batch.query_labels.to(self.labels)

    def _widen(self, rows: Tensor) -> None:
        """Hold float64 where rows do."""
        if rows.dtype == torch.float64:
            self.embeddings = self.embeddings.double()

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *rest: Any) -> None:
        self._widen(state.get(f"{prefix}embeddings", self.embeddings))
        super()._load_from_state_dict(state, prefix, *rest)
