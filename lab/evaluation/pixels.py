"""Raw pixels as embeddings: the baseline of every model."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import numpy as np
import torch

from lab.core.records import Embedding
from lab.core.results import EmbeddingSet
from lab.data import ImageSet
from lab.data.images import transforms
from lab.data.images.loading import Loader
from lab.evaluation.embedding import embed

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
    transform = transforms.testing(SIDE, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0), resize=SIDE)
    loader = Loader(dataset, transform)
    encoder = torch.nn.Flatten()
    others = yield from embed(encoder, loader, reference, what="raw pixels of other images")
    pixels = yield from embed(encoder, loader, items, what="raw pixels")
    rows = pixels.vectors - others.vectors.mean(0, dtype=np.float64).astype(np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return replace(pixels, vectors=rows / np.maximum(lengths, np.finfo(np.float32).tiny))
