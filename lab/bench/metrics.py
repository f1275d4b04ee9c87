"""Metrics: the whole ranking of a set against the bare product of its embeddings, and against a library.

The bare product is taken by every product that this machine has; the quickest one divides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch

from lab import metrics, search
from lab.bench._measure import BenchRow, embeddings, medians
from lab.bench._memory import extra_megabytes
from lab.core.results import EmbeddingSet, Evidence
from lab.kernels.products import available

COLUMNS = (
    "hit_rate_at_k", "recall_at_k", "r_precision", "map_at_r", "mean_average_precision", "mean_reciprocal_rank",
)  # fmt: skip

PLAIN_AT_MOST = 5_000
"""Sizes beyond which the plain path is left out: it takes nine times the product, and tells the same."""

TILE = 1024

PRODUCTS = available()
"""Name to function, of every product of two matrices that this machine has."""
FASTEST = "quickest bare product"


def measure(
    sizes: tuple[int, ...] = (4096, 16_384),
    library_size: int = 10_000,
    d: int = 512,
    k: int = 10,
    repeats: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[BenchRow]:
    """Times of full metrics as ratios to the product, the memory they take, and whether both paths agree.

    Args:
        sizes: numbers of embeddings; the published one is 60,502 (Stanford Online Products' test set).
        library_size: embeddings for pytorch-metric-learning, whose full mAP takes time and memory quadratic in it.
        k: neighbours kept beside the metrics.
    """
    for n in sizes:
        for kind in ("trained", "untrained"):
            setting = f"n={n} d={d} k={k} {kind}"
            yield from _one_pass(embeddings(n, d, kind), setting, k, repeats, clock)
            megabytes = extra_megabytes(prepared, n=n, d=d, kind=kind, k=k)
            yield BenchRow("metrics", "compiled, memory beyond the embeddings", setting, megabytes, "MB", goal=300)
    yield from _against_library(library_size, d, repeats, clock)


def all_metrics(images: EmbeddingSet, k: int, path: str) -> dict[str, float]:
    """Every ranking metric of a set searched among itself."""
    ranking = search.create("exact", k=k, path=path, device="cpu").build(images).rank(images, same_source=True)
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


def _kept(scores: dict[str, Any], images: EmbeddingSet, k: int, path: str) -> None:
    scores[path] = all_metrics(images, k, path)


def _one_pass(
    images: EmbeddingSet, setting: str, k: int, repeats: int, clock: Callable[[], float]
) -> Iterator[BenchRow]:
    scores: dict[str, Any] = {}
    works: dict[str, Callable[[], object]] = {
        f"bare product by {product}": partial(bare_product, images, product) for product in PRODUCTS
    }
    bare = list(works)
    for path in ("compiled", "plain") if len(images) <= PLAIN_AT_MOST else ("compiled",):
        works[path] = partial(_kept, scores, images, k, path)
    yield from medians(works, repeats, clock, bare).rows("metrics", setting, bare, FASTEST, {"compiled": 0.5}.get)
    same = all(other == scores["compiled"] for other in scores.values())
    yield BenchRow("metrics", "paths that give the same values", setting, float(same), "share", goal=1)


def _against_library(n: int, d: int, repeats: int, clock: Callable[[], float]) -> Iterator[BenchRow]:
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator

    images = embeddings(n, d, "trained")
    include = ("mean_average_precision", "mean_average_precision_at_r", "r_precision", "mean_reciprocal_rank")
    calculator = AccuracyCalculator(include=include, k=n - 1)
    vectors, labels = torch.from_numpy(images.vectors), torch.from_numpy(images.labels)
    scores = {}
    ours = medians({"ours": lambda: scores.update(all_metrics(images, 10, "compiled"))}, repeats, clock)["ours"]
    start = clock()  # once: it takes a minute and gigabytes
    theirs = calculator.get_accuracy(vectors, labels)
    library = clock() - start
    setting = f"n={n} d={d} trained"
    against = "pytorch-metric-learning, full mAP"
    yield BenchRow("metrics", "times quicker", setting, library / ours, "x", against, goal=40)
    difference = abs(theirs["mean_average_precision"] - scores["mAP"])
    yield BenchRow("metrics", "difference in mAP", setting, float(np.round(difference, 9)), "share", against)
