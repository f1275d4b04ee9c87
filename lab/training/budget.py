"""How to spend memory on kept graphs: measured bytes and seconds, and the plan that saves the most time.

One chunk is embedded twice to learn what every cut would keep and what embedding up to it costs. Cuts that would not
give the exact gradient (something later sees past them) are found by trying, and left out. The plan mixes at most two
ways of keeping, which is enough: time saved against bytes is then a line between two measured points.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn

from lab.evaluation.precision import Precision
from lab.kernels.memory import available_bytes
from lab.training.graphs import Keep, Kept, places
from lab.training.randomness import RandomState
from lab.training.steps import gradients

if TYPE_CHECKING:
    from lab.data.images.loading import Streamed

SHARE = 0.5
"""Part of the free memory that kept graphs may take when nobody says how much; the rest is for the loss and others."""

TRIED = 4
"""Images on which a cut is held to the exact gradient."""


@dataclass(frozen=True)
class Way:
    """One way to keep a chunk's graph. bytes: held until the second pass. seconds: to embed again what is missing."""

    kept: Kept
    bytes: int
    seconds: float


def plan(
    encoder: nn.Module,
    images: torch.Tensor | Streamed,
    chunk: int,
    budget: int | None,
    precision: Precision,
) -> list[Kept]:
    """What each chunk of a step keeps, so that kept graphs stay within `budget` bytes and the least is done twice.

    Args:
        images: [n 3 h w], a batch of the run; its first chunk is embedded for measuring.
        chunk: images embedded at once.
        budget: bytes, None for a share of what is free.
    """
    chunks = math.ceil(len(images) / chunk)
    if chunks == 1:
        return [Keep.ALL]
    limit = int(SHARE * available_bytes(str(precision.device))) if budget is None else budget
    first = images[:chunk]
    ways = measure(encoder, first, precision)
    while True:
        chosen = spend(ways, chunks, limit)
        cuts = [kept for kept in dict.fromkeys(chosen) if isinstance(kept, nn.Module)]
        wrong = [kept for kept in cuts if not exact(encoder, first, kept, precision)]
        if not wrong:
            return chosen
        ways = [way for way in ways if way.kept not in wrong]


