"""Raw pixels as embeddings: what any model has to beat."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from lab.core.records import Embedding
from lab.core.results import EmbeddingSet
from lab.data import ImageSet
from lab.data.images import transforms
from lab.data.images.loading import Loader

SIDE = 32


def embed_pixels(
    dataset: ImageSet, items: np.ndarray, reference: np.ndarray
) -> Generator[Embedding, None, EmbeddingSet]:
    """Scale images to 32 pixels a side, subtract the mean image, give each unit length; yields progress.

    Args:
        items: int64 [n], the images. reference: int64 [r], other images (of training), whose mean is subtracted.

    Returns:
        embeddings [n 3 32 32], flattened.
    """
    seen = transforms.testing(SIDE, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0), resize=SIDE)
    loader = Loader(dataset, seen)
    total = len(items) + len(reference)
    done, sums, images = 0, np.zeros(3 * SIDE * SIDE), 0
    for batch in loader.split(reference):
        sums += batch.images.flatten(1).double().sum(0).numpy()
        images += len(batch)
        done += len(batch)
        yield Embedding("raw pixels", done, total)
    mean = (sums / max(images, 1)).astype(np.float32)
    vectors, labels, kept = [], [], []
    for batch in loader.split(items):
        rows = batch.images.flatten(1).numpy() - mean
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        vectors.append(rows / np.maximum(lengths, np.finfo(np.float32).tiny))
        labels.append(batch.labels.numpy())
        kept.append(batch.items.numpy())
        done += len(batch)
        yield Embedding("raw pixels", done, total)
    return EmbeddingSet(np.concatenate(vectors), np.concatenate(labels), np.concatenate(kept))
