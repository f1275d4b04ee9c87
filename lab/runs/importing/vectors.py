"""Vectors of anybody's making, checked and brought to float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from lab.core.results import as_array

LENGTH = 2e-3
"""How far from 1 the length of a unit vector may be: half-precision numbers round so far."""


def as_rows(vectors: Any) -> Any:
    """What vectors are kept in (numpy, torch, lists) as something of a shape, a type of numbers and rows.

    Raises:
        ValueError: it is no table of floating-point numbers, or an empty one.
    """
    if hasattr(vectors, "detach") or not hasattr(vectors, "shape") or not hasattr(vectors, "dtype"):
        vectors = as_array(vectors, "vectors")
    if len(vectors.shape) != 2:
        raise ValueError(f"Vectors are a table [n d], one row an image; these have the shape {list(vectors.shape)}.")
    if vectors.dtype.kind != "f":
        raise ValueError(
            f"The vectors are of type {vectors.dtype}, not floating-point numbers; convert them with "
            '`.astype("float32")` if they are embeddings.'
        )
    if not vectors.shape[0] or not vectors.shape[1]:
        raise ValueError(f"There are no vectors: the table has {vectors.shape[0]} rows of {vectors.shape[1]} numbers.")
    return vectors


def checked_rows(vectors: Any, rows: np.ndarray, normalise: bool | None) -> np.ndarray:
    """Some rows, int64 [n], of what `as_rows` gave, as float32 [n d].

    normalise: True brings each to unit length, False leaves lengths as they are, None refuses other lengths.

    Raises:
        ValueError: a number is not finite, or a length not what it should be; names the row.
    """
    block = np.asarray(vectors)[rows].astype(np.float32, copy=False)
    finite = np.isfinite(block).all(1)
    if not finite.all():
        raise ValueError(
            f"Row {rows[~finite][0]:,} of the vectors holds NaN or infinity (rows are counted from 0); leave such "
            "rows out."
        )
    if normalise is False:
        return block
    lengths = np.linalg.norm(block.astype(np.float64), axis=1)
    if not lengths.all():
        raise ValueError(f"Row {rows[lengths == 0][0]:,} of the vectors is zero, so it has no direction; leave it out.")
    if normalise:
        return (block / lengths[:, None]).astype(np.float32)
    off = np.abs(lengths - 1) > LENGTH
    if off.any():
        raise ValueError(
            f"Row {rows[off][0]:,} of the vectors has length {lengths[off][0]:.4g} instead of 1; say whether to "
            "bring all to unit length and compare by cosine (normalise=True, --normalise), or to keep their lengths "
            "and compare by distance (normalise=False, --no-normalise)."
        )
    return block
