"""Find images of all splits that show the same picture: copies, smaller files, crops, brighter versions."""

from __future__ import annotations

import numpy as np

LEAST = 0.9
"""Cosine of frozen features from which two images count as copies; docs/data-doctor.md says what it finds."""
BLOCK = 2048
"""Number of rows that are compared at a time."""

ROUNDING = 1e-6
"""Largest rounding error of a cosine: the order of a sum depends on the processor."""


def near_duplicates(vectors: np.ndarray, least: float = LEAST) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of images whose cosine is at least `least`, each once, the most similar first; time O(n^2 d).

    Args:
        vectors: float32 [n d], features of the images of all splits; a row of zeros is in no pair.
        least: smallest cosine of a pair.

    Returns:
        pairs: int64 [p 2], the two images of each, the earlier first; similarities: float64 [p], their cosines.

    Example (the second and the fourth image are the same, up to a scale):
        >>> import numpy as np
        >>> pairs, similarities = near_duplicates(np.array([[1, 0], [0, 1], [-1, 1], [0, 2]], np.float32))
        >>> pairs.tolist(), similarities.tolist()
        ([[1, 3]], [1.0])
    """
    unit = vectors / np.maximum(
        np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny
    )
    pairs = [np.empty((0, 2), np.int64)]
    similarities = [np.empty(0)]
    for start in range(0, len(unit), BLOCK):
        cosines = unit[start : start + BLOCK] @ unit[start:].T
        alike = np.triu(cosines, 1) >= least - ROUNDING  # the block begins on the diagonal
        rows, columns = np.nonzero(alike)
        pairs.append(np.stack([rows + start, columns + start], 1))
        similarities.append(cosines[rows, columns].astype(np.float64))

    all_pairs = np.concatenate(pairs)
    all_similarities = np.concatenate(similarities)
    order = np.argsort(-all_similarities, kind="stable")
    return all_pairs[order], np.minimum(all_similarities[order], 1.0)
