"""Two-dimensional maps of an embedding, and measures of their quality.

A map gives an overview. Neighbours are always taken from the full space, and every map should be shown with its
`quality`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from lab.core.explain import need
from lab.core.results import EmbeddingSet, as_array

Method = Literal["pca", "umap", "tsne"]
METHODS: tuple[Method, ...] = ("pca", "umap", "tsne")


def project(
    vectors: Any,
    method: Method = "pca",
    seed: int = 0,
    neighbours: int = 15,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Map vectors [n d] to the plane, float32 [n 2]; the result is the same for the same seed.

    Distances are taken between unit vectors, as in a search by cosine. PCA takes a moment; UMAP (McInnes et al., 2018)
    compiles for half a minute on first use and then takes seconds for thousands of points, because `lab.search` gives
    it exact neighbours; t-SNE (van der Maaten and Hinton, 2008) is the slowest. UMAP and t-SNE start from the PCA map.

    Args:
        vectors: [n d] with n of at least 3.
        method: "pca", "umap" (extra `app`) or "tsne".
        neighbours: number of neighbours of UMAP; t-SNE's perplexity is twice that, but (n - 1) / 3 at most.
        start: places [n 2] from which UMAP and t-SNE start, for instance an earlier map of the same points, so that the
            new map resembles it; by default the PCA map.

    Raises:
        ValueError: the method is unknown, there are too few or non-finite vectors, fewer than two neighbours, a zero
            vector for UMAP, or UMAP is not installed.

    Example:
        >>> import lab, numpy as np
        >>> vectors = np.random.default_rng(0).normal(size=(50, 16))
        >>> lab.maps.project(vectors, "pca").shape
        (50, 2)
    """
    vectors = _check_rows(vectors, "vector", np.float32)
    if len(vectors) < 3:
        raise ValueError(f"A map needs vectors [n d] with n >= 3, got {list(vectors.shape)}.")
    if neighbours < 2:
        raise ValueError(f"A map keeps at least 2 neighbours together, got {neighbours}.")
    if start is not None and (np.shape(start) != (len(vectors), 2) or not np.isfinite(start).all()):
        raise ValueError(
            f"The start of a map of {len(vectors)} points must be finite [n 2], got {np.shape(start)}."
        )
    if method not in METHODS:
        raise ValueError(f"There is no map {method!r}; there are {', '.join(METHODS)}.")

    if method == "umap":
        places = _umap(vectors, seed, neighbours, start)
    elif method == "tsne":
        places = _tsne(vectors, seed, neighbours, start)
    else:
        places = _pca(vectors)
    return places.astype(np.float32)


def place(vectors: Any, known: Any, flat: np.ndarray, k: int = 5) -> np.ndarray:
    """Place further vectors [m d] on a map of known vectors, near their nearest neighbours by cosine: float32 [m 2].

    A vector's place is the mean of the places of its k nearest known vectors, weighted by one over the cosine distance.
    A known vector is therefore placed where it already is. Time O(m n d), in one pass; memory a few tiles.

    Args:
        known: [n d], the vectors whose places are known.
        flat: [n 2], their places.

    Raises:
        ValueError: k is not between 1 and n, or `known` and `flat` do not describe the same points.

    Example:
        >>> import lab, numpy as np
        >>> known, flat = np.eye(3), np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
        >>> lab.maps.place(np.array([[1.0, 1.0, 0.0]]), known, flat, k=2).round(3).tolist()
        [[2.0, 0.0]]
    """
    known = _check_rows(known, "vector")
    flat = _check_rows(flat, "place")
    if flat.shape != (len(known), 2):
        raise ValueError(
            f"{len(known)} vectors and places {list(flat.shape)} on the map do not belong together."
        )
    if not 1 <= k <= len(known):
        raise ValueError(f"k must be between 1 and the {len(known)} known points, got {k}.")
    from lab import search

    index = search.create("exact", device="cpu", k=k).build(_points(known))
    vectors = _check_rows(vectors, "vector")
    places = np.empty((len(vectors), 2), np.float32)
    for begin in range(0, len(vectors), 20_000):
        part = slice(begin, begin + 20_000)
        scores, nearest = index.neighbours(np.asarray(vectors[part], np.float32), k)
        distances = np.maximum(1 - scores.astype(np.float64), 1e-6)
        weights = 1 / distances
        places[part] = (flat[nearest] * weights[..., None]).sum(1) / weights.sum(1, keepdims=True)
    return places


