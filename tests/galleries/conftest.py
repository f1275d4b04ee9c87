import numpy as np
import pytest

from lab.core.results import EmbeddingSet
from lab.search.galleries import shards


@pytest.fixture
def clustered():
    """600 unit rows [600 16] about 20 centres, some of them twice."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 20, 600)
    vectors = random.normal(size=(20, 16))[labels] + 0.8 * random.normal(size=(600, 16))
    vectors[500:520] = vectors[:20]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return EmbeddingSet(vectors.astype(np.float32), labels, np.arange(600))


@pytest.fixture
def in_shards(tmp_path):
    """A function that writes a set in shards of 250 rows."""

    def write(images, name="gallery"):
        writer = shards.Writer(
            tmp_path / name, {"of": "a test"}, [f"class {label}" for label in range(20)]
        )
        for start in range(0, len(images), 250):
            part = slice(start, start + 250)
            piece = EmbeddingSet(images.vectors[part], images.labels[part], images.items[part])
            writer.add(piece, [f"{item}.png" for item in piece.items])
        return writer.finish()

    return write
