"""Sort keys: a score and a gallery position in one integer.

The score of a pair is its dot product in float64, rounded to float32. A key holds it in the upper half and the
position, reversed, in the lower half, so that comparing keys orders items by score and, where scores are equal, by
position. Duplicates, ties and every route to the same ranking then agree.
"""

from __future__ import annotations

import torch

NOTHING = torch.iinfo(torch.int64).min
"""The key of an item that is not there; below every other."""

ABOVE_ALL = torch.iinfo(torch.int64).max
"""A key above every other."""

_LOW = 0xFFFFFFFF


def pack(scores: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Keys, int64, of float32 scores and gallery positions (broadcast against each other)."""
    bits = (scores + 0.0).view(torch.int32)  # + 0.0 turns -0 into 0
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(torch.int64)
    return (ordered << 32) + (_LOW - positions)


def unpack(keys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Float32 scores and int64 positions behind keys; NaN and -1 for `NOTHING`."""
    ordered = (keys >> 32).to(torch.int32)
    scores = torch.where(ordered < 0, ordered ^ 0x7FFFFFFF, ordered).view(torch.float32)
    there = keys != NOTHING
    return torch.where(there, scores, torch.nan), torch.where(there, _LOW - (keys & _LOW), -1)


def pair_scores(queries: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
    """Scores, float32 [p], of row pairs: queries [p d] with items [p d]."""
    return (queries.double() * items.double()).sum(1).float()


def block_scores(queries: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
    """Scores, float32 [q g], of all pairs of queries [q d] and items [g d]."""
    return (queries.double() @ items.double().T).float()


def best(keys: torch.Tensor, k: int) -> torch.Tensor:
    """The k greatest keys of each row, descending; filled up with `NOTHING` where the row is shorter."""
    largest = keys.topk(min(k, keys.shape[1]), dim=1).values
    return torch.nn.functional.pad(largest, (0, k - largest.shape[1]), value=NOTHING)


def count_above(keys: torch.Tensor, thresholds: torch.Tensor) -> torch.Tensor:
    """How many of each row's keys [a b] lie above each of its thresholds [a t] -> int64 [a t].

    Thresholds ascend within a row. Time O(a b log t).
    """
    below = torch.searchsorted(thresholds, keys)  # thresholds strictly below each key
    histogram = torch.zeros(len(keys), thresholds.shape[1] + 1, dtype=torch.int64, device=keys.device)
    histogram.scatter_add_(1, below, torch.ones_like(below))
    at_least = histogram.flip(1).cumsum(1).flip(1)
    return at_least[:, 1:]


def nearest(queries: torch.Tensor, items: torch.Tensor, k: int, rows: int = 256, columns: int = 8192) -> torch.Tensor:
    """Keys [q k] of the k items [g d] nearest to each query [q d], best first."""
    lists = []
    for part in queries.split(rows):
        kept = torch.full((len(part), k), NOTHING, device=part.device)
        for start in range(0, len(items), columns):
            block = items[start : start + columns]
            positions = torch.arange(start, start + len(block), device=part.device)
            kept = best(torch.cat([kept, best(pack(block_scores(part, block), positions), k)], dim=1), k)
        lists.append(kept)
    return torch.cat(lists)
