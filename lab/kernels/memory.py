"""Forecast the memory of a training step before it runs, and refuse a step that does not fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lab.core.formats import size

KEPT_BYTES = 19 << 20
"""Tiles and rows that a loop keeps, at most; see `lab.kernels.cpu.ranks` and `tiles`."""

BINNED_BYTES = 11 << 20
"""Intervals that the loop of a histogram loss keeps, at most; `lab.kernels.cpu.histograms.KEPT_BYTES`."""

BYTES_A_BIN = 80
"""Ten float64 numbers for each bin of a query: counts, their sums, shares, and the gradients of all."""

BYTES_A_PAIR = 150
"""Places, sums, weights and factors of one positive pair."""

WHOLE_MATRICES = 14
"""Float matrices [n n] that the contextual loss holds where neighbourhoods are full, or a switch is off its default."""

IN_FLIGHT = 1.5
"""Largest maps of a chunk that a forward or backward pass holds beyond what autograd keeps (measured)."""

FEW_PAIRS = 1 << 20
"""Positive pairs that fit anywhere, so that nobody is asked for free memory."""


@dataclass(frozen=True)
class Peak:
    """What a ranking loss holds at the peak of its step, by compiled tiles on untrained embeddings, their worst case.

    rows, pairs: matrices [n d] and [n n] of float32. tiles: share of what a loop over tiles keeps, the list of positive
    pairs included. bins: of a histogram for each query. besides: bytes. mixes: every pair of positives adds a virtual
    example. guess: of a wrapper around such a loss.
    """

    rows: float
    tiles: float = 0.0
    pairs: float = 0.0
    bins: int = 0
    besides: int = 0
    mixes: bool = False
    guess: bool = False

    def bytes(self, n: int, d: int, per_class: int) -> int:
        """Bytes for n embeddings of width d, per_class of each class."""
        ranked = n
        together = per_class
        if self.mixes:
            ranked = n * (per_class + 1) // 2
            together = per_class * (per_class + 1) // 2
        walked = self.tiles * min(KEPT_BYTES, 8 * n * n) + (
            BYTES_A_PAIR * ranked * (together - 1) if self.tiles else 0
        )
        binned = min(BINNED_BYTES, n * n // 2) + BYTES_A_BIN * self.bins * n if self.bins else 0
        return round(4 * (self.rows * n * d + self.pairs * n * n) + walked) + binned + self.besides


@dataclass(frozen=True)
class MeasuredPeak:
    """What another loss holds at its peak, as `lab.training.forecast` measured it: a polynomial of the batch.

    coefficients: bytes, the highest power first. guess: the loss could not be measured, or holds more as it goes on.
    """

    coefficients: tuple[float, ...]
    guess: bool = False

    def bytes(self, n: int, d: int, per_class: int) -> int:
        """Bytes for n embeddings, as wide and as many of each class as those measured."""
        total = 0.0
        for coefficient in self.coefficients:
            total = total * n + coefficient
        return max(0, round(total))


@dataclass(frozen=True)
class EncoderBytes:
    """Bytes of an encoder: its weights, the largest weight; of one image: itself, its graph, its largest map."""

    weights: int = 0
    largest_weight: int = 0
    image: int = 0
    graph: int = 0
    largest_map: int = 0


@dataclass(frozen=True)
class Forecast:
    """Bytes by what needs them at the peak of a step, and what they were computed from."""

    parts: dict[str, int]
    arguments: dict[str, Any]

    @property
    def total(self) -> int:
        """Bytes at the peak."""
        return sum(self.parts.values())

    def instead(self, **changes: Any) -> Forecast:
        """Return the forecast of the same step with other arguments: `chunk=`, `n=`, ..."""
        return forecast(**{**self.arguments, **changes})

    @property
    def caution(self) -> str:
        """A sentence that says that the loss's part is a guess; empty if it was measured."""
        guess = self.arguments["peak"].guess
        return (
            "The loss's part is a guess: it, or a wrapper around it, cannot be measured beforehand."
            if guess
            else ""
        )

    def __str__(self) -> str:
        listed = ", ".join(f"{name} {size(count)}" for name, count in self.parts.items() if count)
        return f"{size(self.total)} for a batch of {self.arguments['n']}: {listed}"


