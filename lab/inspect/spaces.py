"""Compare two embeddings of the same images: how many neighbours they share, and how far points moved on a map.

Rows are the same images in both. Neighbours are computed in the full space. Places are positions on two maps, of which
the second is first aligned with the first (`turned`).
"""

from __future__ import annotations

import numpy as np


def turned(places: np.ndarray, onto: np.ndarray, stretch: bool = False) -> np.ndarray:
    """Rotate, mirror and shift a map [n d] so that it fits another map of the same points best (Procrustes), float32.

    Args:
        stretch: whether the map is first scaled to the width of the other one. The factor of least squares would be
            smaller, the less the two maps have in common.

    Example:
        >>> import numpy as np
        >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]])
        >>> bool(np.allclose(turned(square[:, ::-1] + 7, square), square, atol=1e-5))
        True
    """
    target_mean = onto.mean(0)
    centred = places - places.mean(0)
    centred_target = onto - target_mean
    left, _, right = np.linalg.svd(centred.T @ centred_target)

    factor: float | np.floating = 1.0
    if stretch:
        factor = float(np.linalg.norm(centred_target)) / max(float(np.linalg.norm(centred)), 1e-12)
    return (factor * centred @ left @ right + target_mean).astype(np.float32)


def overlap(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the share of each image's neighbours that are the same in both spaces, float64 [n] in 0 to 1.

    Args:
        one, other: int [n k], the neighbours' rows in any order, each at most once per image.

    Raises:
        ValueError: the number of images or of neighbours differs.

    Example:
        >>> import numpy as np
        >>> overlap(np.array([[1, 2], [0, 2]]), np.array([[2, 1], [0, 3]])).tolist()
        [1.0, 0.5]
    """
    if one.shape != other.shape:
        raise ValueError(
            f"Neighbours of shapes {list(one.shape)} and {list(other.shape)} cannot be compared."
        )
    both = np.sort(np.hstack([one, other]), axis=1)
    in_both = both[:, 1:] == both[:, :-1]  # a neighbour in both spaces occurs twice in a row
    return in_both.sum(1) / one.shape[1]


def ways(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return how far each point moved between two maps, float64 [n].

    The unit is the spread of the first map: the root of the mean squared distance from its centre.

    Example:
        >>> import numpy as np
        >>> ways(np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([[-1.0, 0.0], [1.0, 2.0]])).tolist()
        [0.0, 2.0]
    """
    squared_distances = np.square(before - before.mean(0)).sum(1)
    spread = max(float(np.sqrt(squared_distances.mean())), 1e-12)
    return np.linalg.norm(after.astype(np.float64) - before, axis=1) / spread
