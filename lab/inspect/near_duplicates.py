"""Images that show the same picture, in whatever splits they lie: copies, smaller files, crops, brighter ones."""

from __future__ import annotations

import numpy as np

LEAST = 0.9
"""Cosine of frozen features from which two images count as copies; docs/data-doctor.md says what it finds."""
BLOCK = 2048
"""Rows that are compared at a time."""

ROUNDING = 1e-6
"""How far a cosine of equal pictures may lie below 1: the order of a sum hangs on the processor."""


def near_duplicates(vectors: np.ndarray, least: float = LEAST) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of images at least so similar, each pair once, the most similar first; time O(n^2 d).

    Args:
        vectors: float32 [n d], features of the images of all splits; a row of zeros is like nothing.
        least: cosine from which a pair is given.

    Returns:
        pairs: int64 [p 2], the two images of each, the earlier first; similarities: float64 [p], their cosines.

    Example (the second and the fourth image are the same, up to a scale):
        >>> import numpy as np
        >>> pairs, similarities = near_duplicates(np.array([[1, 0], [0, 1], [-1, 1], [0, 2]], np.float32))
        >>> pairs.tolist(), similarities.tolist()
        ([[1, 3]], [1.0])
    """
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    for start in range(0, len(unit), BLOCK):
        cosines = unit[start : start + BLOCK] @ unit[start:].T
        alike = np.triu(cosines, 1) >= least - ROUNDING  # the block begins on the diagonal
        rows, others = np.nonzero(alike)
        found.append((rows + start, others + start, cosines[rows, others].astype(np.float64)))
    rows, others, score = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(-score, kind="stable")
    return np.stack([rows, others], 1)[order], np.minimum(score[order], 1.0)
