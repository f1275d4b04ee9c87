"""Label errors where they were planted: found, said to be as many as they are, and none where none are."""

import numpy as np
import pytest

import lab.data
from lab.doctor.bench.label_errors import average_precision, plant
from lab.inspect import label_errors as module
from lab.inspect.label_errors import label_errors, out_of_fold


def clusters(
    classes: int = 12, each: int = 30, spread: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
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


def far_out(seed: int, dim: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """A hundred classes of eight, some images of which lie far from everything (Student's t with 3 degrees)."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(100), 8)
    stretch = np.sqrt(3 / rng.chisquare(3, (len(labels), 1)))
    vectors = 1.2 * rng.normal(size=(100, dim))[labels] + 0.6 * stretch * rng.normal(
        size=(len(labels), dim)
    )
    return vectors.astype(np.float32), labels


@pytest.mark.parametrize("seed", range(3))
def test_images_unlike_everything_are_no_errors_and_come_after_the_errors(seed, monkeypatch):
    vectors, labels = far_out(seed)
    assert label_errors(vectors, labels).expected(10) <= 1
    given, planted = plant(vectors, labels, "random", 0.05, seed)
    found = label_errors(vectors, given)
    assert planted[found.rows[:10]].sum() >= 9 and found.expected(10) >= 8
    monkeypatch.setattr(module, "FEW_UNLIKE", 1.0)  # nothing is taken to be unlike everything
    before = label_errors(vectors, given)
    assert average_precision(planted, found.rows) > average_precision(planted, before.rows) + 0.1
    assert label_errors(vectors, labels).expected(10) > 5, "which is what they were taken for"


@pytest.mark.parametrize("seed", range(3))
def test_errors_of_a_similar_class_are_counted_where_classes_are_compact(seed):
    """Forty people, ten pictures of each."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(40), 10)
    vectors = (rng.normal(size=(40, 64))[labels] + 0.6 * rng.normal(size=(400, 64))).astype(
        np.float32
    )
    given, planted = plant(vectors, labels, "similar", 0.05, seed)
    found = label_errors(vectors, given)
    assert planted[found.rows[:10]].all() and found.expected(10) >= 5
    assert label_errors(vectors, labels).expected(10) <= 1


def test_no_number_is_told_of_classes_that_features_do_not_show():
    """Emoji of one vendor by what they mean: food, tools, animals; all of them right."""
    images = lab.data.create("emoji7")
    rows = np.flatnonzero(np.asarray(images.attributes["vendor"]) == "noto")
    labels = np.unique(np.asarray(images.attributes["subgroup"])[rows], return_inverse=True)[1]
    small = (
        images.pixels[rows].reshape(len(rows), 8, 8, 8, 8, 3).mean((2, 4)).reshape(len(rows), -1)
    )
    found = label_errors((small / 255).astype(np.float32), labels)
    assert (
        found.accuracy < 0.5
        and not found.counted
        and found.expected(10) is None
        and len(found) > 100
    )


def test_no_number_is_told_where_a_class_is_of_several_kinds():
    """Twelve kinds in each of ten classes; the middle of a class is none of them. With one kind a number is told."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(10), 96)
    kinds = np.tile(np.repeat(np.arange(12), 8), 10)
    for several, told in ((True, False), (False, True)):
        middles = rng.normal(size=(10, 12, 24)) + 0.45 * rng.normal(size=(10, 1, 24))
        if not several:
            middles[:] = middles[:, :1]
        noise = 0.6 if several else 2.0
        vectors = middles[labels, kinds] + noise * rng.normal(size=(len(labels), 24))
        found = label_errors(vectors.astype(np.float32), labels)
        assert found.accuracy >= 0.58 and found.counted == told, (found.accuracy, found.nearest)
        assert found.several_kinds != told


def test_no_image_has_taught_its_own_probability():
    """A plain loop: the classifier is fitted anew without the fold, and says the same."""
    vectors, labels = clusters(3, 10)
    part = module._parts(labels, 5, 0)
    assert all(np.bincount(labels[part == fold]).tolist() == [2, 2, 2] for fold in range(5))
    here = part == part[0]
    x = vectors - vectors.mean(0)
    logits, _ = module._discriminants(x[~here], labels[~here], x[here], 3)
    judged = out_of_fold(vectors, labels)
    assert np.array_equal(logits.argmax(1), judged.probabilities[here].argmax(1))
    nearest = judged.distances[here].argmin(1)
    assert (judged.distances[here] > 0).all() and np.array_equal(nearest, logits.argmax(1))


def test_images_without_a_label_and_single_images_of_a_class_are_left_out():
    vectors, labels = clusters(4, 10)
    labels[:5], labels[5] = -1, 99
    assert not np.isin(np.arange(6), label_errors(vectors, labels).rows).any()


@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [0, 1, 2, 3], [-1, -1, -1, -1]])
def test_less_than_two_classes_is_said_in_a_sentence(labels):
    with pytest.raises(ValueError, match="two classes need two images each"):
        label_errors(np.eye(4, dtype=np.float32), np.array(labels))
