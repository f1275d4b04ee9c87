"""NMI: how much k-means clusters and classes tell about each other."""

from __future__ import annotations

import numpy as np

from lab.core.results import Evidence, Measurement
from lab.metrics._base import Metric
from lab.metrics._clusters import ClusterKnobs, clusters


def normalised_mutual_information(labels: np.ndarray, assignment: np.ndarray) -> float:
    """Mutual information of two labelings [n] over the arithmetic mean of their entropies."""
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(labels, assignment, average_method="arithmetic"))


class Nmi(Metric):
    """Mutual information of clusters and classes over the arithmetic mean of their entropies. Column `NMI`.

    One value for the whole query set. Not corrected for chance: many small clusters score high by themselves (see
    `ami`).

    Example (`evidence` is that of `lab.metrics`):
        >>> measured = lab.metrics.create("nmi", seed=0)(evidence)
        >>> round(measured.values["NMI"], 3)
        0.082
    """

    needs = "embeddings"

    class Knobs(ClusterKnobs):
        """Those of the clustering."""

    def __call__(self, evidence: Evidence) -> Measurement:
        assignment = clusters(evidence.query, self.knobs)
        return Measurement({"NMI": normalised_mutual_information(evidence.query.labels, assignment)})
