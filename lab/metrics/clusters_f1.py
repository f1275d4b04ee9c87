"""F1 of clusters: do pairs that share a cluster share a class, and the other way round?"""

from __future__ import annotations

import numpy as np

from lab.metrics._clusters import ClusterMetric


def pair_f1(labels: np.ndarray, assignment: np.ndarray) -> float:
    """Compute the harmonic mean of precision and recall over pairs of items; "same cluster" predicts "same class".

    NaN if no two items share a class or a cluster, so that there is no pair to judge.
    """
    _, classes = np.unique(labels, return_inverse=True)
    _, groups = np.unique(assignment, return_inverse=True)
    # items of one class and cluster
    _, cells = np.unique(classes * (groups.max() + 1) + groups, return_counts=True)

    in_both = _pairs_within(cells)
    in_class = _pairs_within(np.bincount(classes))
    in_cluster = _pairs_within(np.bincount(groups))
    if in_class + in_cluster == 0:
        return float("nan")
    return 2 * in_both / (in_class + in_cluster)


def _pairs_within(sizes: np.ndarray) -> int:
    """Count the pairs within groups of these sizes."""
    return int((sizes * (sizes - 1) // 2).sum())


class ClustersF1(ClusterMetric):
    """Pairwise F1 of k-means clusters against classes. Column `F1`. One value for the whole query set.

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("clusters_f1", seed=0)(evidence)
        >>> round(measured.values["F1"], 3)  # 2 of the 6 pairs in a cluster share a class
        0.333
    """

    column = "F1"

    def score(self, labels: np.ndarray, assignment: np.ndarray) -> float:
        """Compute `pair_f1` of two labelings [n]."""
        return pair_f1(labels, assignment)
