"""One search for several pictures: the mean of them, the best of them, or like these and not like those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from lab.search._base import Index

Together = Literal["mean", "best"]

LIKED = 0.75
DISLIKED = 0.15
"""Rocchio's usual weights beside a query of weight 1 (Manning, Raghavan and Schuetze 2008, section 9.1.1)."""


def mean_query(vectors: np.ndarray, unit: bool = True) -> np.ndarray:
    """The mean of several embeddings: [n d] -> float32 [d].

    Args:
        unit: make rows and mean unit length, as a search by cosine has them; else leave lengths as they are.

    Raises:
        ValueError: there is none, or they cancel out.

    Example:
        >>> import lab, numpy as np
        >>> lab.search.mean_query(np.array([[2.0, 0.0], [0.0, 1.0]])).round(3).tolist()
        [0.7070000171661377, 0.7070000171661377]
    """
    return _scaled(_rows(vectors, unit).mean(0), unit).astype(np.float32)


def rocchio(
    query: np.ndarray,
    like: np.ndarray | Sequence = (),
    unlike: np.ndarray | Sequence = (),
    liked: float = LIKED,
    disliked: float = DISLIKED,
    unit: bool = True,
) -> np.ndarray:
    """A query moved towards some embeddings and away from others: q + liked mean(like) - disliked mean(unlike)
    (Rocchio 1971). float32 [d].

    Args:
        query: [d]. like: [m d]. unlike: [n d]; either may be empty.
        liked, disliked: weights, 0 or more.
        unit: as in `mean_query`.

    Raises:
        ValueError: a weight is negative, a row is zero, or nothing is left.

    Example:
        >>> import lab, numpy as np
        >>> lab.search.rocchio(np.array([1.0, 0.0]), like=[[0.0, 1.0]], liked=1).round(3).tolist()
        [0.7070000171661377, 0.7070000171661377]
    """
    if liked < 0 or disliked < 0:
        raise ValueError(
            f"The weights of liked and disliked pictures must not be negative, got {liked}, {disliked}."
        )
    moved = _rows(np.atleast_2d(query), unit)[0]
    for rows, weight in ((like, liked), (unlike, -disliked)):
        if len(rows):
            moved = moved + weight * _rows(np.asarray(rows), unit).mean(0)
    return _scaled(moved, unit).astype(np.float32)


def compose(
    vectors: np.ndarray,
    like: np.ndarray | Sequence = (),
    unlike: np.ndarray | Sequence = (),
    together: Together = "best",
    unit: bool = True,
) -> np.ndarray:
    """What to search with for several embeddings [n d] and a wish, for `best_of`: float32 [m d].

    Args:
        like, unlike: embeddings [m d] to move each query towards and away from (`rocchio`); either may be empty.
        together: make one query of them, their `mean`, or keep all, of which the `best` counts.
        unit: as in `mean_query`.

    Raises:
        ValueError: as `mean_query` and `rocchio`, or there is no such way to put them together.

    Example:
        >>> import lab, numpy as np
        >>> lab.search.compose(np.eye(2), unlike=[[0.0, 1.0]]).round(2).tolist()
        [[0.9900000095367432, -0.15000000596046448], [0.0, 1.0]]
    """
    if together not in ("mean", "best"):
        raise ValueError(
            f"Several pictures are put together by their mean or the best of them, got {together!r}."
        )
    if together == "mean" and len(vectors) > 1:
        vectors = mean_query(vectors, unit)[None]
    if not len(like) and not len(unlike):
        return vectors
    return np.stack([rocchio(one, like, unlike, unit=unit) for one in vectors])


def best_of(index: Index, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k items nearest to any of several queries: scores [k], the greatest of the queries', and gallery positions.

    Example:
        >>> import lab, numpy as np
        >>> index = lab.search.create("exact").build(np.eye(3))
        >>> scores, positions = lab.search.best_of(index, np.array([[1.0, 0, 0], [0, 0.6, 0.8]], np.float32), k=3)
        >>> positions.tolist(), scores.round(1).tolist()
        ([0, 2, 1], [1.0, 0.800000011920929, 0.6000000238418579])
    """
    scores, positions = index.neighbours(np.atleast_2d(vectors), k)
    best: dict[int, float] = {}
    for position, score in zip(positions.ravel().tolist(), scores.ravel().tolist(), strict=True):
        if position >= 0:
            best[position] = max(score, best.get(position, -np.inf))
    order = sorted(best, key=lambda position: (-best[position], position))[:k]
    return np.array([best[position] for position in order], np.float32), np.array(order, np.int64)


def _rows(vectors: Any, unit: bool) -> np.ndarray:
    rows = np.asarray(vectors, np.float64)
    if rows.ndim != 2 or not len(rows):
        raise ValueError(
            f"Queries are put together from vectors [n d], at least one; got shape {list(rows.shape)}."
        )
    return np.stack([_scaled(row, unit) for row in rows])


def _scaled(vector: np.ndarray, unit: bool) -> np.ndarray:
    length = np.linalg.norm(vector)
    if not unit:
        return vector
    if not length > 1e-9:
        raise ValueError(
            "Nothing is left of the query: its parts cancel out; leave one of them out."
        )
    return vector / length
