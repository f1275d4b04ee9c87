"""Search: two-stage and IVF against the best brute force, one query at a time and in batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import numpy as np
import torch

from lab import search
from lab.doctor.bench._measure import BenchRow, around, centres, medians

NOISE = 1.5
"""Length of the noise in units of an anchor's."""

ROWS = 256


def measure(
    cases: tuple[tuple[int, int], ...] = ((100, 50_000),),
    queries: int = 5000,
    d: int = 512,
    k: int = 100,
    repeats: int = 3,
) -> Iterator[BenchRow]:
    """Times for k neighbours as ratios to the quicker of faiss's flat index and a product with topk; recall@k.

    Args:
        cases: numbers of anchors and of gallery items.
        queries: queries in the batch; the more there are, the more of them share the reading of a file.
    """
    import faiss

    create: Any = search.create  # the two-stage index is built of anchors, too
    faiss.omp_set_num_threads(torch.get_num_threads())
    for anchors, items in cases:
        setting = f"{anchors} anchors, {items} items, d={d} k={k}"
        places = centres(anchors, d, seed=0)
        gallery, query_vectors = (
            around(places, items, NOISE, seed=1),
            around(places, queries, NOISE, seed=2).vectors,
        )
        flat = faiss.IndexFlatIP(d)
        flat.add(gallery.vectors)
        rows = torch.from_numpy(gallery.vectors)
        brute = {
            "faiss flat": lambda some, flat=flat: flat.search(some, k),
            "product and topk": lambda some, rows=rows: [
                (part @ rows.T).topk(k, dim=1) for part in torch.from_numpy(some).split(ROWS)
            ],
        }
        right = flat.search(query_vectors, k)[1]
        lists = max(1, round(items**0.5))
        indexes = {
            "two-stage, 1 anchor": create("two_stage", k=k, probes=1, device="cpu").build(
                gallery, anchors=places
            ),
            "two-stage, 2 anchors": create("two_stage", k=k, probes=2, device="cpu").build(
                gallery, anchors=places
            ),
            "faiss ivf, 8 probes": search.create(
                "faiss_ivf", k=k, lists=lists, probes=8, device="cpu"
            ).build(gallery),
        }
        for single in (True, False):
            yield from _speeds(brute, indexes, query_vectors, setting, repeats, single)
        for name, index in indexes.items():
            neighbours = index.neighbours(query_vectors, k)[1]
            recall = np.mean(
                [len(np.intersect1d(a, b)) / k for a, b in zip(neighbours, right, strict=True)]
            )
            yield BenchRow("search", f"{name}, recall@{k}", setting, float(recall), "share")


def _speeds(
    brute: dict[str, Callable],
    indexes: dict[str, Any],
    query_vectors: np.ndarray,
    setting: str,
    repeats: int,
    single: bool,
) -> Iterator[BenchRow]:
    how, times = ("one at a time", 25) if single else ("in batch", 1)
    # Another query each time: a file that was just read would come from the cache.
    turn = cycle(np.split(query_vectors, len(query_vectors)) if single else [query_vectors])
    finders = brute | {
        name: lambda some, index=index: index.neighbours(some) for name, index in indexes.items()
    }

    def work(find: Callable) -> Callable[[], list]:
        return lambda: [find(next(turn)) for _ in range(times)]

    seconds = medians({name: work(find) for name, find in finders.items()}, repeats, brute)
    best = min(brute, key=lambda name: seconds[name])
    each = 1e6 / times / (1 if single else len(query_vectors))
    for name, taken in seconds.items():
        yield BenchRow("search", f"{name}, {how}", setting, taken * each, "us")
    for name in indexes:
        yield BenchRow(
            "search", f"{name}, {how}", setting, seconds[best] / seconds[name], "x", best
        )
