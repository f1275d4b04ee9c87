"""Two-dimensional maps of an embedding, and how far each may be trusted.

A map is for an overview. Neighbours are always taken from the full space, and every map should be shown with its
`quality`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from lab.core.explain import need
from lab.core.results import EmbeddingSet, as_array

Method = Literal["pca", "umap", "tsne"]
METHODS: tuple[Method, ...] = ("pca", "umap", "tsne")


def project(
    vectors: Any, method: Method = "pca", seed: int = 0, neighbours: int = 15, start: np.ndarray | None = None
) -> np.ndarray:
    """Map vectors [n d] to the plane, float32 [n 2], the same for the same seed.

    Distances are taken between unit rows, as in a search by cosine. PCA answers at once; UMAP (McInnes et al., 2018)
    compiles itself for half a minute on first use and then takes seconds for thousands of points, being given
    exact neighbours by `lab.search`; t-SNE (van der Maaten and Hinton, 2008) is the slowest. UMAP and t-SNE start from
    the PCA map.

    Args:
        vectors: [n d] with n of at least 3.
        method: "pca", "umap" (extra `app`) or "tsne".
        neighbours: how many neighbours UMAP keeps together; t-SNE's perplexity is twice that, (n - 1) / 3 at most.
        start: places [n 2] that UMAP and t-SNE start from, such as an earlier map of the same points, which this one
            then resembles; by default the PCA map.

    Raises:
        ValueError: unknown method, too few or non-finite vectors, fewer than two neighbours, a zero vector for UMAP, or
            UMAP is not installed.

    Example:
        >>> import lab, numpy as np
        >>> vectors = np.random.default_rng(0).normal(size=(50, 16))
        >>> lab.maps.project(vectors, "pca").shape
        (50, 2)
    """
    vectors = _table(vectors, "vector", np.float32)
    if len(vectors) < 3:
        raise ValueError(f"A map needs vectors [n d] with n >= 3, got {list(vectors.shape)}.")
    if neighbours < 2:
        raise ValueError(f"A map keeps at least 2 neighbours together, got {neighbours}.")
    drawn: dict[str, Callable[[], np.ndarray]] = {
        "pca": lambda: _pca(vectors),
        "umap": lambda: _umap(vectors, seed, neighbours, start),
        "tsne": lambda: _tsne(vectors, seed, neighbours, start),
    }
    if start is not None and (np.shape(start) != (len(vectors), 2) or not np.isfinite(start).all()):
        raise ValueError(f"The start of a map of {len(vectors)} points must be finite [n 2], got {np.shape(start)}.")
    if method not in drawn:
        raise ValueError(f"There is no map {method!r}; there are {', '.join(METHODS)}.")
    return drawn[method]().astype(np.float32)


def place(vectors: Any, known: Any, flat: np.ndarray, k: int = 5) -> np.ndarray:
    """Places float32 [m 2] of further vectors [m d] on a map of known ones: beside their nearest ones by cosine.

    Each lands at the mean of its k nearest known vectors' places, weighted by one over the cosine distance, so that a
    vector that is known lands where it is. Time O(m n d), in one pass; memory a few tiles.

    Args:
        known: [n d], the vectors whose places are known.
        flat: [n 2], these places.

    Raises:
        ValueError: k is not between 1 and n, or `known` and `flat` do not describe the same points.

    Example:
        >>> import lab, numpy as np
        >>> known, flat = np.eye(3), np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
        >>> lab.maps.place(np.array([[1.0, 1.0, 0.0]]), known, flat, k=2).round(3).tolist()
        [[2.0, 0.0]]
    """
    known, flat = _table(known, "vector"), _table(flat, "place")
    if flat.shape != (len(known), 2):
        raise ValueError(f"{len(known)} vectors and places {list(flat.shape)} on the map do not belong together.")
    if not 1 <= k <= len(known):
        raise ValueError(f"k must be between 1 and the {len(known)} known points, got {k}.")
    from lab import search

    index = search.create("exact", device="cpu", k=k).build(_points(known))
    vectors = _table(vectors, "vector")
    places = np.empty((len(vectors), 2), np.float32)
    for begin in range(0, len(vectors), 20_000):
        part = slice(begin, begin + 20_000)
        scores, nearest = index.neighbours(np.asarray(vectors[part], np.float32), k)
        weights = 1 / np.maximum(1 - scores.astype(np.float64), 1e-6)
        places[part] = (flat[nearest] * weights[..., None]).sum(1) / weights.sum(1, keepdims=True)
    return places


def nearest(vectors: Any, k: int) -> np.ndarray:
    """The k nearest others of each vector [n d] by cosine, found exactly in the full space: rows int32 [n k].

    Raises:
        ValueError: k is not between 1 and n - 1, or a vector is zero or not finite.

    Example:
        >>> import lab, numpy as np
        >>> lab.maps.nearest(np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]), 1).tolist()
        [[1], [0], [1]]
    """
    vectors = _table(vectors, "vector", np.float32)
    if not 1 <= k < len(vectors):
        raise ValueError(f"k must be between 1 and the {len(vectors) - 1} others of a vector, got {k}.")
    return _nearest_by_cosine(vectors, k)[1]


def quality(vectors: Any, flat: np.ndarray, k: int = 10) -> dict[str, float]:
    """How far a map keeps the k nearest neighbours (by cosine, oneself left out).

    Returns:
        trustworthiness: 1 when every neighbour on the map is a true one, less the further off the strangers among
            them truly are (Venna and Kaski, 2001); about 0.5 for a random map.
        agreement: mean share of the k nearest on the map that are among the true k nearest.
        chance: the agreement of a random map, k / (n - 1).

    Time and memory O(n^2): sample some thousands of points first.

    Raises:
        ValueError: k is not between 1 and (n - 1) / 2, or the two do not describe the same points.

    Example:
        >>> import lab, numpy as np
        >>> vectors = np.random.default_rng(0).normal(size=(50, 16))
        >>> kept = lab.maps.quality(vectors, lab.maps.project(vectors), k=5)
        >>> kept["chance"] < kept["agreement"] < 1  # noise in 16 dimensions does not fit on a plane
        True
    """
    from sklearn.manifold import trustworthiness

    vectors, flat = _table(vectors, "vector"), _table(flat, "place")
    count = len(vectors)
    if len(flat) != count:
        raise ValueError(f"{count} vectors and {len(flat)} places on the map do not belong together.")
    if not 1 <= k < count / 2:
        raise ValueError(f"k must be at least 1 and less than half of the {count} points, got {k}.")
    true, flat_neighbours = _nearest(_unit(vectors.astype(np.float32)), k), _nearest(flat, k)
    shared = [len(np.intersect1d(a, b, assume_unique=True)) for a, b in zip(true, flat_neighbours, strict=True)]
    return {
        "trustworthiness": float(trustworthiness(vectors, flat, n_neighbors=k, metric="cosine")),
        "agreement": float(np.mean(shared) / k),
        "chance": k / (count - 1),
    }


def _table(rows: Any, what: str, kind: type | None = None) -> np.ndarray:
    """Rows [n d] that somebody gave, of a type of numbers or of their own. what: they are, one of them.

    Raises:
        ValueError: it is no table of numbers, or one of them is not finite.
    """
    table = as_array(rows, f"{what}s")
    if table.ndim != 2 or table.dtype.kind not in "biuf" or not table.shape[1]:
        raise ValueError(f"The {what}s must be numbers [n d], got {table.dtype} {list(table.shape)}.")
    table = table if kind is None else table.astype(kind, copy=False)
    if len(bad := np.flatnonzero(~np.isfinite(table).all(1))):
        raise ValueError(f"{what.capitalize()} {bad[0]} holds NaN or infinity, so it has no place on a map.")
    return table


PIECE = 100_000
"""Rows that PCA looks at together, in double precision."""


def _pca(vectors: np.ndarray) -> np.ndarray:
    pieces = [slice(begin, begin + PIECE) for begin in range(0, len(vectors), PIECE)]
    middle = sum(_unit(vectors[piece].astype(np.float64)).sum(0) for piece in pieces) / len(vectors)
    spread = np.zeros((vectors.shape[1],) * 2)
    for piece in pieces:
        centred = _unit(vectors[piece].astype(np.float64)) - middle
        spread += centred.T @ centred
    _, directions = np.linalg.eigh(spread)  # [d d]: quicker than a decomposition of all n rows
    axes = directions[:, :-3:-1]
    flat = np.concatenate([(_unit(vectors[piece].astype(np.float64)) - middle) @ axes for piece in pieces])
    if flat.shape[1] < 2:  # one-dimensional embeddings lie on a line
        flat = np.pad(flat, ((0, 0), (0, 1)))
    # A direction's sign is arbitrary; fix it, so that the same points give the same picture on every machine.
    return flat * np.where(flat[np.abs(flat).argmax(0), [0, 1]] < 0, -1, 1)


def _start(vectors: np.ndarray, start: np.ndarray | None) -> np.ndarray:
    flat = _pca(vectors) if start is None else start - start.mean(0)
    return (flat / max(flat[:, 0].std(), 1e-12) * 1e-4).astype(np.float32)


def _umap(vectors: np.ndarray, seed: int, neighbours: int, start: np.ndarray | None) -> np.ndarray:
    need("The method umap (pca and tsne do not)", "app", "umap")
    import umap

    kept = min(neighbours, len(vectors) - 1)
    distances, places = _nearest_by_cosine(vectors, kept - 1)
    itself = np.arange(len(vectors), dtype=np.int32)[:, None]  # UMAP counts a point as its own first neighbour
    known = np.hstack([itself, places]), np.hstack([np.zeros_like(distances[:, :1]), distances])
    begin = _start(vectors, start) * 1e5
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "precomputed_knn")  # new points could not be added: none will be
        reducer = umap.UMAP(
            n_neighbors=kept, metric="cosine", init=begin, random_state=seed, n_jobs=1, precomputed_knn=known
        )
        return reducer.fit_transform(vectors)


def _tsne(vectors: np.ndarray, seed: int, neighbours: int, start: np.ndarray | None) -> np.ndarray:
    from sklearn.manifold import TSNE

    perplexity = min(2 * neighbours, (len(vectors) - 1) / 3)
    return TSNE(
        perplexity=perplexity, init=_start(vectors, start), learning_rate="auto", random_state=seed, metric="cosine"
    ).fit_transform(vectors)


def _nearest_by_cosine(vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Cosine distances float32 [n k] of the nearest others, found exactly in one pass, and their places int32 [n k]."""
    from lab import search

    points = _points(vectors)
    ranking = search.create("exact", device="cpu", k=k).build(points).rank(points, same_source=True)
    return np.maximum(1 - ranking.scores, 0), ranking.neighbours.astype(np.int32)


def _points(vectors: np.ndarray) -> EmbeddingSet:
    everyone = np.arange(len(vectors))
    return EmbeddingSet(np.asarray(vectors, np.float32), labels=everyone, items=everyone)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def _nearest(points: np.ndarray, k: int) -> np.ndarray:
    """int64 [n k], the nearest others; ties by position."""
    from sklearn.neighbors import NearestNeighbors

    neighbours = NearestNeighbors(n_neighbors=k + 1).fit(points).kneighbors(return_distance=False)
    mine = neighbours == np.arange(len(points))[:, None]
    mine[~mine.any(1), -1] = True  # among many duplicates oneself may not be listed: leave the last one out
    return neighbours[~mine].reshape(len(points), k)
