"""Accuracy of the nearest class anchor (003, eq. 11)."""

from __future__ import annotations

import numpy as np

from lab.core.results import Evidence, Measurement
from lab.metrics._base import Metric, accuracy, measurement

ROWS = 4096
"""Vectors that are compared with the anchors at once."""


def nearest_anchors(vectors: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """Find the anchor [c d] nearest to each vector [n d] by Euclidean distance, int64 [n]; of equal ones the first."""
    centre = anchors[0].astype(np.float64)  # far from the origin the products would cancel to noise
    measured = anchors.astype(np.float64) - centre
    half_squares = np.square(measured).sum(1) / 2
    nearest = []
    for start in range(0, len(vectors), ROWS):
        block = vectors[start : start + ROWS].astype(np.float64) - centre
        # |v - a|^2 = |v|^2 + 2 (|a|^2 / 2 - v.a), and |v|^2 is the same for all anchors.
        nearest.append((half_squares - block @ measured.T).argmin(1))
    return np.concatenate(nearest)


class NearestAnchorAccuracy(Metric):
    """Share of queries whose nearest anchor, by Euclidean distance, is that of their class. Column `anchor accuracy`.

    Queries of a class without an anchor (unseen in training) are excluded, and their number is reported. Of equally
    near anchors the first counts.

    Raises:
        ValueError: the evidence holds no anchors.

    Example (`evidence` is that of `lab.metrics`):
        >>> anchors = np.array([[1.0, 0.0], [0.0, 1.0]])  # one per class, as training might have left them
        >>> measured = lab.metrics.create("nearest_anchor_accuracy")(Evidence(ranking, images, images, anchors=anchors))
        >>> round(measured.values["anchor accuracy"], 3)
        0.667
    """

    needs = "anchors"

    def __call__(self, evidence: Evidence) -> Measurement:
        anchors = evidence.anchors
        query = evidence.query
        if anchors is None:
            raise ValueError(
                "nearest_anchor_accuracy needs the class anchors of the model; only models trained with "
                "class_anchor_margin have them."
            )
        labels = np.arange(len(anchors))
        if evidence.anchor_labels is not None:
            labels = np.asarray(evidence.anchor_labels)
        if (
            anchors.ndim != 2
            or anchors.shape[1] != query.vectors.shape[1]
            or len(labels) != len(anchors)
        ):
            raise ValueError(
                f"The anchors must be [c d] with d = {query.vectors.shape[1]} and one label each, got shape "
                f"{anchors.shape} and {len(labels)} labels."
            )
        predicted = labels[nearest_anchors(query.vectors, anchors)]
        return measurement({"anchor accuracy": accuracy(predicted, query.labels, labels)})
