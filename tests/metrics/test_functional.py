"""The plain functions of `lab.metrics.functional` against the classes, and against small lists by hand."""

import numpy as np
import pytest

import lab
from lab.metrics import functional

CLASSES = {
    "average_precision": ("mean_average_precision", {}, "mAP"),
    "average_precision_at_r": ("map_at_r", {}, "MAP@R"),
    "hit_rate_at_k": ("hit_rate_at_k", {"k": (3,)}, "r@3"),
    "precision_at_k": ("precision_at_k", {"k": (3,)}, "P@3"),
    "r_precision": ("r_precision", {}, "R-precision"),
    "recall_at_k": ("recall_at_k", {"k": (3,)}, "recall@3"),
    "reciprocal_rank": ("mean_reciprocal_rank", {}, "MRR"),
    "trapezoid_average_precision": ("revisited_map", {"protocol": "medium"}, "mAP-M"),
}


def call(name, scores, relevant):
    arguments = {"k": 3} if name.endswith("at_k") else {}
    return getattr(functional, name)(scores, relevant, **arguments)


def test_every_function_has_a_class():
    assert set(CLASSES) == set(functional.__all__)


@pytest.mark.parametrize("name", CLASSES)
def test_a_function_equals_its_class(name, make_random):
    evidence = make_random(n=40, classes=12)  # some classes have a single image
    vectors = evidence.query.vectors.astype(np.float64)
    labels = evidence.query.labels
    scores = vectors @ vectors.T
    np.fill_diagonal(scores, -np.inf)
    relevant = labels[:, None] == labels
    np.fill_diagonal(relevant, False)

    metric, knobs, column = CLASSES[name]
    measured = lab.metrics.create(metric, **knobs)(evidence)
    values = call(name, scores, relevant)
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, measured.per_query[column])


BY_HAND = {
    "average_precision": (1 / 2 + 2 / 4) / 2,
    "average_precision_at_r": (1 / 2) / 2,
    "hit_rate_at_k": 1,
    "precision_at_k": 1 / 3,
    "r_precision": 1 / 2,
    "recall_at_k": 1 / 2,
    "reciprocal_rank": 1 / 2,
    "trapezoid_average_precision": ((0 + 1 / 2) / 2 + (1 / 3 + 2 / 4) / 2) / 2,
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_list_by_hand(name):
    # the first two are equal: columns decide
    scores = np.array([[0.5, 0.5, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1]])
    relevant = np.array([[False, True, False, True], [False] * 4])
    assert call(name, scores, relevant) == pytest.approx([BY_HAND[name], np.nan], nan_ok=True)


@pytest.mark.parametrize("name", CLASSES)
def test_a_relevant_item_that_is_not_listed_counts_as_lost(name):
    lost = call(name, np.array([[0.9, 0.5, 0.1, -np.inf]]), np.array([[False, False, False, True]]))
    assert lost == [0]


@pytest.mark.parametrize(
    ("scores", "relevant", "message"),
    [
        (
            np.zeros(3),
            np.zeros(3, bool),
            r"one shape \[q g\], a row per query, got \[3\] and \[3\]",
        ),
        (np.zeros((2, 3)), np.zeros((3, 2), bool), r"got \[2, 3\] and \[3, 2\]"),
        (np.zeros((2, 3)), np.zeros((2, 3), int), "relevant must be boolean, got int64"),
        (np.array([[0.0], [np.nan]]), np.zeros((2, 1), bool), "row 1 holds NaN"),
    ],
)
def test_wrong_input_gets_one_sentence(scores, relevant, message):
    with pytest.raises(ValueError, match=message):
        functional.average_precision(scores, relevant)
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        functional.recall_at_k(np.zeros((1, 2)), np.ones((1, 2), bool), 0)
