"""AMI: mutual information of k-means clusters and classes, adjusted for chance."""

from __future__ import annotations

import numpy as np

from lab.metrics._clusters import ClusterMetric


class Ami(ClusterMetric):
    """NMI adjusted for the score of random clusters of the same sizes; 0 is chance, 1 is perfect. Column `AMI`.

    One value for the whole query set. Slightly negative values occur.

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("ami", seed=0)(evidence)
        >>> round(measured.values["AMI"], 3)  # each group holds one image of the other class
        -0.111
    """

    bounds = (-1.0, 1.0)
    column = "AMI"

    def score(self, labels: np.ndarray, assignment: np.ndarray) -> float:
        """Compute the mutual information of two labelings [n], adjusted for chance and divided by the mean entropy."""
        from sklearn.metrics import adjusted_mutual_info_score

        return adjusted_mutual_info_score(labels, assignment, average_method="arithmetic")
