"""Images to embeddings, for searching: no graph, no augmentation, any number of images."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import chain
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
"""Batches that a thread takes at a time, where several pieces are worked on side by side."""


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
        what: how progress calls these images.
        flip: average the embeddings of an image and its mirror image, at unit length again (002).
        scales: average the embeddings of the image resized by each of these factors, at unit length again (000).
        beta: beta-normalisation (002); above 0 the vectors keep a trace of their length.
        abreast: pieces of `PIECE` batches that are worked on side by side, each loaded and embedded by one of torch's
            threads; of a single one all threads work on each layer. More takes a loader without processes.

    Raises:
        NothingEmbedded: there is no image to embed.
    """
    device = next((p.device for p in encoder.parameters()), torch.device("cpu"))
    precision = precision or MixedPrecision(device=device)
    vectors, labels, kept = [], [], []
    done = 0

    def made(batch: LoadedBatch) -> np.ndarray:
        images = batch.images.to(device, non_blocking=True)
        return rows_of(encoder, images, flip, scales, beta, precision).cpu().numpy()

    training = encoder.training
    encoder.eval()
    try:
        for batch_labels, batch_items, rows in _walked(loader, items, batch_size, abreast, made):
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


Made = tuple[np.ndarray, np.ndarray, np.ndarray]


def _walked(
    loader: Loader, items: np.ndarray, batch_size: int, abreast: int, made: Callable[[LoadedBatch], np.ndarray]
) -> Iterator[Made]:
    """Labels, positions and embeddings of each batch, in order."""

    def walk(part: np.ndarray) -> Iterator[Made]:
        for batch in loader.split(part, batch_size):
            with torch.inference_mode():
                rows = made(batch)
            yield batch.labels.numpy(), batch.items.numpy(), rows

    if abreast == 1:
        yield from walk(items)
        return
    size = PIECE * batch_size
    for start in range(0, len(items), abreast * size):
        part = items[start : start + abreast * size]
        pieces: list[tuple[np.ndarray, list[Made]]] = [
            (part[first : first + size], []) for first in range(0, len(part), size)
        ]
        threads.each(pieces, lambda piece: piece[1].extend(walk(piece[0])))  # side by side
        yield from chain.from_iterable(made for _, made in pieces)


def rows_of(
    encoder: Any, images: torch.Tensor, flip: bool, scales: Sequence[float], beta: float, precision: MixedPrecision
) -> torch.Tensor:
    """Embeddings float32 [n d] of normalised images [n 3 h w], as `embed` makes them."""
    forward = encoder.raw if beta > 0 else encoder
    with precision.autocast():
        outputs = [forward(view).float() for view in views(images, flip, scales)]
    rows = torch.stack(outputs).sum(0) / len(outputs) if len(outputs) > 1 else outputs[0]
    if beta > 0:
        return beta_normalised(rows, beta)
    return F.normalize(rows, dim=-1) if len(outputs) > 1 and encoder.knobs.normalise else rows


def views(images: torch.Tensor, flip: bool, scales: Sequence[float]) -> Iterator[torch.Tensor]:
    """Each image [n 3 h w] as evaluation looks at it: at every scale, and mirrored there too if asked."""
    for scale in scales:
        seen = images if scale == 1 else F.interpolate(images, scale_factor=scale, mode="bilinear", align_corners=False)
        yield seen
        if flip:
            yield seen.flip(-1)


def beta_normalised(features: torch.Tensor, beta: float) -> torch.Tensor:
    """e/|e| + beta e of each row (002, tricks; Elezi et al., The Group Loss++). [n d] -> [n d]."""
    return F.normalize(features, dim=-1) + beta * features
