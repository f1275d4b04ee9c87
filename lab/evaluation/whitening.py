"""Whitening of embeddings: by their own covariance, or so that matching pairs lie close and others far apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lab.core.formats import counted

LEAST = 1e-10
"""Smallest share of the greatest variance that counts as variance."""


@dataclass(frozen=True)
class Whitening:
    """Subtract `mean` [d], multiply by `projection` [d k], scale to unit length."""

    mean: np.ndarray
    projection: np.ndarray

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        """[n d] -> float32 [n k], unit rows."""
        rows = (vectors.astype(np.float64) - self.mean) @ self.projection
        return (
            rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(float).tiny)
        ).astype(np.float32)


def pca(vectors: np.ndarray, dim: int | None = None, shrinkage: float = 0.0) -> Whitening:
    """Every direction at equal variance; the `dim` of greatest variance are kept (by default all).

    Args:
        vectors: [n d]; labels are not used.
        shrinkage: from 0 to 1; the covariance C becomes (1 - shrinkage) C + shrinkage trace(C) / d I before it is
            inverted, so that small variances, which few images cannot estimate, do not grow (Ledoit and Wolf 2004).

    Raises:
        ValueError: a vector holds NaN or infinity, or they vary in fewer directions than are kept.
    """
    rows = _finite(vectors)
    mean = rows.mean(axis=0)
    values, directions = np.linalg.eigh((rows - mean).T @ (rows - mean) / len(rows))
    order = np.argsort(-values)[:dim]
    _full(values, counted(len(rows), "image"), len(order))
    shrunk = (1 - shrinkage) * values + shrinkage * values.mean()
    return Whitening(mean, directions[:, order] / np.sqrt(shrunk[order]))


def _finite(vectors: np.ndarray) -> np.ndarray:
    """Vectors [n d] in float64.

    Raises:
        ValueError: there is none, or one holds NaN or infinity.
    """
    rows = np.asarray(vectors, np.float64)
    if not len(rows):
        raise ValueError("Whitening needs images to be fitted to, got none.")
    broken = ~np.isfinite(rows).all(axis=1)
    if broken.any():
        raise ValueError(
            f"Whitening needs finite numbers, and {counted(int(broken.sum()), 'image')} of {len(rows):,} have NaN or "
            "infinity; leave them out."
        )
    return rows


def learnt(vectors: np.ndarray, labels: np.ndarray, dim: int | None = None) -> Whitening:
    """C_S^(-1/2) times the main directions of C_S^(-1/2) C_D C_S^(-1/2) (Mikolajczyk and Matas 2007; Radenovic 2018).

    C_S and C_D are the sums of (x_i - x_j)(x_i - x_j)^T over all matching and all other pairs. Neither needs its pairs:
    over the pairs of m vectors that sum is 2 m times their scatter.

    Args:
        vectors: [n d]. labels: int64 [n]; equal ones match.
        dim: main directions to keep, by default all.

    Raises:
        ValueError: matching pairs do not differ in d directions, or every pair matches.
    """
    rows = _finite(vectors)
    mean = rows.mean(axis=0)
    matching = np.zeros((rows.shape[1],) * 2)
    classes = np.unique(labels)
    for label in classes:
        mine = rows[labels == label] - rows[labels == label].mean(axis=0)
        matching += 2 * len(mine) * mine.T @ mine
    if len(classes) < 2:
        raise ValueError(
            "Whitening is learnt from pairs that match and pairs that do not; got images of one class."
        )
    others = 2 * len(rows) * (rows - mean).T @ (rows - mean) - matching
    values, directions = np.linalg.eigh(matching)
    _full(values, f"{counted(len(rows), 'image')} of {len(classes)} classes")
    inverse_root = (directions / np.sqrt(values)) @ directions.T
    spread, main = np.linalg.eigh(inverse_root @ others @ inverse_root)
    return Whitening(mean, inverse_root @ main[:, np.argsort(-spread)[:dim]])


def _full(values: np.ndarray, who: str, needed: int | None = None) -> None:
    count = int((values > LEAST * values.max()).sum())
    if count < (needed or len(values)):
        raise ValueError(
            f"Embeddings of {who} differ in {count} of {len(values)} directions only, too few to whiten them; give "
            "more images, keep fewer numbers, or leave the whitening out."
        )
