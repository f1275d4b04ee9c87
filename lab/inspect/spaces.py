"""Two embeddings of the same images: which neighbourhoods stayed, and what moved.

Rows are images, the same in both. Neighbours are rows of the full space; places are those on two maps of which the
second was turned onto the first (`turned`).
"""

from __future__ import annotations

import numpy as np


def turned(places: np.ndarray, onto: np.ndarray, stretch: bool = False) -> np.ndarray:
    """A map [n d] turned, mirrored and shifted to lie best on another map of the same points (Procrustes), float32.

    Args:
        stretch: whether it is made as wide as the other one first. Least squares would shrink a map the more, the less
            it has in common with the other.

    Example:
        >>> import numpy as np
        >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]])
        >>> bool(np.allclose(turned(square[:, ::-1] + 7, square), square, atol=1e-5))
        True
    """
    middle, target = places.mean(0), onto.mean(0)
    left, _, right = np.linalg.svd((places - middle).T @ (onto - target))
    factor = np.linalg.norm(onto - target) / max(float(np.linalg.norm(places - middle)), 1e-12) if stretch else 1.0
    return (factor * (places - middle) @ left @ right + target).astype(np.float32)


def overlap(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Share of each image's nearest neighbours that it has in both spaces: float64 [n] in 0 to 1, 1 when none changed.

    Args:
        one, other: int [n k], the neighbours' rows in any order, each at most once a row.

    Raises:
        ValueError: the two do not describe the same images, or not the same number of neighbours.

    Example:
        >>> import numpy as np
        >>> overlap(np.array([[1, 2], [0, 2]]), np.array([[2, 1], [0, 3]])).tolist()
        [1.0, 0.5]
    """
    if one.shape != other.shape:
        raise ValueError(f"Neighbours of shapes {list(one.shape)} and {list(other.shape)} cannot be compared.")
    both = np.sort(np.hstack([one, other]), axis=1)
    return (both[:, 1:] == both[:, :-1]).sum(1) / one.shape[1]


def ways(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """How far each point moved between two maps, float64 [n], in units of the first map's spread (the root of the mean
    squared distance from its middle).

    Example:
        >>> import numpy as np
        >>> ways(np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([[-1.0, 0.0], [1.0, 2.0]])).tolist()
        [0.0, 2.0]
    """
    spread = max(float(np.sqrt(np.square(before - before.mean(0)).sum(1).mean())), 1e-12)
    return np.linalg.norm(after.astype(np.float64) - before, axis=1) / spread
