"""What a loss holds at the peak of its step beyond the embeddings, as measured on the CPU in float32.

Ranking losses are those of the compiled path on untrained embeddings, their worst case.
"""

from __future__ import annotations

from dataclasses import dataclass

KEPT_BYTES = 19 << 20
"""Tiles and rows that a loop keeps, at most; see `lab.kernels.ranks.compiled` and `_tiles`."""

BYTES_A_PAIR = 150
"""Places, sums, weights and factors of one positive pair."""

BINS = {"fast_ap": 11, "softbin_ap": 26}
"""Bins of the histogram losses' released variants."""

BINNED_BYTES = 11 << 20
"""Intervals that their loop keeps, at most; `lab.kernels.histograms.compiled.KEPT_BYTES`."""

BYTES_A_BIN = 80
"""Ten float64 numbers for each bin of a query: counts, their sums, shares, and the gradients of all."""

WHOLE_MATRICES = 14
"""Float matrices [n n] that the contextual loss holds where neighbourhoods are full, or a switch is off its default."""


@dataclass(frozen=True)
class Held:
    """Float matrices at the peak.

    rows: [n d]. tiles: share of what a loop over tiles keeps, the list of positive pairs included. pairs: [n n].
    triplets: [n t], for t triplets a query. classes: [n v], for v class vectors; vectors: [v d]; between: [v v].
    besides: bytes.
    """

    rows: float
    tiles: float = 0.0
    pairs: float = 0.0
    triplets: float = 0.0
    classes: float = 0.0
    vectors: float = 0.0
    between: float = 0.0
    besides: int = 0


_BESIDES = 2 << 20

RANKED = Held(2.2, tiles=1, besides=_BESIDES)
"""recall_at_k, and a loss that is not known here."""

HELD = {
    "smooth_ap": Held(3.6, tiles=0.75, besides=_BESIDES),
    "sup_ap": Held(3.6, tiles=0.75, besides=_BESIDES),
    "roadmap": Held(3.6, tiles=0.75, besides=_BESIDES),
    "calibration": Held(4, tiles=0.3),
    "contextual": Held(4.4, tiles=0.5, besides=_BESIDES),
    # Its blocks come and go on the heap, which keeps more or less of them: 1 to 3 times this was seen.
    "blackbox_ap": Held(2, tiles=1),
    "contrastive": Held(1.4, pairs=8.1),
    "multi_similarity": Held(2.9, pairs=17.3),
    "nt_xent": Held(2.3, pairs=9),
    "signal_to_noise_ratio_contrastive": Held(2.8, pairs=10.1),
    "margin": Held(8.1, pairs=3.1, triplets=13.2),
    "triplet_margin": Held(7.1, pairs=2.9, triplets=11.9),
    "cross_entropy": Held(0.8, classes=2.9),
    "normalized_softmax": Held(4.1, classes=2.8, vectors=1.2),
    "cos_face": Held(3.4, classes=4.1, vectors=0.6),
    "arc_face": Held(3.2, classes=4.1, vectors=0.5),
    "proxy_nca": Held(3.6, classes=4.7, vectors=0.6),
    "proxy_anchor": Held(0.8, classes=10.6, vectors=1.2),
    "soft_triple": Held(2, classes=3.5, between=0.21),
    "class_anchor_margin": Held(3.5, between=2.7),
}

NOISE = Held(0.5, pairs=3)
"""blackbox_ap as released, which draws noise for every pair."""


def loss_bytes(
    loss: str,
    n: int,
    d: int,
    per_class: int,
    *,
    simix: bool = False,
    whole_matrices: bool = False,
    released: bool = False,
    triplets: int | None = None,
    class_vectors: int = 0,
) -> int:
    """Bytes of one loss; the arguments are those of `lab.kernels.forecast`."""
    if loss in BINS:
        return 2 * 4 * n * d + min(BINNED_BYTES, n * n // 2) + BYTES_A_BIN * BINS[loss] * n
    if loss == "contextual" and whole_matrices:
        return 2 * 4 * n * d + WHOLE_MATRICES * 4 * n * n
    held = NOISE if loss == "blackbox_ap" and released else HELD.get(loss, RANKED)
    ranked, together = n, per_class
    if simix:
        ranked, together = n * (per_class + 1) // 2, per_class * (per_class + 1) // 2
    triplets = (per_class - 1) * max(0, n - per_class) if triplets is None else triplets
    v = class_vectors
    numbers = held.rows * n * d + held.pairs * n * n + held.triplets * n * triplets
    numbers += held.classes * n * v + held.vectors * v * d + held.between * v * v
    walked = held.tiles * min(KEPT_BYTES, 2 * n * n) + (BYTES_A_PAIR * ranked * (together - 1) if held.tiles else 0)
    return round(4 * numbers + walked) + held.besides
