"""Runs as numbers: vectors in eight bits, what is known of each image, and pictures on sheets."""

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from PIL import Image

from lab.core.formats import counted
from lab.core.results import EmbeddingSet
from lab.data import ImageSet
from lab.maps import kept
from lab.maps.of_run import sheet
from lab.report import page
from lab.runs.folder import Run

TOP = 10
"""Nearest images by which eight bits are compared with float32."""

SAMPLE = 1_000
"""Queries for which that is done, at most."""

GRID = 16
"""Pictures along a side of a sheet."""


def quantised(vectors: np.ndarray, similarity: str) -> tuple[np.ndarray, np.ndarray]:
    """Vectors [n d] as int8 [n d], the largest number of each at 127, and a scale float32 [n] of each.

    By cosine the scale gives an int8 vector unit length; by distance it gives back the length that it had.

    Example:
        >>> codes, scales = quantised(np.array([[0.6, 0.8], [0.0, 0.0]]), "cosine")
        >>> codes.tolist(), scales.round(4)
        ([[95, 127], [0, 0]], array([0.0063, 1.    ], dtype=float32))
    """
    largest = np.abs(vectors).max(1, keepdims=True).clip(1e-30)
    codes = np.rint(vectors / largest * 127).astype(np.int8)
    if similarity == "cosine":
        lengths = np.sqrt(np.einsum("nd,nd->n", codes, codes, dtype=np.int64))
        scales = 1 / lengths.clip(1)
    else:
        scales = largest[:, 0] / 127
    return codes, scales.astype(np.float32)


def numbers_of(
    run: Run, split: str, column: str
) -> tuple[dict[str, np.ndarray], dict[str, Any], str]:
    """Of all n images of a run's split: arrays [n ...] of what is known, what is told of the run, how eight bits do."""
    query = run.embeddings(split)
    gallery = run.embeddings(split, "gallery") or query
    whole = sheet(run, split).on_map
    similarity = run.config_of(split).similarity
    row_of = {item: row for row, item in enumerate(whole.items.tolist())}
    rows = np.array([row_of[item] for item in query.items.tolist()])  # of the queries
    searched = np.isin(whole.items, gallery.items)
    gallery_rows = np.flatnonzero(searched)

    # Vectors in eight bits.
    vectors = whole.vectors
    # distances do not depend on the origin, and eight bits hold little far from it
    if similarity == "euclidean":
        vectors = vectors - np.median(vectors.astype(np.float64), axis=0)
    codes, scales = quantised(vectors, similarity)

    # How many of the nearest images of a sample of queries are the same by float32 and by eight bits.
    sample = np.sort(np.random.default_rng(0).permutation(len(rows))[:SAMPLE])
    exact = page.nearest(query, whole.take(gallery_rows), TOP, similarity)[sample]
    coarse = EmbeddingSet(codes * scales[:, None], whole.labels, whole.items)
    rough = page.nearest(coarse.take(rows[sample]), coarse.take(gallery_rows), TOP, similarity)
    same_first = 100 * (exact[:, 0] == rough[:, 0]).mean()
    shares = [np.isin(one[one >= 0], other).mean() for one, other in zip(exact, rough, strict=True)]
    same_of_all = 100 * np.mean(shares)

    # The score of each query, and the nearest image that has a class: one without makes no query right or wrong.
    score = np.full(len(whole), np.nan, np.float32)
    score[rows] = run.per_query(split)[column]
    nearest = np.full(len(whole), -1, np.int32)
    with_class = gallery_rows[whole.labelled[gallery_rows]]
    if len(with_class):
        first = page.nearest(query, whole.take(with_class), 1, similarity)[:, 0]
        nearest[rows] = np.where(first < 0, -1, with_class[first])

    umap = kept.Chart(run, split, "umap").read()
    drawn = umap or kept.pca_map(run, split)
    flat = drawn.flat[-1] - drawn.flat[-1].min(0)
    arrays = {
        "vectors": codes,
        "scales": scales,
        "asked": np.isin(whole.items, query.items).astype(np.uint8),
        "searched": searched.astype(np.uint8),
        "score": score,
        "nearest": nearest,
        "places": (flat / (flat.max() or 1) * 65_535).astype(np.uint16),
    }
    method = "umap" if umap else "pca"
    agreement = 100 * drawn.quality["agreement"][-1]
    of_a_random_map = 100 * drawn.quality["chance"][-1]
    told = {
        "name": run.name,
        "similarity": similarity,
        "map": f"A map ({method}) is for an overview: {agreement:.0f} % of the neighbours on it are true ones, by "
        f"chance {of_a_random_map:.1f} %.",
    }
    precision = (
        f"{run.name}: for {same_first:.1f} % of {counted(len(sample), 'query', 'queries')} the nearest image is that "
        f"of float32, and {same_of_all:.1f} % of the nearest {TOP} are."
    )
    return arrays, told, precision


def sheets(pictures: Sequence[tuple[ImageSet, int]], side: int) -> Iterator[bytes]:
    """Some images, each by its data set and its number there, as WebP, `GRID` times `GRID` on each sheet. side: pixels
    of the longer side of each; one that cannot be read is grey."""
    for begin in range(0, len(pictures), GRID**2):
        drawn = Image.new("RGB", (GRID * side, GRID * side), "white")
        for at, (images, item) in enumerate(pictures[begin : begin + GRID**2]):
            try:
                picture = images.load(item).convert("RGB")
                picture.thumbnail((side, side), Image.Resampling.LANCZOS)
            except (OSError, ValueError):
                picture = Image.new("RGB", (side, side), "grey")
            left = at % GRID * side + (side - picture.width) // 2  # in the middle of its cell
            top = at // GRID * side + (side - picture.height) // 2
            drawn.paste(picture, (left, top))
        written = io.BytesIO()
        drawn.save(written, "WEBP", quality=75)
        yield written.getvalue()
