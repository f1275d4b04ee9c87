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

TOP, SAMPLE = 10, 1_000
"""Nearest images by which eight bits are compared with float32; and queries for which that is done, at most."""

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
    lengths = np.sqrt(np.einsum("nd,nd->n", codes, codes, dtype=np.int64))
    return codes, (1 / lengths.clip(1) if similarity == "cosine" else largest[:, 0] / 127).astype(np.float32)


def numbers_of(run: Run, split: str, column: str) -> tuple[dict[str, np.ndarray], dict[str, Any], str]:
    """Of all n images of a run's split: arrays [n ...] of what is known, what is told of the run, how eight bits do."""
    query, gallery = run.embeddings(split), run.embeddings(split, "gallery")
    whole, similarity = sheet(run, split).on_map, run.config_of(split).similarity
    searched = np.isin(whole.items, (query if gallery is None else gallery).items)
    place = {item: row for row, item in enumerate(whole.items.tolist())}
    rows, there = np.array([place[item] for item in query.items.tolist()]), np.flatnonzero(searched)
    rows_shown = whole.vectors
    if similarity == "euclidean":  # distances do not depend on the origin, and eight bits hold little far from it
        rows_shown = rows_shown - np.median(rows_shown.astype(np.float64), axis=0)
    codes, scales = quantised(rows_shown, similarity)
    found = page.nearest(query, whole.take(there), TOP, similarity)
    some = np.sort(np.random.default_rng(0).permutation(len(rows))[:SAMPLE])
    coarse = EmbeddingSet(codes * scales[:, None], whole.labels, whole.items)
    again = page.nearest(coarse.take(rows[some]), coarse.take(there), TOP, similarity)
    same = [np.isin(one[one >= 0], other).mean() for one, other in zip(found[some], again, strict=True)]
    umap = kept.Chart(run, split, "umap").read()
    drawn = umap or kept.pca_map(run, split)
    flat = drawn.flat[-1] - drawn.flat[-1].min(0)
    score, nearest = np.full(len(whole), np.nan, np.float32), np.full(len(whole), -1, np.int32)
    score[rows] = run.per_query(split)[column]
    classed = there[whole.labelled[there]]  # an image without a class makes no query right or wrong
    if len(classed):
        first = page.nearest(query, whole.take(classed), 1, similarity)[:, 0]
        nearest[rows] = np.where(first < 0, -1, classed[first])
    arrays = {
        "vectors": codes, "scales": scales, "asked": np.isin(whole.items, query.items).astype(np.uint8),
        "searched": searched.astype(np.uint8), "score": score, "nearest": nearest,
        "places": (flat / (flat.max() or 1) * 65_535).astype(np.uint16),
    }  # fmt: skip
    first, both = 100 * (found[some, 0] == again[:, 0]).mean(), 100 * np.mean(same)
    kept_near, luck = (100 * drawn.quality[name][-1] for name in ("agreement", "chance"))
    told = {
        "name": run.name,
        "similarity": similarity,
        "map": f"A map ({'umap' if umap else 'pca'}) is for an overview: {kept_near:.0f} % of the neighbours on it are "
        f"true ones, by chance {luck:.1f} %.",
    }
    precision = (
        f"{run.name}: for {first:.1f} % of {counted(len(some), 'query', 'queries')} the nearest image is that of "
        f"float32, and {both:.1f} % of the nearest {TOP} are."
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
            x, y = at % GRID * side, at // GRID * side
            drawn.paste(picture, (x + (side - picture.width) // 2, y + (side - picture.height) // 2))
        written = io.BytesIO()
        drawn.save(written, "WEBP", quality=75)
        yield written.getvalue()
