"""Accuracy of the linear classifier that cross-entropy trains with the embedding (003, table 4)."""

from __future__ import annotations

import numpy as np

from lab.core.results import Evidence, Measurement
from lab.metrics._base import Metric, accuracy, measurement

ROWS = 4096
"""Queries that are classified at once."""


class ClassifierAccuracy(Metric):
    """Share of queries whose largest logit is that of their class. Column `classifier accuracy`.

    Queries of a class that the classifier does not know (unseen in training) are excluded, and their number is
    reported. Of equal logits the first counts. `nearest_anchor_accuracy` is the corresponding metric of a model with
    class anchors. Source: CAM, table 4.

    Raises:
        ValueError: the evidence holds no classifier, or one for embeddings of another width.

    Example (`evidence` is that of `lab.metrics`):
        >>> from lab.core.results import Classifier
        >>> classifier = Classifier(np.eye(2), np.zeros(2), np.arange(2))  # as training might have left it
        >>> metric = lab.metrics.create("classifier_accuracy")
        >>> round(metric(Evidence(ranking, images, images, classifier=classifier)).values["classifier accuracy"], 3)
        0.667
    """

    needs = "classifier"

    def __call__(self, evidence: Evidence) -> Measurement:
        classifier = evidence.classifier
        query = evidence.query
        if classifier is None:
            raise ValueError(
                "classifier_accuracy needs the classifier of a model; only models trained with cross_entropy have one."
            )
        if classifier.weight.shape[1] != query.vectors.shape[1]:
            raise ValueError(
                f"The classifier takes embeddings of width {classifier.weight.shape[1]}, got {query.vectors.shape[1]}."
            )

        weight = classifier.weight.T.astype(np.float64)
        predicted = []
        for block in np.split(query.vectors, range(ROWS, len(query), ROWS)):
            logits = block.astype(np.float64) @ weight + classifier.bias
            predicted.append(classifier.labels[logits.argmax(1)])
        right = accuracy(np.concatenate(predicted), query.labels, classifier.labels)
        return measurement({"classifier accuracy": right})
