"""Accuracy of the linear classifier that cross-entropy trains with the embedding (003, table 4)."""

from __future__ import annotations

import numpy as np

from lab.core.results import Evidence, Measurement
from lab.metrics._base import Metric, measurement, of_known

ROWS = 4096


class ClassifierAccuracy(Metric):
    """Share of queries whose largest logit is that of their class. Column `classifier accuracy`.

    Queries of a class that the classifier does not know (unseen in training) cannot be right: they are excluded and
    counted. Of equal logits the first counts. `nearest_anchor_accuracy` is the same number of a model with class
    anchors. Source: CAM, table 4.

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
        known, query = evidence.classifier, evidence.query
        if known is None:
            raise ValueError(
                "classifier_accuracy needs the classifier of a model; only those trained with cross_entropy have one."
            )
        if known.weight.shape[1] != query.vectors.shape[1]:
            raise ValueError(
                f"The classifier takes embeddings of width {known.weight.shape[1]}, got {query.vectors.shape[1]}."
            )
        weight, blocks = known.weight.T.astype(np.float64), np.split(query.vectors, range(ROWS, len(query), ROWS))
        predicted = np.concatenate([(block.astype(np.float64) @ weight + known.bias).argmax(1) for block in blocks])
        return measurement({"classifier accuracy": of_known(known.labels[predicted], query.labels, known.labels)})
