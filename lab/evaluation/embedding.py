"""Embed images for searching: no graph, no augmentation, any number of images."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from lab.core import threads
from lab.core.records import Embedding
from lab.core.results import EmbeddingSet
from lab.data.images.loading import LoadedBatch, Loader
from lab.evaluation.mixed_precision import MixedPrecision

PIECE = 2
"""Batches of one thread's task, if several tasks run in parallel."""


class NothingEmbedded(ValueError):
    """None of the images that were to be embedded can be read, or there is none."""


def embed(
    encoder: Any,
    loader: Loader,
    items: np.ndarray,
    *,
    what: str = "images",
    batch_size: int = 256,
    flip: bool = False,
    scales: Sequence[float] = (1.0,),
    beta: float = 0.0,
    precision: MixedPrecision | None = None,
    abreast: int = 1,
) -> Generator[Embedding, None, EmbeddingSet]:
    """Embed the images at `items` (int64 [n]) in evaluation mode; yields progress, returns the embeddings.

    Args:
        loader: made with a testing transform; images that it cannot decode are left out and named in its `problems`.
        what: the name of these images in progress records.
        flip: average the embeddings of an image and its mirror image, at unit length again (002).
        scales: average the embeddings of the image resized by each of these factors, at unit length again (000).
        beta: beta-normalisation (002); above 0 the vectors keep a trace of their length.
        abreast: tasks of `PIECE` batches that run in parallel, each loaded and embedded by one of torch's threads; in a
            single task all threads work on each layer. More than one needs a loader without processes.

    Raises:
        NothingEmbedded: there is no image to embed.
    """
    device = next((weight.device for weight in encoder.parameters()), torch.device("cpu"))
    precision = precision or MixedPrecision(device=device)
    vectors = []
    labels = []
    kept = []
    done = 0

    def embed_batch(batch: LoadedBatch) -> np.ndarray:
        images = batch.images.to(device, non_blocking=True)
        return rows_of(encoder, images, flip, scales, beta, precision).cpu().numpy()

    training = encoder.training
    encoder.eval()
    try:
        for batch_labels, batch_items, rows in _batches(
            loader, items, batch_size, abreast, embed_batch
        ):
            vectors.append(rows)
            labels.append(batch_labels)
            kept.append(batch_items)
            done += len(rows)
            yield Embedding(what, done, len(items))
    finally:
        encoder.train(training)
    if not vectors:
        lost = f"; none of {len(items):,} can be read" if len(items) else ""
        first = f": {loader.problems[0].rstrip('.')}" if loader.problems else ""
        raise NothingEmbedded(f"There are no {what} to embed{lost}{first}.")
    return EmbeddingSet(np.concatenate(vectors), np.concatenate(labels), np.concatenate(kept))


EmbeddedBatch = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Labels, positions and embeddings."""


def _batches(
    loader: Loader,
    items: np.ndarray,
    batch_size: int,
    abreast: int,
    embed_batch: Callable[[LoadedBatch], np.ndarray],
) -> Iterator[EmbeddedBatch]:
    """Yield each embedded batch, in order."""

    def batches_of(part: np.ndarray) -> Iterator[EmbeddedBatch]:
        for batch in loader.split(part, batch_size):
            with torch.inference_mode():
                rows = embed_batch(batch)
            yield batch.labels.numpy(), batch.items.numpy(), rows

    if abreast == 1:
        yield from batches_of(items)
        return
    size = PIECE * batch_size
    for start in range(0, len(items), abreast * size):
        part = items[start : start + abreast * size]
        # Each task is a piece of the items, and a list for its batches; the tasks run in parallel.
        tasks: list[tuple[np.ndarray, list[EmbeddedBatch]]] = []
        for first in range(0, len(part), size):
            tasks.append((part[first : first + size], []))
        threads.each(tasks, lambda task: task[1].extend(batches_of(task[0])))
        for _, embedded in tasks:
            yield from embedded


def rows_of(
    encoder: Any,
    images: torch.Tensor,
    flip: bool,
    scales: Sequence[float],
    beta: float,
    precision: MixedPrecision,
) -> torch.Tensor:
    """Return embeddings float32 [n d] of normalised images [n 3 h w], as `embed` computes them."""
    forward = encoder.raw if beta > 0 else encoder
    with precision.autocast():
        outputs = [forward(view).float() for view in views(images, flip, scales)]
    rows = outputs[0]
    if len(outputs) > 1:
        rows = torch.stack(outputs).sum(0) / len(outputs)
    if beta > 0:
        return beta_normalised(rows, beta)
    if len(outputs) > 1 and encoder.knobs.normalise:
        return F.normalize(rows, dim=-1)
    return rows


def views(images: torch.Tensor, flip: bool, scales: Sequence[float]) -> Iterator[torch.Tensor]:
    """Yield the views of images [n 3 h w] that evaluation embeds: at every scale, and mirrored, too, if `flip`."""
    for scale in scales:
        seen = images
        if scale != 1:
            seen = F.interpolate(images, scale_factor=scale, mode="bilinear", align_corners=False)
        yield seen
        if flip:
            yield seen.flip(-1)


def beta_normalised(features: torch.Tensor, beta: float) -> torch.Tensor:
    """Return e/|e| + beta e of each row (002, tricks; Elezi et al., The Group Loss++). [n d] -> [n d]."""
    return F.normalize(features, dim=-1) + beta * features
