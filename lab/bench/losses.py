"""Losses: forward and backward against the bare similarity step, a naive implementation and pytorch-metric-learning.

The bare step is the n x n x d product of a batch with itself and the two products that carry a gradient back, 6 n^2 d
operations and nothing else: what a loss that keeps the whole matrix cannot go below.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from lab import kernels, losses
from lab.bench import _naive
from lab.bench._embeddings import around, centres
from lab.bench._measure import Row, medians
from lab.bench._memory import extra_megabytes
from lab.surrogates import Sigmoid

NOISE = {"untrained": 8.0, "half-trained": 1.0}
"""Length of the noise in units of a class centre's: nearly every pair has a gradient, or few have."""

RANKING = ("recall_at_k", "smooth_ap", "sup_ap", "roadmap", "calibration")
OTHERS = ("contextual", "fast_ap", "softbin_ap")
SIMIX = "recall_at_k with simix"
GOALS = {("untrained", name): 0.75 for name in RANKING[:4]} | {("half-trained", name): 0.45 for name in RANKING[:4]}
GOALS |= {(kind, SIMIX): 1.5 for kind in NOISE} | {(kind, "contextual"): 0.5 for kind in NOISE}


def batch(n: int, d: int, per_class: int, kind: str) -> tuple[Tensor, Tensor]:
    """Unit rows [n d] and labels [n] in random order."""
    found = around(centres(-(-n // per_class), d, seed=0), n, NOISE[kind], seed=1)
    return torch.from_numpy(found.vectors), torch.from_numpy(found.labels)


def measure(
    sizes: tuple[int, ...] = (512, 1024, 2048, 4096),
    d: int = 512,
    per_class: int = 4,
    naive_size: int = 256,
    memory_of: tuple[str, ...] = ("recall_at_k", "sup_ap", "roadmap", "contextual", "fast_ap"),
    repeats: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Row]:
    """Time of every tiled loss as a ratio to the bare step, its growth over n, and the memory it adds.

    Args:
        sizes: batch sizes, rising; growth exponents are fitted over them, memory is taken at the last two.
        memory_of: losses whose memory is taken, each in a process of its own.
        naive_size: batch of the n^3 implementation, and of pytorch-metric-learning.
    """
    seconds: dict[tuple[str, str], list[float]] = {}
    for n in sizes:
        for kind in NOISE:
            rows, labels = batch(n, d, per_class, kind)
            works = {"bare step": lambda rows=rows: bare_step(rows)}
            works |= {name: step(name, rows, labels) for name in (*RANKING, SIMIX, *OTHERS)}
            works["recall_at_k, plain tensors"] = forced("plain", step("recall_at_k", rows, labels))
            taken = medians(works, repeats, clock)
            yield from _ratios(taken, kind, f"n={n} d={d} m={per_class} {kind}", n)
            for name, time_taken in taken.items():
                seconds.setdefault((name, kind), []).append(time_taken)
    for (name, kind), taken in seconds.items():
        if len(sizes) > 1:
            yield Row(
                "losses", f"{name}, growth of time", f"n={sizes[0]}-{sizes[-1]} {kind}", exponent(sizes, taken), "power"
            )
    yield from _memory(memory_of, sizes, d, per_class)
    yield from _against_naive(naive_size, d, per_class, repeats, clock)
    yield from _against_library(sizes[-1] if sizes[-1] <= 1024 else 1024, d, per_class, repeats, clock)


def bare_step(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The product and its two backward products."""
    similarities = rows @ rows.T
    return similarities @ rows, similarities.T @ rows


def step(name: str, rows: Tensor, labels: Tensor) -> Callable[[], None]:
    """One forward and backward of a loss."""
    loss = losses.create("recall_at_k", simix=True) if name == SIMIX else losses.create(name)
    leaf = rows.clone().requires_grad_()

    def work() -> None:
        leaf.grad = None
        loss(leaf, labels).backward()

    return work


def forced(path: str, work: Callable[[], None]) -> Callable[[], None]:
    """The same work on one path of the kernels."""

    def on_path() -> None:
        with kernels.force(path):
            work()

    return on_path


def exponent(sizes: tuple[int, ...], values: list[float]) -> float:
    """b of the least-squares fit value = a n^b, a line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def _ratios(taken: dict[str, float], kind: str, setting: str, n: int) -> Iterator[Row]:
    bare = taken["bare step"]
    yield Row("losses", "bare step", setting, bare, "s")
    for name, time_taken in taken.items():
        if name != "bare step":
            goal = GOALS.get((kind, name)) if n >= 1024 else None
            goal = 2.0 if "plain" in name and n >= 1024 else goal
            yield Row("losses", name, setting, time_taken / bare, "x", against="bare step", goal=goal)


def _memory(names: tuple[str, ...], sizes: tuple[int, ...], d: int, per_class: int) -> Iterator[Row]:
    for name in names:
        taken = []
        for n in sizes[-2:]:
            taken.append(extra_megabytes(name, n, d, per_class, "untrained"))
            # Beyond the gradient: the loss's own unit rows and their gradient are the batch's size each.
            goal = 3 * n * d * 4 / 1e6 + 32
            yield Row("losses", f"{name}, extra memory", f"n={n} d={d} untrained", taken[-1], "MB", goal=goal)
        if len(taken) > 1:
            setting = f"n={sizes[-2]}-{sizes[-1]} untrained"
            yield Row("losses", f"{name}, growth of memory", setting, exponent(sizes[-2:], taken), "power")


def _against_naive(n: int, d: int, per_class: int, repeats: int, clock) -> Iterator[Row]:
    rows, labels = batch(n, d, per_class, "untrained")
    leaf = rows.clone().requires_grad_()
    naive = lambda: _naive.smooth_ap(leaf, labels, Sigmoid(0.01)).backward()  # noqa: E731
    taken = medians({"naive": naive, "ours": step("smooth_ap", rows, labels)}, repeats, clock)
    setting = f"n={n} d={d} m={per_class} untrained"
    yield Row("losses", "smooth_ap, times quicker", setting, taken["naive"] / taken["ours"], "x", "naive n^3 tensor")


def _against_library(n: int, d: int, per_class: int, repeats: int, clock) -> Iterator[Row]:
    from pytorch_metric_learning.losses import FastAPLoss

    rows, labels = batch(n, d, per_class, "untrained")
    theirs, leaf = FastAPLoss(num_bins=10), rows.clone().requires_grad_()
    works = {"library": lambda: theirs(leaf, labels).backward(), "ours": step("fast_ap", rows, labels)}
    taken = medians(works, repeats, clock)
    setting = f"n={n} d={d} m={per_class} untrained"
    yield Row(
        "losses", "fast_ap, times quicker", setting, taken["library"] / taken["ours"], "x", "pytorch-metric-learning"
    )
