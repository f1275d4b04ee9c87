"""What a loss holds at the peak of its step beyond the embeddings, as measured on the CPU in float32.

Each loss declares its own `Peak`; ranking losses that of the compiled path on untrained embeddings, their worst case.
"""

from __future__ import annotations

from dataclasses import dataclass

KEPT_BYTES = 19 << 20
"""Tiles and rows that a loop keeps, at most; see `lab.kernels.ranks.compiled` and `tiles`."""

BYTES_A_PAIR = 150
"""Places, sums, weights and factors of one positive pair."""

BINNED_BYTES = 11 << 20
"""Intervals that the loop of a histogram loss keeps, at most; `lab.kernels.histograms.compiled.KEPT_BYTES`."""

BYTES_A_BIN = 80
"""Ten float64 numbers for each bin of a query: counts, their sums, shares, and the gradients of all."""

WHOLE_MATRICES = 14
"""Float matrices [n n] that the contextual loss holds where neighbourhoods are full, or a switch is off its default."""


@dataclass(frozen=True)
class Peak:
    """Float matrices that a loss holds at its peak. Where no sum of matrices tells, a subclass defines its own `bytes`.

    rows: [n d]. tiles: share of what a loop over tiles keeps, the list of positive pairs included. pairs: [n n].
    triplets: [n t], for t triplets a query; drawn: t, None for every triplet. bins: of a histogram for each query.
    classes: [n v], for v class vectors; vectors: [v d]; between: [v v]. besides: bytes.
    mixes: every pair of positives adds a virtual example. class_vectors: v, which the forecast takes from the loss.
    guess: nobody has measured it.
    """

    rows: float
    tiles: float = 0.0
    pairs: float = 0.0
    triplets: float = 0.0
    bins: int = 0
    classes: float = 0.0
    vectors: float = 0.0
    between: float = 0.0
    besides: int = 0
    drawn: int | None = None
    mixes: bool = False
    class_vectors: int = 0
    guess: bool = False

    def bytes(self, n: int, d: int, per_class: int) -> int:
        """Bytes for n embeddings of width d, per_class of each class."""
        ranked, together = n, per_class
        if self.mixes:
            ranked, together = n * (per_class + 1) // 2, per_class * (per_class + 1) // 2
        drawn = (per_class - 1) * max(0, n - per_class) if self.drawn is None else self.drawn
        v = self.class_vectors
        numbers = self.rows * n * d + self.pairs * n * n + self.triplets * n * drawn
        numbers += self.classes * n * v + self.vectors * v * d + self.between * v * v
        walked = self.tiles * min(KEPT_BYTES, 8 * n * n) + (BYTES_A_PAIR * ranked * (together - 1) if self.tiles else 0)
        binned = min(BINNED_BYTES, n * n // 2) + BYTES_A_BIN * self.bins * n if self.bins else 0
        return round(4 * numbers + walked) + binned + self.besides


GUESS = Peak(8.1, pairs=17.3, classes=10.6, vectors=1.2, between=2.7, besides=2 << 20, guess=True)
"""A loss that declares none: as much of each matrix as any loss of the catalogue was measured to hold."""
