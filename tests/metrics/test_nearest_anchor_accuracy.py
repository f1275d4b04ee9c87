import numpy as np
import pytest

from lab import metrics


def accuracy(evidence):
    return metrics.create("nearest_anchor_accuracy")(evidence)


def test_by_loops(make_random):
    rng = np.random.default_rng(2)
    anchors, labels = rng.normal(size=(9, 6)), rng.permutation(9)
    evidence = make_random(anchors=anchors, anchor_labels=labels)
    right = [
        labels[min(range(9), key=lambda c: np.linalg.norm(x - anchors[c]))] == y
        for x, y in zip(evidence.query.vectors, evidence.query.labels, strict=True)
    ]
    np.testing.assert_array_equal(accuracy(evidence).per_query["anchor accuracy"], right)


def test_length_matters(make_evidence):
    # Same direction, other length: Euclidean distance tells them apart, cosine could not.
    points = np.array([[1, 0], [3, 0]], np.float32)
    evidence = make_evidence(points, [0, 1], anchors=points, anchor_labels=np.array([0, 1]))
    assert accuracy(evidence).values == {"anchor accuracy": 1.0}


def test_unseen_classes_are_excluded_and_counted(make_evidence):
    points = np.eye(3, dtype=np.float32)
    found = accuracy(make_evidence(points, [0, 1, 5], anchors=points[:2]))
    assert found.values["anchor accuracy"] == 1 and found.excluded == 1


def test_bad_anchors(make_random):
    with pytest.raises(ValueError, match="needs the class anchors"):
        accuracy(make_random())
    with pytest.raises(ValueError, match="with d = 6"):
        accuracy(make_random(anchors=np.ones((9, 5))))
    with pytest.raises(ValueError, match="and 3 labels"):
        accuracy(make_random(anchors=np.ones((9, 6)), anchor_labels=np.arange(3)))
