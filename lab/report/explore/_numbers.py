"""Vectors in eight bits, how well they rank, and all numbers of the page in one buffer."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np

SAMPLE, TOGETHER = 1_000, 64
"""Queries by which the agreement is measured, at most; and those that are ranked at a time."""


def quantised(vectors: np.ndarray, similarity: str) -> tuple[np.ndarray, np.ndarray]:
    """Vectors [n d] as int8 [n d], the largest number of each at 127, and a scale float32 [n] of each.

    By cosine the scale gives an int8 vector unit length; by distance it gives back the length that it had.

    Example:
        >>> quantised(np.array([[0.6, 0.8], [0.0, 0.0]]), "cosine")[0].tolist()
        [[95, 127], [0, 0]]
    """
    largest = np.abs(vectors).max(1, keepdims=True).clip(1e-30)
    codes = np.rint(vectors / largest * 127).astype(np.int8)
    scales = largest[:, 0] / 127
    if similarity == "cosine":
        scales = 1 / np.sqrt(_squares(codes).clip(1))
    return codes, scales.astype(np.float32)


def similarities(codes: np.ndarray, scales: np.ndarray, similarity: str, rows: np.ndarray) -> np.ndarray:
    """Of the vectors at `rows` to all: float64 [r n], number for number what `search.js` computes."""
    exact = np.float32 if codes.shape[1] * 127**2 < 2**24 else np.float64  # sums that hold every whole number
    products = (codes[rows].astype(exact) @ codes.T.astype(exact)).astype(np.float64)
    wide = scales.astype(np.float64)
    near = wide[rows, None] * wide * products
    if similarity == "cosine":
        return near
    lengths = wide * wide * _squares(codes)
    return 2 * near - lengths[rows, None] - lengths


def ranked(
    codes: np.ndarray, scales: np.ndarray, similarity: str, rows: np.ndarray, searched: np.ndarray, k: int
) -> np.ndarray:
    """The k nearest others of the vectors at `rows` among the `searched` (bool [n]) as the page ranks them: int64
    [r k], -1 where there are fewer; equal ones by place."""
    found = np.full((len(rows), k), -1)
    there = np.flatnonzero(searched)
    for begin in range(0, len(rows), TOGETHER):
        some = rows[begin : begin + TOGETHER]
        scores = similarities(codes, scales, similarity, some)[:, there]
        scores[some[:, None] == there] = -np.inf
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        kept = np.where(np.isneginf(np.take_along_axis(scores, order, 1)), -1, there[order])
        found[begin : begin + TOGETHER, : kept.shape[1]] = kept
    return found


def agreement(found: np.ndarray, exact: np.ndarray) -> dict[str, float]:
    """How two rankings [q k] of the same queries agree: share of queries with the same `first`, and mean share of the
    nearest k that `both` have."""
    both = [len(np.intersect1d(a[a >= 0], b[b >= 0])) / max(1, (b >= 0).sum()) for a, b in zip(found, exact, strict=True)]
    return {"first": float((found[:, 0] == exact[:, 0]).mean()), "both": float(np.mean(both)), "of": len(found)}


def _squares(codes: np.ndarray) -> np.ndarray:
    return np.einsum("nd,nd->n", codes, codes, dtype=np.int64)


class Numbers:
    """Arrays one behind the other, each at a multiple of eight bytes, and where to find them."""

    def __init__(self) -> None:
        self.places: dict[str, tuple[str, int, int]] = {}
        self._parts: list[bytes] = []
        self._end = 0

    def add(self, name: str, values: np.ndarray, kind: Any) -> None:
        """Put an array there as a type of numbers, flat."""
        content = np.ascontiguousarray(values, np.dtype(kind).newbyteorder("<")).tobytes()
        content += bytes(-len(content) % 8)
        self.places[name] = np.dtype(kind).name, self._end, int(np.size(values))
        self._parts.append(content)
        self._end += len(content)

    def packed(self) -> bytes:
        """All of them, gzip."""
        return gzip.compress(b"".join(self._parts), 6, mtime=0)
