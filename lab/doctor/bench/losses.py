"""Losses: forward and backward against the bare similarity step, a naive implementation and pytorch-metric-learning.

The bare step is the n x n x d product of a batch with itself and the two products that carry a gradient back, 6 n^2 d
operations and nothing else: what a loss that keeps the whole matrix cannot go below. It is taken by every product that
this machine has, and losses are divided by the quickest, so that a library's slow product flatters nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor

from lab import kernels, losses
from lab.doctor.bench._measure import BenchRow, around, centres, medians
from lab.doctor.bench._memory import Prepare, extra_megabytes
from lab.kernels import allocator
from lab.kernels.cpu.products import available
from lab.losses import Loss
from lab.surrogates import Sigmoid, Surrogate
from lab.training.forecast import peak_of

NOISE = {"untrained": 8.0, "half-trained": 1.0}
"""Length of the noise in units of a class centre's: nearly every pair has a gradient, or few have."""

PRODUCTS = available()
"""Name to function, of every product of two matrices that this machine has."""
PLAIN = "recall_at_k, plain tensors"
AT_ONCE = 1024
"""Rows of the bare step that are multiplied at once."""

HEAVY = 2_000_000_000
"""Bytes at its peak beyond which a loss is not measured at a size."""


def cases() -> dict[str, tuple[type[Loss], dict[str, Any]]]:
    """Every row by its name: a loss of the catalogue and its knobs."""
    made: dict[str, tuple[type[Loss], dict[str, Any]]] = {
        name: (kind, {}) for name, kind in losses.entries().items()
    }
    return made | {"recall_at_k with simix": (losses.get("recall_at_k"), {"simix": True})}


