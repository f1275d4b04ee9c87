"""NMI: normalised mutual information of k-means clusters and classes."""

from __future__ import annotations

import numpy as np

from lab.metrics._clusters import ClusterMetric


class Nmi(ClusterMetric):
    """Mutual information of clusters and classes over the arithmetic mean of their entropies. Column `NMI`.

    One value for the whole query set. It is not corrected for chance: many small clusters score high even if they are
    random (see `ami`).

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("nmi", seed=0)(evidence)
        >>> round(measured.values["NMI"], 3)
        0.082
    """

    column = "NMI"

    def score(self, labels: np.ndarray, assignment: np.ndarray) -> float:
        """Compute the mutual information of two labelings [n], divided by the arithmetic mean of their entropies."""
        from sklearn.metrics import normalized_mutual_info_score

        return normalized_mutual_info_score(labels, assignment, average_method="arithmetic")
