"""Raw pixels as embeddings: what any model has to beat."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from lab.core.records import Embedding
from lab.core.results import EmbeddingSet
from lab.data import ImageSet
from lab.data.images import transforms
from lab.data.images.loading import Loader


def embed_pixels(
    dataset: ImageSet, items: np.ndarray, reference: np.ndarray, size: int = 32, what: str = "raw pixels"
) -> Generator[Embedding, None, EmbeddingSet]:
    """Scale images to `size` pixels, subtract the mean image, give each unit length; yields progress.

    Args:
        items: int64 [n], the images. reference: int64 [r], other images (of training), whose mean is subtracted.

    Returns:
        embeddings [n 3 size size], flattened.
    """
    seen = transforms.testing(size, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0), resize=size)
    loader = Loader(dataset, seen)
    total = len(items) + len(reference)
    done, sums, images = 0, np.zeros(3 * size * size), 0
    for batch in loader.split(reference):
        sums += batch.images.flatten(1).double().sum(0).numpy()
        images += len(batch)
        done += len(batch)
        yield Embedding(what, done, total)
    mean = (sums / max(images, 1)).astype(np.float32)
    vectors, labels, kept = [], [], []
    for batch in loader.split(items):
        rows = batch.images.flatten(1).numpy() - mean
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        vectors.append(rows / np.maximum(lengths, np.finfo(np.float32).tiny))
        labels.append(batch.labels.numpy())
        kept.append(batch.items.numpy())
        done += len(batch)
        yield Embedding(what, done, total)
    return EmbeddingSet(np.concatenate(vectors), np.concatenate(labels), np.concatenate(kept))
