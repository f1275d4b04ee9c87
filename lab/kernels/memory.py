"""What a training step will need, before it is run, and a refusal of what cannot be had.

The numbers are those of the CPU's compiled path in float32, untrained embeddings being the worst case: three matrices
of the batch (its unit rows, their gradient and the embeddings'), what forward keeps for backward, and the pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

MATRICES = 3.1
"""Float matrices [n d] that a ranking loss holds at its peak: unit rows, their gradient, the embeddings' gradient."""

KEPT_BYTES = 14 << 20
"""Tiles and rows that a walk keeps, at most; see `lab.kernels._compiled`."""

BYTES_A_PAIR = 150
"""Places, sums, weights and factors of one positive pair (measured)."""

FEW_PAIRS = 1 << 20
"""Positive pairs that fit anywhere, so that nobody is asked for free memory."""

BLOCKS = 20
"""Blocks of similarities that a histogram loss holds at its peak (measured), of `lab.kernels.rowwise.BLOCK_BYTES`."""

WHOLE_MATRICES = 14
"""Float matrices [n n] that the contextual loss holds where neighbourhoods are full, or a switch is off its default."""

BY_ROWS = ("fast_ap", "softbin_ap", "blackbox_ap")


@dataclass(frozen=True)
class Forecast:
    """Bytes by what needs them, and what they were computed from.

    The loss has given its memory back when the weights get their gradients, so that of these two only the larger
    counts.
    """

    parts: dict[str, int]
    batch: int
    chunk: int

    @property
    def total(self) -> int:
        """Bytes at the peak."""
        return sum(self.parts.values()) - min(self.parts["loss"], self.parts["gradients"])

    def __str__(self) -> str:
        said = ", ".join(f"{name} {_size(count)}" for name, count in self.parts.items() if count)
        return f"{_size(self.total)} for a batch of {self.batch}: {said}"


def forecast(
    loss: str,
    n: int,
    d: int,
    per_class: int = 4,
    simix: bool = False,
    whole_matrices: bool = False,
    image_bytes: int = 0,
    graph_bytes: int = 0,
    chunk: int | None = None,
    kept_bytes: int = 0,
    weights: int = 0,
) -> Forecast:
    """Memory of one step: a loss of n embeddings of width d, and the encoder that made them.

    Args:
        loss: catalogued name; a loss that is not one of the tiled kernels' is taken to hold `MATRICES` of the batch.
        per_class: examples a class; decides the number of positive pairs.
        simix: every pair of positives adds a virtual example.
        whole_matrices: for the contextual loss, neighbourhoods are full or a switch of table 5 is off its default.
        image_bytes: of one image as the encoder takes it.
        graph_bytes: what autograd keeps of the encoder for one image.
        chunk: images embedded at once in a large-batch step; None embeds the whole batch.
        kept_bytes: of the graphs that such a step keeps besides the chunk's.
        weights: parameters of encoder and loss, in float32, with gradient and two numbers of optimiser state each.

    Raises:
        ValueError: a number is not positive where it must be.
    """
    for name, value in (("n", n), ("d", d), ("per_class", per_class)):
        if value < 1:
            raise ValueError(f"forecast: {name} must be at least 1, got {value}.")
    embedded = n if chunk is None else min(n, chunk)
    parts = {
        "weights": 4 * weights,
        "optimiser": 8 * weights,
        "gradients": 4 * weights,
        "images": n * image_bytes,
        "encoder's graph": embedded * graph_bytes,
        "kept graphs": min(kept_bytes, (n - embedded) * graph_bytes),
        "embeddings": 4 * n * d,
        "loss": _loss_bytes(loss, n, d, per_class, simix, whole_matrices),
    }
    return Forecast(parts, n, embedded)


def require(needed: Forecast, available: int, advice: str = "") -> None:
    """Refuse a step that cannot fit.

    Raises:
        ValueError: what is needed, what there is, and the batch or chunk that would fit.
    """
    if needed.total <= available:
        return
    graph = needed.parts["encoder's graph"]
    rest = needed.total - graph
    if graph and rest < available:
        fits = int((available - rest) * needed.chunk / graph)
        fix = f"a chunk of {fits} would fit" if fits else "not even one image's graph fits beside the rest"
    else:
        fixed = sum(needed.parts[name] for name in ("weights", "optimiser", "gradients"))
        fits = int(needed.batch * max(0, available - fixed) / max(1, needed.total - fixed))
        fix = f"a batch of {fits} would fit" if fits else "no batch would fit"
    raise ValueError(f"This step needs {needed}, and {_size(available)} are free; {fix}{advice and ', or ' + advice}.")


def available_bytes(device: str = "cpu") -> int:
    """Memory that is free on a device."""
    import psutil
    import torch

    kind = torch.device(device)
    return torch.cuda.mem_get_info(kind)[0] if kind.type == "cuda" else psutil.virtual_memory().available


def require_pairs(count: int, device: str) -> None:
    """Refuse positive pairs that cannot be listed, before the list is made.

    Raises:
        ValueError: how many would fit.
    """
    if count < FEW_PAIRS:
        return
    needed, free = BYTES_A_PAIR * count, available_bytes(device)
    if needed > free:
        raise ValueError(
            f"This batch has {count:,} positive pairs, which need {_size(needed)}, and {_size(free)} are free; "
            f"{free // BYTES_A_PAIR:,} pairs would fit: sample fewer examples a class."
        )


def require_whole_matrices(n: int, element_size: int, device: str) -> None:
    """Refuse [n n] matrices that cannot be had, before the first is tried.

    Raises:
        ValueError: names the batch that would fit.
    """
    needed, free = WHOLE_MATRICES * n * n * element_size, available_bytes(device)
    if needed > free:
        fits = int((free / (WHOLE_MATRICES * element_size)) ** 0.5)
        raise ValueError(
            f"The loss needs whole matrices here, {_size(needed)} for a batch of {n}, and {_size(free)} are free; "
            f"a batch of {fits} would fit."
        )


def _loss_bytes(loss: str, n: int, d: int, per_class: int, simix: bool, whole_matrices: bool) -> int:
    held = round(MATRICES * 4 * n * d)
    if loss == "contextual" and whole_matrices:
        return held + WHOLE_MATRICES * 4 * n * n
    if loss in BY_ROWS:
        from lab.kernels.rowwise import BLOCK_BYTES

        return held + BLOCKS * BLOCK_BYTES
    ranked, together = n, per_class
    if simix:
        ranked, together = n * (per_class + 1) // 2, per_class * (per_class + 1) // 2
    return held + min(KEPT_BYTES, 2 * n * n) + BYTES_A_PAIR * ranked * (together - 1)


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB" if count < 1000 else f"{count:,.0f} GB"