def nearest(vectors: Any, k: int) -> np.ndarray:
    """Return the k nearest other vectors of each vector [n d] by cosine, by exact search: rows int32 [n k].

    Raises:
        ValueError: k is not between 1 and n - 1, or a vector is zero or not finite.

    Example:
        >>> import lab, numpy as np
        >>> lab.maps.nearest(np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]), 1).tolist()
        [[1], [0], [1]]
    """
    vectors = _check_rows(vectors, "vector", np.float32)
    if not 1 <= k < len(vectors):
        raise ValueError(
            f"k must be between 1 and the {len(vectors) - 1} others of a vector, got {k}."
        )
    return _nearest_by_cosine(vectors, k)[1]


def quality(vectors: Any, flat: np.ndarray, k: int = 10) -> dict[str, float]:
    """Measure how well a map preserves the k nearest neighbours (by cosine, without the point itself).

    Returns:
        trustworthiness: 1 if every neighbour on the map is a true neighbour; smaller, the further away the false
            neighbours truly are (Venna and Kaski, 2001); about 0.5 for a random map.
        agreement: mean share of the k nearest on the map that are among the true k nearest.
        chance: the agreement of a random map, k / (n - 1).

    Time and memory O(n^2): sample some thousands of points first.

    Raises:
        ValueError: k is not between 1 and (n - 1) / 2, or vectors and map do not describe the same points.

    Example:
        >>> import lab, numpy as np
        >>> vectors = np.random.default_rng(0).normal(size=(50, 16))
        >>> measures = lab.maps.quality(vectors, lab.maps.project(vectors), k=5)
        >>> measures["chance"] < measures["agreement"] < 1  # noise in 16 dimensions does not fit on a plane
        True
    """
    from sklearn.manifold import trustworthiness

    vectors = _check_rows(vectors, "vector")
    flat = _check_rows(flat, "place")
    count = len(vectors)
    if len(flat) != count:
        raise ValueError(
            f"{count} vectors and {len(flat)} places on the map do not belong together."
        )
    if not 1 <= k < count / 2:
        raise ValueError(f"k must be at least 1 and less than half of the {count} points, got {k}.")
    true_neighbours = _nearest(_unit(vectors.astype(np.float32)), k)
    map_neighbours = _nearest(flat, k)
    shared = []
    for true, on_map in zip(true_neighbours, map_neighbours, strict=True):
        shared.append(len(np.intersect1d(true, on_map, assume_unique=True)))
    return {
        "trustworthiness": float(trustworthiness(vectors, flat, n_neighbors=k, metric="cosine")),
        "agreement": float(np.mean(shared) / k),
        "chance": k / (count - 1),
    }


def _check_rows(rows: Any, noun: str, dtype: type | None = None) -> np.ndarray:
    """Return rows [n d] as an array, converted to `dtype` if it is given; `noun` names a row in messages.

    Raises:
        ValueError: the rows are not a table of numbers, or a row is not finite.
    """
    table = as_array(rows, f"{noun}s")
    if table.ndim != 2 or table.dtype.kind not in "biuf" or not table.shape[1]:
        raise ValueError(
            f"The {noun}s must be numbers [n d], got {table.dtype} {list(table.shape)}."
        )
    if dtype is not None:
        table = table.astype(dtype, copy=False)
    bad = np.flatnonzero(~np.isfinite(table).all(1))
    if len(bad):
        raise ValueError(
            f"{noun.capitalize()} {bad[0]} holds NaN or infinity, so it has no place on a map."
        )
    return table


PIECE = 100_000
"""Number of rows that PCA converts to double precision at a time."""