def spend(ways: Sequence[Way], chunks: int, limit: int) -> list[Kept]:
    """The way of each chunk that keeps the sum of bytes within `limit` and makes the sum of seconds least.

    Ways that keep much come first, since the second pass frees them first.
    """
    best: tuple[float, list[Kept]] = (float("inf"), [Keep.NOTHING] * chunks)
    for much in ways:
        for little in ways:
            extra = much.bytes - little.bytes
            if extra < 0 or little.bytes * chunks > limit:
                continue
            many = chunks if extra == 0 else min(chunks, (limit - little.bytes * chunks) // extra)
            seconds = many * much.seconds + (chunks - many) * little.seconds
            if seconds < best[0]:
                best = seconds, [much.kept] * many + [little.kept] * (chunks - many)
    return best[1]


def measure(encoder: nn.Module, images: torch.Tensor, precision: Precision) -> list[Way]:
    """What keeping all, nothing, or the part after each cut costs for one chunk [c 3 h w]."""
    candidates = places(encoder)
    with _untouched(encoder):
        seconds, outputs, total = _seconds(encoder, images, precision, candidates)
        held, everything, _ = _bytes(encoder, images, precision, list(outputs))
    ways = [Way(Keep.NOTHING, 0, total), Way(Keep.ALL, everything, 0.0)]
    return ways + [Way(m, everything - held[m] + outputs[m], seconds[m]) for m in outputs]


def graph_bytes(encoder: nn.Module, images: torch.Tensor, precision: Precision) -> tuple[int, int]:
    """Bytes that autograd keeps of the encoder for a chunk [c 3 h w], and of its largest map.

    Weights and images are not counted.
    """
    with _untouched(encoder):
        return _bytes(encoder, images, precision, [])[1:]


def exact(encoder: nn.Module, images: torch.Tensor, kept: nn.Module, precision: Precision) -> bool:
    """Whether cutting at a module gives the gradients of keeping the whole graph; tried on a few images."""
    few = images[:TRIED] if len(images) > 1 else images.repeat(2, 1, 1, 1)
    labels = torch.arange(len(few))
    by_way = []
    with _untouched(encoder):
        state = RandomState.capture(precision.device)
        for keep in (Keep.ALL, kept):
            encoder.zero_grad(set_to_none=True)
            fresh = Precision(precision.name, precision.device)
            with state.replayed():
                try:
                    gradients(
                        encoder,
                        _probe,
                        few,
                        labels,
                        chunk=max(1, len(few) // 2),
                        keep=[keep] * len(few),
                        batchnorm="per_chunk",
                        precision=fresh,
                    )
                except (ValueError, RuntimeError):
                    return False
            by_way.append([p.grad for p in encoder.parameters()])
    return all(
        a is b if a is None or b is None else float((a - b).abs().max()) <= 1e-5 * float(a.abs().max())
        for a, b in zip(*by_way, strict=True)
    )


def _probe(embeddings: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """A scalar whose gradient differs for every embedding and dimension."""
    weights = torch.arange(embeddings.numel(), device=embeddings.device, dtype=embeddings.dtype).cos()
    return (embeddings * weights.view_as(embeddings)).sum()


def _seconds(
    encoder: nn.Module, images: torch.Tensor, precision: Precision, candidates: list[nn.Module]
) -> tuple[dict[nn.Module, float], dict[nn.Module, int], float]:
    """Seconds from the start to each candidate's output, bytes of that output, and seconds of the whole pass.

    Candidates that run not exactly once, or give no tensor, are left out.
    """
    reached: dict[nn.Module, list[float]] = {}
    outputs: dict[nn.Module, int] = {}

    def note(module: nn.Module, inputs: tuple, output: object) -> None:
        if isinstance(output, torch.Tensor):
            reached.setdefault(module, []).append(_now(precision.device))
            outputs[module] = output.nbytes

    handles = [module.register_forward_hook(note) for module in candidates]
    try:
        for _ in range(2):  # the first pass warms up
            reached.clear()
            started = _now(precision.device)
            with torch.no_grad(), precision.autocast():
                encoder(images.to(precision.device))
            total = _now(precision.device) - started
    finally:
        for handle in handles:
            handle.remove()
    once = {module: times[0] - started for module, times in reached.items() if len(times) == 1}
    return once, {module: outputs[module] for module in once}, total


def _bytes(
    encoder: nn.Module, images: torch.Tensor, precision: Precision, candidates: list[nn.Module]
) -> tuple[dict[nn.Module, int], int, int]:
    """Bytes that the graph holds when each candidate has run, and in the end, and of its largest tensor.

    Weights and images are not counted.
    """
    standing = {t.untyped_storage().data_ptr() for t in (*encoder.parameters(), *encoder.buffers(), images)}
    held: dict[int, int] = {}
    at: dict[nn.Module, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in standing:
            held[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()  # an output that held itself would never be freed

    handles = [m.register_forward_hook(lambda m, *_: at.__setitem__(m, sum(held.values()))) for m in candidates]
    try:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t), precision.autocast():
            embeddings = encoder(images.to(precision.device))
    finally:
        for handle in handles:
            handle.remove()
    del embeddings
    return at, sum(held.values()), max(held.values(), default=0)


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


@contextmanager
def _untouched(encoder: nn.Module) -> Iterator[None]:
    """Give back gradients, buffers and random state after the block."""
    grads = [p.grad for p in encoder.parameters()]
    buffers = [b.clone() for b in encoder.buffers()]
    state = RandomState.capture(next(encoder.parameters()).device)
    with state.replayed():
        try:
            yield
        finally:
            for parameter, grad in zip(encoder.parameters(), grads, strict=True):
                parameter.grad = grad
            for buffer, before in zip(encoder.buffers(), buffers, strict=True):
                buffer.data.copy_(before)
