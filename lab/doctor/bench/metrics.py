"""Metrics: the whole ranking of a set against the bare product of its embeddings, and against a library.

The bare product is taken by every product that this machine has; the quickest one divides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import torch

from lab import metrics, search
from lab.core.results import EmbeddingSet, Evidence
from lab.doctor.bench._measure import BenchRow, embeddings, medians
from lab.doctor.bench._memory import extra_megabytes
from lab.kernels.cpu.products import available

COLUMNS = (
    "hit_rate_at_k", "recall_at_k", "r_precision", "map_at_r", "mean_average_precision", "mean_reciprocal_rank",
)  # fmt: skip

PLAIN_AT_MOST = 5_000
"""Sizes beyond which the plain path is left out: it takes nine times the product, and tells the same."""

TILE = 1024

PRODUCTS = available()
"""Name to function, of every product of two matrices that this machine has."""


def measure(
    sizes: tuple[int, ...] = (4096, 16_384),
    library_size: int = 10_000,
    d: int = 512,
    k: int = 10,
    repeats: int = 3,
) -> Iterator[BenchRow]:
    """Times of full metrics as ratios to the product, and the memory they take.

    Args:
        sizes: numbers of embeddings; the published one is 60,502 (Stanford Online Products' test set).
        library_size: embeddings for pytorch-metric-learning, whose full mAP takes time and memory quadratic in it.
        k: neighbours kept beside the metrics.
    """
    for n in sizes:
        for kind in ("trained", "untrained"):
            setting = f"n={n} d={d} k={k} {kind}"
            images = embeddings(n, d, kind)
            works: dict[str, Callable[[], object]] = {
                f"bare product by {product}": partial(bare_product, images, product)
                for product in PRODUCTS
            }
            bare = list(works)
            for path in ("compiled", "plain") if n <= PLAIN_AT_MOST else ("compiled",):
                works[path] = partial(all_metrics, images, k, path)
            yield from medians(works, repeats, bare).rows("metrics", setting, bare)
            megabytes = extra_megabytes(prepared, n=n, d=d, kind=kind, k=k)
            yield BenchRow(
                "metrics", "compiled, memory beyond the embeddings", setting, megabytes, "MB"
            )
    yield _against_library(library_size, d, repeats)


def all_metrics(images: EmbeddingSet, k: int, path: str) -> dict[str, float]:
    """Every ranking metric of a set searched among itself."""
    ranking = (
        search.create("exact", k=k, path=path, device="cpu")
        .build(images)
        .rank(images, same_source=True)
    )
    evidence = Evidence(ranking, images, images)
    return {c: v for name in COLUMNS for c, v in metrics.create(name)(evidence).values.items()}


def prepared(n: int, d: int, kind: str, k: int) -> Callable[[], object]:
    """All metrics of n embeddings, ready to be measured."""
    all_metrics(embeddings(1000, d, kind), k, "compiled")
    images = embeddings(n, d, kind)
    return lambda: all_metrics(images, k, "compiled")


def bare_product(images: EmbeddingSet, product: str) -> None:
    """All similarities in float32, tile by tile, none of them kept, by one of `PRODUCTS`."""
    rows, times = torch.from_numpy(images.vectors), PRODUCTS[product]
    for left in rows.split(TILE):
        for right in rows.split(TILE):
            times(left, right)


def _against_library(n: int, d: int, repeats: int) -> BenchRow:
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator

    images = embeddings(n, d, "trained")
    include = (
        "mean_average_precision",
        "mean_average_precision_at_r",
        "r_precision",
        "mean_reciprocal_rank",
    )
    calculator = AccuracyCalculator(include=include, k=n - 1)
    vectors, labels = torch.from_numpy(images.vectors), torch.from_numpy(images.labels)
    ours = medians({"ours": partial(all_metrics, images, 10, "compiled")}, repeats)["ours"]
    start = time.perf_counter()  # once: it takes a minute and gigabytes
    calculator.get_accuracy(vectors, labels)
    times = (time.perf_counter() - start) / ours
    against = "pytorch-metric-learning, full mAP"
    return BenchRow("metrics", "times quicker", f"n={n} d={d} trained", times, "x", against)
