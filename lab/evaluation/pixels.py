"""Raw pixels as embeddings: what any model has to beat."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

import lab.search
from lab.core.records import Embedding
from lab.core.results import EmbeddingSet, Ranking
from lab.core.streams import result_of
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


def nearest_by_pixels(dataset: ImageSet, items: np.ndarray, train: np.ndarray, size: int, k: int) -> Ranking:
    """The k training images that look most like each of some images, compared as small pictures.

    Args:
        items, train: int64 [n] and [t], numbers of the images. size: pixels a side.
    """
    query, gallery = (result_of(embed_pixels(dataset, some, train, size, "images")) for some in (items, train))
    index = lab.search.create("exact", device="cpu", k=min(k, len(gallery))).build(gallery)
    return index.rank(query, same_source=False)
