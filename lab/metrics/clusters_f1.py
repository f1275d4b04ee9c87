"""F1 of clusters: do pairs that share a cluster share a class, and the other way round?"""

from __future__ import annotations

import numpy as np

from lab.metrics._clusters import ClusterMetric


def pair_f1(labels: np.ndarray, assignment: np.ndarray) -> float:
    """Harmonic mean of precision and recall over pairs of items; "same cluster" predicts "same class".

    NaN when no two items share a class or a cluster: there is no pair to judge.
    """
    _, classes = np.unique(labels, return_inverse=True)
    _, groups = np.unique(assignment, return_inverse=True)
    cells = np.unique(classes * (groups.max() + 1) + groups, return_counts=True)[1]
    counts = cells, np.bincount(classes), np.bincount(groups)
    both, one, other = (int((count * (count - 1) // 2).sum()) for count in counts)
    return 2 * both / (one + other) if one + other else float("nan")


class ClustersF1(ClusterMetric):
    """Pairwise F1 of k-means clusters against classes. Column `F1`. One value for the whole query set.

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("clusters_f1", seed=0)(evidence)
        >>> round(measured.values["F1"], 3)  # 2 of the 6 pairs in a cluster share a class
        0.333
    """

    column = "F1"

    def score(self, labels: np.ndarray, assignment: np.ndarray) -> float:
        """`pair_f1` of two labelings [n]."""
        return pair_f1(labels, assignment)
