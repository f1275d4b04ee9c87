"""Rows that lie in several arrays, addressed as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lab.core.results import NO_CLASS, no_class

BLOCK = 65_536
"""Rows that are read at once where all of them are looked at."""


class Rows:
    """Several arrays, memory-mapped ones for instance, one behind the other; nothing is copied before it is asked for.

    Args:
        parts: [n ...] each, of one type and width.

    Example:
        >>> import numpy as np
        >>> rows = Rows([np.array([1, 2]), np.array([3])])
        >>> len(rows), rows[[2, 0]], rows[1:]
        (3, array([3, 1]), array([2, 3]))
    """

    def __init__(self, parts: Sequence[np.ndarray]):
        self.parts = parts
        self._starts = np.cumsum([0, *map(len, parts)])
        self.shape = (int(self._starts[-1]), *(parts[0].shape[1:] if parts else (0,)))
        self.ndim = len(self.shape)
        # files of one gallery may hold numbers of different types
        kinds = {part.dtype for part in parts}
        self.dtype = np.result_type(*kinds) if kinds else np.dtype(np.float32)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> np.ndarray:
        """A slice, or whole numbers of any shape, as an array of its own; from -n, as in numpy."""
        if isinstance(rows, slice):
            return self._stretch(*rows.indices(len(self)))
        places = np.asarray(rows)
        flat = np.where(places < 0, places + len(self), places).ravel()
        of = np.searchsorted(self._starts, flat, side="right") - 1
        gathered = np.empty((len(flat), *self.shape[1:]), self.dtype)
        for part in np.unique(of):
            mine = np.flatnonzero(of == part)
            mine = mine[np.argsort(flat[mine])]  # a disk is read forwards
            gathered[mine] = self.parts[part][flat[mine] - self._starts[part]]
        # A single number for a single row of a column.
        return gathered.reshape((*places.shape, *self.shape[1:]))[()]

    def _stretch(self, start: int, stop: int, step: int) -> np.ndarray:
        if step != 1:
            return self[np.arange(start, stop, step)]
        rows = np.empty((max(0, stop - start), *self.shape[1:]), self.dtype)
        for part, first in zip(self.parts, self._starts, strict=False):
            low = max(start, first)
            high = min(stop, first + len(part))
            if low < high:
                rows[low - start : high - start] = part[low - first : high - first]
        return rows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """All of it, in memory."""
        return self[:].astype(dtype or self.dtype, copy=False)

    def blocks(self) -> Iterator[np.ndarray]:
        """All rows in order, a few at a time."""
        for start in range(0, len(self), BLOCK):
            yield self[start : start + BLOCK]


class LabelRows(Rows):
    """Labels of several arrays, addressed as one. A negative number, which shards write for no class, is `no_class`."""

    def __init__(self, parts: Sequence[np.ndarray]):
        super().__init__(parts)
        # a file may hold any type of whole numbers, also one without negative ones
        self.dtype = np.dtype(np.int64)

    def __getitem__(self, rows: Any) -> np.ndarray:
        labels = super().__getitem__(rows)
        return np.where((labels < 0) & (labels > NO_CLASS), no_class(-1 - labels), labels)[()]
