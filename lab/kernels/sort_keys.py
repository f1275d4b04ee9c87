"""Sort keys: a score and a gallery position in one integer, and the order of equal scores.

The score of a pair is a product in float64, rounded to float32 (`Space`). A key holds it in the upper half and a
code of the position in the lower half (`tie_codes`). So comparing keys orders items by score and, where scores are
equal, by that code; every route gives one ranking.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch

NOTHING = torch.iinfo(torch.int64).min
"""The key of an item that is not there; below every other."""

ABOVE_ALL = torch.iinfo(torch.int64).max
"""A key above every other."""

UNIT = 1e-5
"""Rows whose length differs from 1 by less are taken as unit rows."""

_LOW = 0xFFFFFFFF

SALT = 0x9E3779B9
FIRST = 0x85EBCA6B
SECOND = 0xC2B2AE35
"""Constants of MurmurHash3's 32-bit finaliser; the salt moves position 0, which the finaliser leaves at 0."""

_FIRST_INVERSE = pow(FIRST, -1, 1 << 32)
_SECOND_INVERSE = pow(SECOND, -1, 1 << 32)


SAMPLE = 1024
"""Gallery rows that decide where the origin of a Euclidean space lies."""

CLOSE = 2.0**-16
"""A squared distance below this share of |q|^2 + |z|^2 has lost digits, so it is computed from the differences."""

DIFFERENCES = 1_000_000
"""Numbers of differences that are computed at once: 8 MB."""

WIDEST = 2.0**400
"""How many units from the origin a sampled row may lie, so that its square is a number."""


