"""The difference of two methods over classes and trainings: plain loops, what it covers, and eight twins."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import lab
from lab.inference.crossed import method_difference
from lab.inference.over_classes import mean_over_classes
from lab.inference.paired import difference
from tests.inference.test_over_classes import SIZES

TWINS = Path(__file__).with_name("twins.npz")
"""Eight trainings of one configuration that differ in their seed: smooth_ap on `letters`, small_cnn, 80 steps.

vectors: int8 [8 600 32], test images of 100 classes on their 32 principal axes. labels: int16 [600].
"""


def plain_interval(before, after, labels):
    """The interval by loops: classes by `mean_over_classes`, trainings by Welch's t with half of the rest taken off."""
    mean = float(np.mean(after) - np.mean(before))
    of_classes = mean_over_classes(np.mean(after, axis=0) - np.mean(before, axis=0), labels)
    total, rest, squares = 0.0, 0.0, 0.0
    for trainings in (before, after):
        means = [sum(values) / len(values) for values in trainings]
        variance = (
            sum((one - sum(means) / len(means)) ** 2 for one in means)
            / (len(means) - 1)
            / len(means)
        )
        total += variance
        squares += variance**2 / (len(means) - 1)
        for name in set(labels):
            parts = []
            for values, own in zip(trainings, means, strict=True):
                away = [
                    value - own
                    for value, label in zip(values, labels, strict=True)
                    if label == name
                ]
                parts.append(sum(away) / len(values))
            centre = sum(parts) / len(parts)
            rest += sum((part - centre) ** 2 for part in parts) / (len(parts) - 1) / len(parts)
    half = stats.t.ppf(0.975, total**2 / squares) * math.sqrt(max(0.0, total - rest / 2))
    low = mean - math.hypot(of_classes.mean - of_classes.low, half)
    return mean, low, mean + math.hypot(of_classes.high - of_classes.mean, half)


def trained(chance, labels, count, of_training, noise=0.5):
    """Scores [s q] of `count` trainings, each with a mean of its own and a taste for some classes."""
    classes = labels.max() + 1
    alike = of_training * chance.normal(size=(count, 1))
    tastes = 3 * of_training * chance.normal(size=(count, classes))[:, labels]
    return alike + tastes + noise * chance.normal(size=(count, len(labels)))


@pytest.mark.parametrize("seed", range(4))
def test_it_is_that_of_plain_loops(seed):
    chance = np.random.default_rng(seed)
    labels = np.repeat(np.arange(9), chance.integers(1, 9, 9))
    before, after = trained(chance, labels, 3, 0.2), trained(chance, labels, 2 + seed, 0.2)
    found = method_difference(before, after, labels)
    assert (found.mean, found.low, found.high) == pytest.approx(
        plain_interval(before, after, labels.tolist())
    )
    assert (found.queries, found.classes, found.trainings) == (len(labels), 9, (3, 2 + seed))
    back = method_difference(after, before, labels)
    assert (back.low, back.high) == pytest.approx((-found.high, -found.low))


def test_one_training_of_a_method_or_few_classes_give_no_interval():
    chance = np.random.default_rng(0)
    labels = np.repeat(np.arange(8), 5)
    alone = method_difference(np.zeros((1, 40)), 1 + 0.01 * chance.random((3, 40)), labels)
    assert (
        math.isnan(alone.low)
        and not alone.known
        and "one training of a method is too few" in str(alone)
    )
    few = method_difference(np.zeros((3, 40)), np.ones((3, 40)), labels % 5)
    assert not few.known and "5 classes are too few" in str(few)
    with pytest.raises(ValueError, match="No query has a score in every training"):
        method_difference([[np.nan, 1], [1, 1]], [[1, np.nan], [1, 1]], [0, 1])
    with pytest.raises(ValueError, match="a class and a score in every training"):
        method_difference([[0, 1]], [[1, 1, 1]], [0, 1])


def test_a_query_without_a_score_in_one_training_does_not_count():
    chance = np.random.default_rng(1)
    labels = np.repeat(np.arange(8), 5)
    before, after = trained(chance, labels, 3, 0.1), trained(chance, labels, 3, 0.1)
    less = [scores[:, 1:] for scores in (before, after)]
    before[2, 0] = np.nan
    found, same = method_difference(before, after, labels), method_difference(*less, labels[1:])
    assert (found.mean, found.low, found.high) == (same.mean, same.low, same.high)


@pytest.mark.slow
@pytest.mark.parametrize("trainings", [2, 3, 5])
@pytest.mark.parametrize("classes", [8, 40])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("of_training", [0.0, 0.05, 1.0])
def test_nothing_is_claimed_of_luck_more_often_than_it_says(trainings, classes, sizes, of_training):
    """5 % is promised; of 200, two standard errors are 3 %."""
    chance, claimed = np.random.default_rng(trainings * classes), 0
    for _ in range(200):
        labels = np.repeat(np.arange(classes), SIZES[sizes](chance, classes).astype(int))
        before, after = (
            trained(chance, labels, trainings, of_training),
            trained(chance, labels, trainings, of_training),
        )
        found = method_difference(before, after, labels)
        claimed += found.low > 0 or found.high < 0
    assert claimed / 200 <= 0.08


def test_a_difference_of_methods_is_found():
    chance = np.random.default_rng(5)
    labels = np.repeat(np.arange(30), 6)
    claimed = 0
    for _ in range(40):
        before, after = trained(chance, labels, 3, 0.02), 0.15 + trained(chance, labels, 3, 0.02)
        claimed += method_difference(before, after, labels).low > 0
    assert claimed >= 30


@pytest.fixture(scope="module")
def twins():
    """Score to float64 [8 q], and labels [q]."""
    stored = np.load(TWINS)
    measured = [
        lab.evaluate(vectors.astype(np.float32), stored["labels"]) for vectors in stored["vectors"]
    ]
    values = {
        score: np.stack([one.per_query[score] for one in measured]) for score in ("r@1", "MAP@R")
    }
    return values, stored["labels"]


@pytest.mark.parametrize("score", ["r@1", "MAP@R"])
def test_twins_differ_as_networks_and_not_as_methods(twins, score):
    """Of 28 pairs of networks many differ on these classes. No two trainings make a method; groups seldom differ."""
    values, labels = twins[0][score], twins[1]
    pairs = list(itertools.combinations(range(8), 2))
    assert len(pairs) == 28
    networks = [difference(values[one], values[other], labels) for one, other in pairs]
    assert sum(found.low > 0 or found.high < 0 for found in networks) >= 6, (
        "these networks do differ"
    )
    single = [method_difference(values[[one]], values[[other]], labels) for one, other in pairs]
    assert not any(found.known for found in single)
    for count in (2, 3, 4):
        claimed = total = 0
        for group in itertools.combinations(range(8), count):
            for rival in itertools.combinations(sorted({*range(8)} - {*group}), count):
                if rival > group:
                    found = method_difference(values[list(group)], values[list(rival)], labels)
                    claimed += found.low > 0 or found.high < 0
                    total += 1
        assert total == {2: 210, 3: 280, 4: 35}[count]
        assert claimed <= 2 / 28 * total
