"""Sort keys: a score and a gallery position in one integer.

The score of a pair is its dot product in float64, rounded to float32. A key holds it in the upper half and the
position, reversed, in the lower half, so that comparing keys orders items by score and, where scores are equal, by
position. Duplicates, ties and every route to the same ranking then agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

NOTHING = torch.iinfo(torch.int64).min
"""The key of an item that is not there; below every other."""

ABOVE_ALL = torch.iinfo(torch.int64).max
"""A key above every other."""

UNIT = 1e-5
"""Rows whose length differs from 1 by less are taken as unit rows."""

_LOW = 0xFFFFFFFF


@dataclass(frozen=True)
class Space:
    """A gallery as rows whose dot product with a query row orders the items by nearness.

    Cosine needs unit rows. Euclidean uses -|q-z|^2 = (2q, -1).(z, |z|^2) - |q|^2, whose last term is the same for all
    items of one query and is put back when scores are shown.
    """

    similarity: str
    items: torch.Tensor

    @classmethod
    def of(cls, gallery: np.ndarray, similarity: str, device: torch.device) -> Space:
        """Prepare gallery vectors [g d]."""
        if similarity == "cosine":
            return cls(similarity, _tensor(unit_rows(gallery, "gallery"), device))
        vectors = _tensor(gallery, device).double()
        return cls(similarity, torch.cat([vectors, vectors.square().sum(1, keepdim=True)], dim=1))

    def queries(self, vectors: np.ndarray) -> torch.Tensor:
        """Prepare query vectors [q d] -> [q d or d+1], of the items' device and precision."""
        return _tensor(self.query_rows(vectors), self.items.device).to(self.items.dtype)

    def query_rows(self, vectors: np.ndarray) -> np.ndarray:
        """The same as an array, of any precision."""
        if self.similarity == "cosine":
            return unit_rows(vectors, "query")
        rows = vectors.astype(np.float64)
        return np.hstack([2 * rows, np.full_like(rows[:, :1], -1)])

    def shift(self, vectors: np.ndarray) -> np.ndarray:
        """float64 [q], what to add to a query's dot products to make them scores."""
        if self.similarity == "cosine":
            return np.zeros(len(vectors))
        return -np.square(vectors.astype(np.float64)).sum(1)


def _tensor(rows: np.ndarray, device: torch.device) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(rows)).to(device)


def wide(rows: np.ndarray) -> np.ndarray:
    """Rows in float32 at least: what is computed of half-precision numbers has no room in them."""
    return rows.astype(np.promote_types(rows.dtype, np.float32), copy=False)


def unit_rows(rows: np.ndarray, what: str) -> np.ndarray:
    """Rows [n d] scaled to length 1, float32 or float64; the same array when they already are.

    Raises:
        ValueError: a row is zero.
    """
    rows = wide(rows)
    lengths = np.sqrt(np.einsum("nd,nd->n", rows, rows, dtype=np.float64))
    if not lengths.all():
        raise ValueError(
            f"Row {int(np.flatnonzero(lengths == 0)[0])} of the {what} vectors is zero, so its cosine is undefined; "
            f"leave it out or search with similarity='euclidean'."
        )
    if np.abs(lengths - 1).max() < UNIT:
        return rows
    return (rows / lengths[:, None]).astype(rows.dtype)


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