@dataclass(frozen=True)
class Space:
    """A gallery as rows whose product with a query row is a score, so that every search compares in the same way.

    Cosine needs unit rows. Euclidean expands -|q-z|^2 = (2q, -1, -|q|^2).(z, |z|^2, 1), which would cancel to noise far
    from the origin. So rows are float64, measured from `centre` in lengths of `unit`; this changes no order. Two rows
    that are close to each other and far from `centre`, as in a gallery of several distant groups, are compared by
    their differences.

    similarity: cosine or euclidean. items: prepared rows [g d] (cosine) or [g d+2] (euclidean).
    centre: float64 [d], the median of some gallery rows. unit: a power of two. Both are of Euclidean spaces only.
    """

    similarity: str
    items: torch.Tensor
    centre: np.ndarray | None = None
    unit: float = 1.0

    @classmethod
    def of(cls, gallery: np.ndarray, similarity: str, device: torch.device) -> Space:
        """Prepare gallery vectors [g d].

        Raises:
            ValueError: a row is zero, so it has no cosine.
        """
        return cls.around(gallery, similarity, device).holding(gallery)

    @classmethod
    def around(cls, gallery: Any, similarity: str, device: torch.device) -> Space:
        """Choose origin and unit for gallery vectors [g d], which may lie on a disk; the space holds no rows yet."""
        if similarity == "cosine":
            return cls(similarity, torch.empty(0, device=device))
        places = np.unique(np.linspace(0, len(gallery) - 1, SAMPLE).astype(np.int64))
        sample = np.asarray(gallery[places], np.float64)
        centre = np.median(sample, axis=0)
        reaches = np.abs(sample - centre).max(1)
        reaches = reaches[reaches > 0]
        if not len(reaches):
            return cls(similarity, torch.empty(0, device=device), centre, 1.0)
        # The median, so that one vector of absurd numbers does not make all others equal.
        reach = max(float(np.median(reaches)), float(reaches.max()) / WIDEST)
        return cls(
            similarity, torch.empty(0, device=device), centre, float(2.0 ** np.frexp(reach)[1])
        )

    def holding(self, gallery: np.ndarray) -> Space:
        """Return this space with other gallery rows [g d], measured from the same origin."""
        return replace(self, items=_tensor(self.item_rows(gallery), self.items.device))

    def measured(self, vectors: np.ndarray) -> np.ndarray:
        """Return vectors [n d] as this space compares them: unit rows, or float64 rows from `centre` in `unit`."""
        if self.centre is None:
            return unit_rows(vectors, "given")
        return (vectors.astype(np.float64) - self.centre) / self.unit

    def item_rows(self, vectors: np.ndarray) -> np.ndarray:
        """Prepare gallery vectors [n d] -> [n d or d+2]."""
        if self.centre is None:
            return unit_rows(vectors, "gallery")
        rows, squares = self._with_squares(vectors, "gallery")
        return np.hstack([rows, squares, np.ones_like(squares)])

    def query_rows(self, vectors: np.ndarray) -> np.ndarray:
        """Prepare query vectors [q d] -> [q d or d+2], of any precision."""
        if self.centre is None:
            return unit_rows(vectors, "query")
        rows, squares = self._with_squares(vectors, "query")
        return np.hstack([2 * rows, -np.ones_like(squares), -squares])

    def _with_squares(self, vectors: np.ndarray, what: str) -> tuple[np.ndarray, np.ndarray]:
        """Return measured rows [n d] and their squared lengths [n 1].

        Raises:
            ValueError: a row is so far from the others that its square is no number.
        """
        with np.errstate(over="ignore"):
            rows = self.measured(vectors)
            squares = np.square(rows).sum(1, keepdims=True)
        if not np.isfinite(squares).all():
            row = int(np.flatnonzero(~np.isfinite(squares))[0])
            raise ValueError(
                f"Row {row} of the {what} vectors is too far from the others for a distance to be computed; leave it "
                "out, or bring the vectors to unit length and search by cosine."
            )
        return rows, squares

    def queries(self, vectors: np.ndarray) -> torch.Tensor:
        """Prepare query vectors [q d] -> [q d or d+2], of the items' device and precision."""
        rows = _tensor(self.query_rows(vectors), self.items.device)
        return rows.to(self.items.dtype)

    def pair_scores(self, queries: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        """Scores, float32 [p], of pairs of prepared rows: queries [p d] with items [p d]."""
        return _as_float32(self.pair_products(queries, items))

    def pair_products(self, queries: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        """The same before they are rounded, float64 [p]."""
        products = (queries.double() * items.double()).sum(1)
        close = self._close(products, queries[:, -1], items[:, -2])
        if close is not None:
            (pair,) = close
            products[pair] = _by_differences(queries, items, pair, pair)
        return products

    def list_scores(self, queries: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        """Compute scores, float32 [q c], of prepared queries [q d], each with its own prepared items [q c d]."""
        products = torch.einsum("qd,qcd->qc", queries.double(), items.double())
        close = self._close(products, queries[:, -1:], items[:, :, -2])
        if close is not None:
            query, place = close
            products[close] = _by_differences(
                queries, items.flatten(0, 1), query, query * items.shape[1] + place
            )
        return _as_float32(products)

    def block_scores(self, queries: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        """Scores, float32 [q g], of all pairs of prepared queries [q d] and items [g d]."""
        products = queries.double() @ items.double().T
        close = self._close(products, queries[:, -1:], items[:, -2])
        if close is not None:
            products[close] = _by_differences(queries, items, *close)
        return _as_float32(products)

    def _close(
        self, products: torch.Tensor, of_queries: torch.Tensor, of_items: torch.Tensor
    ) -> tuple[torch.Tensor, ...] | None:
        """Return the places of the pairs whose distance has lost digits in `products`; None where there are none.

        of_queries and of_items are -|q|^2 and |z|^2 of Euclidean rows.
        """
        if self.centre is None:
            return None
        lost = products > CLOSE * (of_queries - of_items)
        return lost.nonzero(as_tuple=True) if bool(lost.any()) else None

    def as_score(self, similarity: float) -> np.float32:
        """Return a similarity that a person gave (a cosine, or minus a squared distance) as this space computes it."""
        return np.float32(np.float64(similarity) / np.float64(self.unit) ** 2)

    def shown(self, scores: np.ndarray) -> np.ndarray:
        """Return scores for people, float32: cosines, or minus the squared distances of the vectors as given."""
        if self.centre is None:
            return scores.astype(np.float32, copy=False)
        with np.errstate(over="ignore"):
            return (np.minimum(scores, 0) * np.float64(self.unit) ** 2).astype(np.float32)


def _by_differences(
    queries: torch.Tensor, items: torch.Tensor, query_rows: torch.Tensor, item_rows: torch.Tensor
) -> torch.Tensor:
    """Minus the squared distances, float64 [p], of pairs of Euclidean rows, given by their places [p]."""
    step = max(1, DIFFERENCES // queries.shape[1])
    parts = []
    for these, those in zip(query_rows.split(step), item_rows.split(step), strict=True):
        differences = queries[these, :-2].double() / 2 - items[those, :-2].double()
        parts.append(-differences.square().sum(1))
    return torch.cat(parts)


def _as_float32(scores: torch.Tensor) -> torch.Tensor:
    """Round scores to float32; one below its range becomes the lowest number of it."""
    lowest = torch.finfo(torch.float32).min
    return scores.clamp_(min=lowest).float()


def _tensor(rows: np.ndarray, device: torch.device) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(rows)).to(device)


def wide(rows: np.ndarray) -> np.ndarray:
    """Convert rows to at least float32, because half precision cannot hold the results."""
    return rows.astype(np.promote_types(rows.dtype, np.float32), copy=False)


def unit_rows(rows: np.ndarray, what: str) -> np.ndarray:
    """Scale rows [n d] to length 1, float32 or float64; return the same array if they already have it.

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
    if np.abs(lengths - 1).max(initial=0) < UNIT:
        return rows
    return (rows / lengths[:, None]).astype(rows.dtype)


Ties = Literal["gallery", "shuffled"]
"""Order of items with equal scores: that of the gallery, or shuffled by a hash of their positions."""


def tie_codes(positions: Any, ties: Ties) -> Any:
    """Return a code below 2**32 for each position, one to one; of equal scores the greater code comes first.

    Shuffled is for measuring: people's galleries are sorted by class, and a model that gives every pair the same score
    must not profit from that.

    Args:
        positions: int64 tensor or array of gallery positions below 2**32.
    """
    if ties == "gallery":
        return _LOW - positions
    mixed = positions ^ SALT
    mixed = ((mixed ^ (mixed >> 16)) * FIRST) & _LOW
    mixed = ((mixed ^ (mixed >> 13)) * SECOND) & _LOW
    return mixed ^ (mixed >> 16)


def _positions_of(codes: torch.Tensor, ties: Ties) -> torch.Tensor:
    """Invert `tie_codes`."""
    if ties == "gallery":
        return _LOW - codes
    mixed = ((codes ^ (codes >> 16)) * _SECOND_INVERSE) & _LOW
    mixed = ((mixed ^ (mixed >> 13) ^ (mixed >> 26)) * _FIRST_INVERSE) & _LOW
    return mixed ^ (mixed >> 16) ^ SALT


def pack(scores: torch.Tensor, positions: torch.Tensor, ties: Ties = "gallery") -> torch.Tensor:
    """Compute keys, int64, from float32 scores and gallery positions (broadcast against each other)."""
    bits = (scores + 0.0).view(torch.int32)  # + 0.0 turns -0 into 0
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(torch.int64)
    return (ordered << 32) + tie_codes(positions, ties)


def unpack(keys: torch.Tensor, ties: Ties = "gallery") -> tuple[torch.Tensor, torch.Tensor]:
    """Return the float32 scores and int64 positions of keys; NaN and -1 for `NOTHING`."""
    ordered = (keys >> 32).to(torch.int32)
    scores = torch.where(ordered < 0, ordered ^ 0x7FFFFFFF, ordered).view(torch.float32)
    there = keys != NOTHING
    return torch.where(there, scores, torch.nan), torch.where(
        there, _positions_of(keys & _LOW, ties), -1
    )


def best(keys: torch.Tensor, k: int) -> torch.Tensor:
    """Return the k largest keys of each row, descending, padded with `NOTHING` if the row is shorter."""
    largest = keys.topk(min(k, keys.shape[1]), dim=1).values
    return torch.nn.functional.pad(largest, (0, k - largest.shape[1]), value=NOTHING)


def count_above(keys: torch.Tensor, thresholds: torch.Tensor) -> torch.Tensor:
    """Count how many of each row's keys [a b] are above each of its thresholds [a t], int64 [a t].

    Thresholds ascend within a row. Time O(a b log t).
    """
    below = torch.searchsorted(thresholds, keys)  # thresholds strictly below each key
    histogram = torch.zeros(
        len(keys), thresholds.shape[1] + 1, dtype=torch.int64, device=keys.device
    )
    histogram.scatter_add_(1, below, torch.ones_like(below))
    at_least = histogram.flip(1).cumsum(1).flip(1)
    return at_least[:, 1:]


def nearest(
    space: Space,
    queries: torch.Tensor,
    k: int,
    ties: Ties = "gallery",
    rows: int = 256,
    columns: int = 8192,
) -> torch.Tensor:
    """Keys [q k] of the k items of a space nearest to each prepared query [q d], best first."""
    lists = []
    for part in queries.split(rows):
        kept = torch.full((len(part), k), NOTHING, device=part.device)
        for start in range(0, len(space.items), columns):
            block = space.items[start : start + columns]
            positions = torch.arange(start, start + len(block), device=part.device)
            keys = pack(space.block_scores(part, block), positions, ties)
            kept = best(torch.cat([kept, best(keys, k)], dim=1), k)
        lists.append(kept)
    return torch.cat(lists)
