"""When a network learnt to answer each query, and what it forgot again: the first neighbours at moments of its
training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Learning:
    """Whether each query was right at each moment: its nearest other image was of its class.

    steps: int64 [t], ascending. items: int64 [q]. right: bool [t q].

    Example:
        >>> import numpy as np
        >>> from lab.inspect.learning import Learning
        >>> right = np.array([[0, 1, 1, 0], [1, 1, 1, 0], [1, 0, 1, 0]], bool)
        >>> learning = Learning(np.array([100, 200, 300]), np.array([5, 6, 7, 8]), right)
        >>> learning.learnt, learning.forgotten
        ((array([5]), array([200])), (array([6]), array([300])))
    """

    steps: np.ndarray
    items: np.ndarray
    right: np.ndarray

    @property
    def learnt(self) -> tuple[np.ndarray, np.ndarray]:
        """Images int64 [m] that were wrong at first, and the step from which each is right to the last moment; the
        latest first."""
        return self._settled(self.right[-1] & ~self.right.all(0))

    @property
    def forgotten(self) -> tuple[np.ndarray, np.ndarray]:
        """Images int64 [m] that were right at some moment, and the step from which each is wrong to the last moment;
        the latest first."""
        return self._settled(~self.right[-1] & self.right.any(0))

    def _settled(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Some queries, bool [q], with the first step from which their verdict is that of the last moment."""
        other = self.right[:, chosen] != self.right[-1, chosen]
        since = self.steps[len(self.steps) - np.argmax(other[::-1], axis=0)] if chosen.any() else self.steps[:0]
        order = np.argsort(-since, kind="stable")
        return self.items[chosen][order], since[order]
