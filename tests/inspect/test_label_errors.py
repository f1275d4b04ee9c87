"""Label errors where they were planted: found, said to be as many as they are, and none where none are."""

import numpy as np
import pytest

from lab.doctor.bench.label_errors import average_precision, plant
from lab.inspect import label_errors as module
from lab.inspect.label_errors import label_errors, out_of_fold


def clusters(classes: int = 12, each: int = 30, spread: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    labels = np.repeat(np.arange(classes), each)
    vectors = rng.normal(0, 1.2, (classes, 16))[labels] + rng.normal(0, spread, (len(labels), 16))
    return vectors.astype(np.float32), labels


@pytest.mark.parametrize("kind", ["random", "similar"])
def test_planted_errors_come_first_and_are_counted_without_being_told_their_rate(kind):
    vectors, labels = clusters()
    given, planted = plant(vectors, labels, kind, 0.1, seed=0)
    found = label_errors(vectors, given)
    assert average_precision(planted, found.rows) > 0.8
    assert found.expected(10) == pytest.approx(planted[found.rows[:10]].sum(), abs=1.5)
    first = found.rows[:10]
    assert (found.suggested[:10] == labels[first])[planted[first]].mean() > 0.8
    assert (np.diff(found.probability) <= 0).all()


def test_where_no_label_is_wrong_few_are_said_to_be():
    vectors, labels = clusters()
    assert label_errors(vectors, labels).expected(10) < 1


def test_a_pair_that_is_confused_in_both_directions_is_no_error():
    vectors, labels = clusters()
    labels[labels == 1] = 0
    labels[np.flatnonzero(labels == 0)[::2]] = 1  # two classes that nobody can tell apart
    found = label_errors(vectors, labels)
    assert found.expected(10) < 1


def test_no_image_has_taught_its_own_probability():
    """A plain loop: the classifier is fitted anew without the fold, and says the same."""
    vectors, labels = clusters(3, 10)
    part = module._parts(labels, 5, 0)
    assert all(np.bincount(labels[part == fold]).tolist() == [2, 2, 2] for fold in range(5))
    here = part == part[0]
    x = vectors - vectors.mean(0)
    logits = module._discriminants(x[~here], labels[~here], x[here], 3)
    assert np.array_equal(logits.argmax(1), out_of_fold(vectors, labels)[here].argmax(1))


def test_images_without_a_label_and_single_images_of_a_class_are_left_out():
    vectors, labels = clusters(4, 10)
    labels[:5], labels[5] = -1, 99
    assert not np.isin(np.arange(6), label_errors(vectors, labels).rows).any()


@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [0, 1, 2, 3], [-1, -1, -1, -1]])
def test_less_than_two_classes_is_said_in_a_sentence(labels):
    with pytest.raises(ValueError, match="two classes need two images each"):
        label_errors(np.eye(4, dtype=np.float32), np.array(labels))
