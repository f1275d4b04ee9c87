"""The accuracy of a classifier, against a loop, and of a run that brought one."""

import dataclasses

import numpy as np
import pytest

from lab import metrics
from lab.core.results import Classifier


@pytest.fixture
def evidence(make_random):
    random = np.random.default_rng(0)
    found, bias = make_random(), random.normal(size=9).astype(np.float32)
    weight = random.normal(size=(9, found.query.vectors.shape[1])).astype(np.float32)
    return dataclasses.replace(found, classifier=Classifier(weight, bias, np.arange(9)))


def test_largest_logit_of_each_query_by_a_loop(evidence):
    known, right = evidence.classifier, []
    for vector, label in zip(evidence.query.vectors, evidence.query.labels, strict=True):
        rows = zip(known.weight, known.bias, strict=True)
        logits = [sum(w * x for w, x in zip(row, vector, strict=True)) + b for row, b in rows]
        right.append(float(np.argmax(logits) == label))
    found = metrics.create("classifier_accuracy")(evidence)
    np.testing.assert_array_equal(found.per_query["classifier accuracy"], right)
    assert (
        found.values["classifier accuracy"] == pytest.approx(np.mean(right))
        and 0 < np.mean(right) < 1
    )


def test_without_a_classifier_or_with_one_of_another_width_a_sentence_says_so(evidence):
    metric = metrics.create("classifier_accuracy")
    with pytest.raises(ValueError, match="needs the classifier of a model"):
        metric(dataclasses.replace(evidence, classifier=None))
    other = Classifier(np.zeros((9, 3), np.float32), np.zeros(9, np.float32), np.arange(9))
    with pytest.raises(ValueError, match="takes embeddings of width 3"):
        metric(dataclasses.replace(evidence, classifier=other))
