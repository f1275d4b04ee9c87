"""Two embeddings of the same images: which neighbourhoods stayed, what moved, and which images moved together.

Rows are images, the same in both. Neighbours are rows of the full space; places are those on two maps of which the
second was turned onto the first (`turned`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

SMALLEST = 5
"""Images that make a group."""


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


@dataclass(frozen=True)
class Group:
    """Images that moved together. rows: int64 [m], ascending. far: the mean way, in units of the map's spread.

    field, value: what they have in common more than all images have; empty where nothing tells them apart.
    share: of the group, those that have it. all_of: of the images that have it, those in the group.
    """

    rows: np.ndarray
    far: float
    field: str = ""
    value: str = ""
    share: float = 0.0
    all_of: float = 0.0


def ways(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """How far each point moved between two maps, float64 [n], in units of the first map's spread (the root of the mean
    squared distance from its middle).

    Example:
        >>> import numpy as np
        >>> ways(np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([[-1.0, 0.0], [1.0, 2.0]])).tolist()
        [0.0, 2.0]
    """
    return np.linalg.norm(after.astype(np.float64) - before, axis=1) / _spread(before)


def _spread(places: np.ndarray) -> float:
    return max(float(np.sqrt(np.square(places - places.mean(0)).sum(1).mean())), 1e-12)


def moved_together(
    before: np.ndarray, after: np.ndarray, fields: Mapping[str, np.ndarray], most: int = 8
) -> list[Group]:
    """Groups of images that began near each other and moved the same way, those that moved farthest first.

    Points are one group that lie close together in where they were and in how they moved, both measured in spreads of
    the first map (HDBSCAN; Campello et al., 2013); groups that moved less than the middle point are left out. Each is
    named by the value of a field that tells it apart best: the highest harmonic mean of `share` and `all_of`.

    Args:
        before, after: [n 2] places on two maps, the second turned onto the first.
        fields: name to str [n].
        most: groups that are told.

    Example:
        >>> import numpy as np
        >>> before = np.random.default_rng(0).normal(size=(60, 2))
        >>> before[:10] = before[:10] / 20 + 3
        >>> after = before + np.where(np.arange(60) < 10, 4, 0)[:, None]
        >>> kinds = np.where(np.arange(60) < 10, "fruit", "tool")
        >>> [(group.value, len(group.rows), group.share) for group in moved_together(before, after, {"kind": kinds})]
        [('fruit', 10, 1.0)]
    """
    from sklearn.cluster import HDBSCAN

    far = ways(before, after)
    if len(far) < 2 * SMALLEST or not far.any():
        return []
    seen = np.hstack([before - before.mean(0), after - before]) / _spread(before)
    labels = HDBSCAN(min_cluster_size=max(SMALLEST, len(far) // 200), copy=True).fit_predict(seen)
    everyone = [np.flatnonzero(labels == one) for one in range(labels.max() + 1)]
    moved = [rows for rows in everyone if far[rows].mean() > np.median(far)]
    groups = [_named(rows, far, fields) for rows in moved]
    return sorted(groups, key=lambda group: -group.far)[:most]


def _named(rows: np.ndarray, far: np.ndarray, fields: Mapping[str, np.ndarray]) -> Group:
    best = Group(rows, float(far[rows].mean()))
    least = 0.0
    for field, values in fields.items():
        names, codes = np.unique(values, return_inverse=True)
        everywhere, here = (np.bincount(some, minlength=len(names)) for some in (codes, codes[rows]))
        if len(names) < 2:
            continue
        share, all_of = here / len(rows), here / everywhere
        telling = 2 * share * all_of / np.maximum(share + all_of, 1e-12)
        telling[share <= everywhere / len(codes)] = 0  # no more frequent here than everywhere
        at = int(telling.argmax())
        if telling[at] > least:
            least = float(telling[at])
            best = Group(rows, best.far, field, str(names[at]), float(share[at]), float(all_of[at]))
    return best