def _pca(vectors: np.ndarray) -> np.ndarray:
    """Project unit vectors on their two principal axes, [n 2]."""

    def unit_pieces() -> Iterator[np.ndarray]:
        for begin in range(0, len(vectors), PIECE):
            yield _unit(vectors[begin : begin + PIECE].astype(np.float64))

    mean = sum(piece.sum(0) for piece in unit_pieces()) / len(vectors)
    covariance = np.zeros((vectors.shape[1],) * 2)
    for piece in unit_pieces():
        centred = piece - mean
        covariance += centred.T @ centred
    _, directions = np.linalg.eigh(covariance)  # [d d]: faster than a decomposition of all n rows
    axes = directions[:, :-3:-1]

    flat = np.concatenate([(piece - mean) @ axes for piece in unit_pieces()])
    if flat.shape[1] < 2:  # one-dimensional embeddings are on a line
        flat = np.pad(flat, ((0, 0), (0, 1)))

    # A direction's sign is arbitrary; fix it, so that the same points give the same picture on every machine.
    largest = flat[np.abs(flat).argmax(0), [0, 1]]
    return flat * np.where(largest < 0, -1, 1)


def _initial_places(vectors: np.ndarray, start: np.ndarray | None) -> np.ndarray:
    """Return the given start, or the PCA map, scaled to a deviation of 1e-4 along x."""
    flat = _pca(vectors) if start is None else start - start.mean(0)
    return (flat / max(flat[:, 0].std(), 1e-12) * 1e-4).astype(np.float32)


def _umap(vectors: np.ndarray, seed: int, neighbours: int, start: np.ndarray | None) -> np.ndarray:
    need("The method umap (pca and tsne do not)", "app", "umap")
    import umap

    # Give UMAP exact neighbours. It counts a point as its own first neighbour.
    count = min(neighbours, len(vectors) - 1)
    distances, rows = _nearest_by_cosine(vectors, count - 1)
    itself = np.arange(len(vectors), dtype=np.int32)[:, None]
    indices = np.hstack([itself, rows])
    all_distances = np.hstack([np.zeros_like(distances[:, :1]), distances])
    with warnings.catch_warnings():
        # it warns that no points can be added later
        warnings.filterwarnings("ignore", "precomputed_knn")
        reducer = umap.UMAP(
            n_neighbors=count,
            metric="cosine",
            init=_initial_places(vectors, start) * 1e5,
            random_state=seed,
            n_jobs=1,
            precomputed_knn=(indices, all_distances),
        )
        return reducer.fit_transform(vectors)


def _tsne(vectors: np.ndarray, seed: int, neighbours: int, start: np.ndarray | None) -> np.ndarray:
    from sklearn.manifold import TSNE

    reducer = TSNE(
        perplexity=min(2 * neighbours, (len(vectors) - 1) / 3),
        init=_initial_places(vectors, start),
        learning_rate="auto",
        random_state=seed,
        metric="cosine",
    )
    return reducer.fit_transform(vectors)


def _nearest_by_cosine(vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosine distances float32 [n k] of the k nearest other vectors, and their rows int32 [n k]."""
    from lab import search

    points = _points(vectors)
    ranking = search.create("exact", device="cpu", k=k).build(points).rank(points, same_source=True)
    return np.maximum(1 - ranking.scores, 0), ranking.neighbours.astype(np.int32)


def _points(vectors: np.ndarray) -> EmbeddingSet:
    """Return vectors as a set in which every vector is an item and a class of its own."""
    rows = np.arange(len(vectors))
    return EmbeddingSet(np.asarray(vectors, np.float32), labels=rows, items=rows)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def _nearest(points: np.ndarray, k: int) -> np.ndarray:
    """Return the rows of the k nearest other points, int64 [n k]; ties by position."""
    from sklearn.neighbors import NearestNeighbors

    neighbours = NearestNeighbors(n_neighbors=k + 1).fit(points).kneighbors(return_distance=False)
    itself = neighbours == np.arange(len(points))[:, None]
    itself[~itself.any(1), -1] = (
        True  # a point with many duplicates may not be listed: drop its last neighbour
    )
    return neighbours[~itself].reshape(len(points), k)
