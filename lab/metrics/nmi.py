"""NMI: how much k-means clusters and classes tell about each other."""

from __future__ import annotations

import numpy as np

from lab.metrics._clusters import ClusterMetric


class Nmi(ClusterMetric):
    """Mutual information of clusters and classes over the arithmetic mean of their entropies. Column `NMI`.

    One value for the whole query set. Not corrected for chance: many small clusters score high by themselves (see
    `ami`).

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("nmi", seed=0)(evidence)
        >>> round(measured.values["NMI"], 3)
        0.082
    """

    column = "NMI"

    def score(self, labels: np.ndarray, assignment: np.ndarray) -> float:
        """Mutual information of two labelings [n] over the arithmetic mean of their entropies."""
        from sklearn.metrics import normalized_mutual_info_score

        return normalized_mutual_info_score(labels, assignment, average_method="arithmetic")