def forecast(
    peak: Peak | MeasuredPeak,
    n: int,
    d: int,
    per_class: int = 4,
    encoder: EncoderBytes = EncoderBytes(),
    chunk: int | None = None,
    kept_bytes: int = 0,
    optimised: bool = True,
) -> Forecast:
    """Memory of one step: a loss of n embeddings of width d, and the encoder that made them.

    The peak is while the loss is taken, or while its gradient is carried back. A plain step gives its graph back while
    the weights get their gradients, so that these hardly add to it; a step in chunks adds them up.

    Args:
        peak: what the loss declares, or what was measured of it.
        per_class: examples a class; decides the number of positive pairs.
        encoder: what it holds; nothing by default.
        chunk: images embedded at once in a large-batch step; None embeds the whole batch.
        kept_bytes: of graphs that such a step keeps instead of building them again.
        optimised: whether an optimiser keeps two numbers for each weight.

    Raises:
        ValueError: a number is not positive where it must be.
    """
    arguments = dict(locals())
    for name, value in (("n", n), ("d", d), ("per_class", per_class)):
        if value < 1:
            raise ValueError(f"forecast: {name} must be at least 1, got {value}.")
    at_once = n if chunk is None else min(n, chunk)
    whole = n * encoder.graph
    in_flight = round(IN_FLIGHT * at_once * encoder.largest_map)
    kept = whole if at_once == n else min(kept_bytes, whole)
    again = round(at_once * encoder.graph * (1 - kept / whole)) if whole else 0
    gradients = encoder.weights + encoder.largest_weight
    standing = {
        "weights": encoder.weights,
        "optimiser": 2 * encoder.weights * optimised,
        "images": n * encoder.image,
        "embeddings": 4 * n * d,
    }
    held = {"encoder's graph": whole} if at_once == n else {"kept graphs": kept}
    phases = [{**held, "loss": peak.bytes(n, d, per_class)}]
    if at_once == n:
        phases += [
            {**held, "maps in flight": in_flight},
            {"gradients": gradients, "maps in flight": in_flight},
        ]
    else:
        # a chunk's kept part goes before the rest is built
        held = {"kept graphs": kept - round(kept * at_once / n)}
        phases += [
            {**held, "encoder's graph": again, "gradients": gradients, "maps in flight": in_flight}
        ]
    return Forecast(standing | max(phases, key=lambda parts: sum(parts.values())), arguments)


def require(needed: Forecast, available: int) -> None:
    """Raise ValueError if a step does not fit into memory.

    Raises:
        ValueError: what is needed, what there is, and the chunk or, where none would, the batch that would fit.
    """
    if needed.total <= available:
        return
    chunk = chunk_that_fits(needed, available)
    least = needed.instead(chunk=1, kept_bytes=0)
    if chunk is not None:
        fix = f"a chunk of {chunk} would fit"
    elif least.instead(n=1).total <= available:
        most = _largest(
            lambda size: least.instead(n=size).total <= available, needed.arguments["n"]
        )
        fix = f"a batch of {most} would fit" + (
            ", in chunks of 1" if needed.arguments["encoder"].graph else ""
        )
    else:
        fix = "no batch would fit"
    words = f"This step needs {needed}, and {size(available)} are free; {fix}. {needed.caution}"
    raise ValueError(words.rstrip())


def chunk_that_fits(needed: Forecast, available: int) -> int | None:
    """The largest chunk with which the same batch would fit, None if none would or there is no encoder to chunk."""
    least = needed.instead(chunk=1, kept_bytes=0)
    if not needed.arguments["encoder"].graph or least.total > available:
        return None
    most = needed.arguments["chunk"] or needed.arguments["n"]
    return _largest(lambda size: least.instead(chunk=size).total <= available, most)


def _largest(fits: Callable[[int], bool], limit: int) -> int:
    """Return the largest number from 1 to `limit` that fits, if 1 does."""
    low = 1
    high = limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def available_bytes(device: str = "cpu") -> int:
    """Return the free memory of a device, in bytes."""
    import psutil
    import torch

    kind = torch.device(device)
    return (
        torch.cuda.mem_get_info(kind)[0]
        if kind.type == "cuda"
        else psutil.virtual_memory().available
    )


def require_pairs(count: int, device: str) -> None:
    """Raise ValueError before listing positive pairs that do not fit into memory.

    Raises:
        ValueError: how many would fit.
    """
    if count < FEW_PAIRS:
        return
    needed = BYTES_A_PAIR * count
    free = available_bytes(device)
    if needed > free:
        raise ValueError(
            f"This batch has {count:,} positive pairs, which need {size(needed)}, and {size(free)} are free; "
            f"{free // BYTES_A_PAIR:,} pairs would fit: sample fewer examples a class."
        )


def require_whole_matrices(n: int, element_size: int, device: str) -> None:
    """Raise ValueError before allocating [n n] matrices that do not fit into memory.

    Raises:
        ValueError: names the batch that would fit.
    """
    needed = WHOLE_MATRICES * n * n * element_size
    free = available_bytes(device)
    if needed > free:
        fits = int((free / (WHOLE_MATRICES * element_size)) ** 0.5)
        raise ValueError(
            f"The loss needs whole matrices here, {size(needed)} for a batch of {n}, and {size(free)} are free; "
            f"a batch of {fits} would fit."
        )
