"""Maps: seconds for thousands of points, and how far the map keeps their neighbours."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

from lab import maps
from lab.bench._measure import BenchRow, embeddings, medians

JUDGED = 2000
"""Points on which a map's honesty is judged, which takes memory quadratic in them."""


def measure(size: int = 10_000, d: int = 512, repeats: int = 3) -> Iterator[BenchRow]:
    """Seconds of PCA, of UMAP when it is first asked for (it compiles itself) and when it is asked again."""
    vectors = embeddings(size, d, "trained", per_class=50).vectors
    setting = f"n={size} d={d} trained"
    start = time.perf_counter()
    flat = maps.flatten(vectors, "umap")
    first = time.perf_counter() - start
    works = {name: partial(maps.flatten, vectors, name) for name in ("pca", "umap")}
    taken = medians(works, repeats)
    yield taken.row("pca", "maps", "pca", setting)
    yield BenchRow("maps", "umap, compiling", setting, first, "s")
    yield taken.row("umap", "maps", "umap, from exact neighbours", setting)
    for name, value in maps.honesty(vectors[:JUDGED], flat[:JUDGED]).items():
        yield BenchRow("maps", f"umap, {name}", f"n={min(size, JUDGED)} of {size}", value, "share")