def batch(n: int, d: int, per_class: int, kind: str) -> tuple[Tensor, Tensor]:
    """Unit rows [n d] and labels [n] in random order."""
    images = around(centres(-(-n // per_class), d, seed=0), n, NOISE[kind], seed=1)
    return torch.from_numpy(images.vectors), torch.from_numpy(images.labels)


def measure(
    sizes: tuple[int, ...] = (512, 1024, 2048, 4096),
    d: int = 512,
    per_class: int = 4,
    naive_size: int = 256,
    library_size: int = 2048,
    memory_of: tuple[str, ...] | None = None,
    largest: int = 65_536,
    repeats: int = 3,
) -> Iterator[BenchRow]:
    """Time of every loss as a ratio to the bare step, and the memory it adds.

    Args:
        sizes: batch sizes, rising; memory is taken at the last.
        naive_size, library_size: batch sizes of the n^3 implementation, and of pytorch-metric-learning.
        memory_of: rows of `cases` whose memory is taken, each in a process of its own; None is all.
        largest: a batch at which the memory of one ranking loss is taken, too.
    """
    allocator.keep_freed_memory()  # as a training does
    for n in sizes:
        for kind in NOISE:
            rows, labels = batch(n, d, per_class, kind)
            works: dict[str, Callable[[], Any]] = {
                f"bare step by {product}": partial(bare_step, rows, product) for product in PRODUCTS
            }
            bare = list(works)
            works |= {
                name: step(name, rows, labels) for name in cases() if fits(name, n, d, per_class)
            }
            works[PLAIN] = step("recall_at_k", rows, labels, path="plain")
            taken = medians(works, repeats, bare)
            yield from taken.rows("losses", f"n={n} d={d} m={per_class} {kind}", bare)
    sized = {"d": d, "per_class": per_class}
    for name in cases() if memory_of is None else memory_of:
        if fits(name, sizes[-1], **sized):
            yield _memory(name, prepared_step, name=name, n=sizes[-1], **sized)
    yield _memory("recall_at_k", prepared_step, name="recall_at_k", n=largest, **sized)
    for name, peer, prepare, n in (
        ("smooth_ap", "naive n^3 tensor", prepared_naive, naive_size),
        ("fast_ap", "pytorch-metric-learning", prepared_library, library_size),
    ):
        works = {"theirs": prepare(n=n, **sized), "ours": prepared_step(name, n, **sized)}
        taken = medians(works, repeats)
        setting = f"n={n} d={d} m={per_class} untrained"
        yield BenchRow(
            "losses", f"{name}, times quicker", setting, taken["theirs"] / taken["ours"], "x", peer
        )
        yield _memory(f"{name} of {peer}", prepare, n=n, **sized)


def bare_step(rows: Tensor, product: str) -> tuple[list[Tensor], list[Tensor]]:
    """The product and its two backward products, by one of `PRODUCTS`, in parts of some rows.

    As one matrix the similarities of 4,096 would lie in pages that nobody used before, and to get and clear those took
    up to a fifth of the time, more or less as the machine was busy: the yardstick has to be products alone.
    """
    times = PRODUCTS[product]
    parts: tuple[list[Tensor], list[Tensor]] = [], []
    for some in rows.split(AT_ONCE):
        # a strip of a symmetric matrix, whose transpose a backward step takes
        similarities = times(some, rows)
        for gradient in parts:
            gradient.append(times(similarities, rows.T))
    return parts


def created(name: str, classes: int, d: int) -> Loss:
    """The loss of a row of `cases`."""
    kind, knobs = cases()[name]
    return kind.sized(classes, d, **knobs)


def fits(name: str, n: int, d: int, per_class: int) -> bool:
    """Whether a loss can be measured at a size without filling the machine."""
    loss, labels = created(name, -(-n // per_class), d), torch.arange(n) // per_class
    return peak_of(loss, labels, d).bytes(n, d, per_class) <= HEAVY


def step(name: str, rows: Tensor, labels: Tensor, path: str | None = None) -> Callable[[], None]:
    """One forward and backward of a loss, on one path of the kernels if one is named."""
    loss = created(name, int(labels.max()) + 1, rows.shape[1])
    leaf = rows.clone().requires_grad_()

    def work() -> None:
        leaf.grad = None
        with kernels.force(path) if path else nullcontext():
            loss(leaf, labels).backward()

    return work


def prepared_step(name: str, n: int, d: int, per_class: int) -> Callable[[], None]:
    """One forward and backward of a loss on untrained embeddings, ready to be measured."""
    step(name, *batch(512, 16, per_class, "untrained"))()  # compiles what has to be compiled
    return step(name, *batch(n, d, per_class, "untrained"))


def naive_smooth_ap(embeddings: Tensor, labels: Tensor, step: Surrogate) -> Tensor:
    """1 - soft AP of every rank of every item (Brown et al., 2020), the query left out, [], by the tensor of all
    triples that the released SmoothAP and SupAP build: O(n^3) time and memory, 512 MB a copy at n = 512 in float32.
    """
    n = len(embeddings)
    similarities = embeddings @ embeddings.T
    eye = torch.eye(n, dtype=torch.bool)
    positive = (labels[:, None] == labels) & ~eye
    # [query, ranked item, other item]: other is neither the query nor the item
    counted = ~eye[None] & ~eye[:, None]
    above = step(similarities[:, None, :] - similarities[:, :, None]) * counted
    rank = 1 + above.sum(2)
    rank_among_positives = 1 + (above * positive[:, None]).sum(2)
    precision = (rank_among_positives / rank * positive).sum(1) / positive.sum(1)
    return 1 - precision.mean()


def prepared_naive(n: int, d: int, per_class: int) -> Callable[[], None]:
    """The same for SmoothAP by the tensor of all triples."""
    rows, labels = batch(n, d, per_class, "untrained")
    leaf = rows.requires_grad_()
    return lambda: naive_smooth_ap(leaf, labels, Sigmoid(0.01)).backward()


def prepared_library(n: int, d: int, per_class: int) -> Callable[[], None]:
    """The same for pytorch-metric-learning's FastAP."""
    from pytorch_metric_learning.losses import FastAPLoss

    rows, labels = batch(n, d, per_class, "untrained")
    theirs, leaf = FastAPLoss(num_bins=10), rows.requires_grad_()
    return lambda: theirs(leaf, labels).backward()


def _memory(what: str, prepare: Prepare, n: int, **arguments: Any) -> BenchRow:
    megabytes = extra_megabytes(prepare, n=n, **arguments)
    setting = f"n={n} d={arguments['d']} untrained"
    return BenchRow("losses", f"{what}, extra memory", setting, megabytes, "MB")
