"""Find when a network learnt to answer each query, and which queries it forgot, from nearest neighbours over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Learning:
    """Whether the nearest other image of each query was of its class, at several steps of the training.

    steps: int64 [t], ascending. items: int64 [q], the queries. right: bool [t q].

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
        """Images int64 [m] that were wrong at first, and the step from which each stays right; the latest first."""
        return self._settled(self.right[-1] & ~self.right.all(0))

    @property
    def forgotten(self) -> tuple[np.ndarray, np.ndarray]:
        """Images int64 [m] that were right at some step, and the step from which each stays wrong; the latest first."""
        return self._settled(~self.right[-1] & self.right.any(0))

    def _settled(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the chosen queries (bool [q]) with the step from which their answer stays as it is at the end."""
        if not chosen.any():
            return self.items[:0], self.steps[:0]
        differs = self.right[:, chosen] != self.right[-1, chosen]
        steps_since_change = np.argmax(differs[::-1], axis=0)  # counted from the end
        since = self.steps[len(self.steps) - steps_since_change]
        order = np.argsort(-since, kind="stable")
        return self.items[chosen][order], since[order]
