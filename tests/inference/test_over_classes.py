"""The interval of a mean over classes: against plain loops, and what it covers where the truth is known."""

import itertools
import math

import numpy as np
import pytest

from lab.inference.over_classes import FEWEST, mean_over_classes


def plain_share(values, labels, mean):
    """How many of all choices of signs give a sum at least as far from 0 as the one that was seen."""
    sums = {}
    for value, label in zip(values, labels, strict=True):
        sums[label] = sums.get(label, 0.0) + value - mean
    seen = abs(sum(sums.values()))
    as_far = [
        abs(sum(sign * one for sign, one in zip(signs, sums.values(), strict=True))) >= seen - 1e-12
        for signs in itertools.product((1, -1), repeat=len(sums))
    ]
    return sum(as_far) / len(as_far)


@pytest.mark.parametrize("seed", range(6))
def test_the_ends_are_where_a_plain_loop_begins_to_refuse(seed):
    chance = np.random.default_rng(seed)
    labels = np.repeat(np.arange(8), chance.integers(1, 9, 8))
    values = chance.normal(size=8)[labels] + chance.normal(size=len(labels))
    found = mean_over_classes(values, labels)
    assert found.mean == pytest.approx(values.mean()) and (found.values, found.classes) == (
        len(labels),
        8,
    )
    for end, away in ((found.low, -1), (found.high, 1)):
        step = 1e-6 * (found.high - found.low)
        assert plain_share(values, labels, end - away * step) > 0.05
        assert plain_share(values, labels, end + away * step) <= 0.05


SIZES = {
    "equal": lambda chance, count: np.full(count, 10),
    "log-normal": lambda chance, count: np.maximum(
        1, np.round(10 * np.exp(chance.normal(size=count) - 0.5))
    ),
    "Pareto": lambda chance, count: np.minimum(
        2_000, np.round(4 * (1 + chance.pareto(1.2, size=count)))
    ),
}
"""Images of a class: as people collect them, a few classes have most."""


def false_claims(sizes, count, of_class, repeats):
    """How often a difference is claimed between two networks that differ by luck alone."""
    chance, claimed = np.random.default_rng(count), 0
    for _ in range(repeats):
        labels = np.repeat(np.arange(count), SIZES[sizes](chance, count).astype(int))
        change = of_class * chance.normal(size=count)[labels] + chance.normal(size=len(labels))
        found = mean_over_classes(change, labels)
        claimed += found.low > 0 or found.high < 0
    return claimed / repeats


@pytest.mark.slow
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("count", [6, 8, 10, 20, 100])
@pytest.mark.parametrize("of_class", [0.0, 3.0], ids=["queries alone", "classes go together"])
def test_nothing_is_claimed_of_luck_more_often_than_it_says(sizes, count, of_class):
    """5 % is promised, and of six classes 1 / 32 can be claimed. Of 1,000 draws two standard errors are 1.4 %."""
    least, most = (0.02, 0.042) if count == FEWEST else (0.03, 0.07)
    assert least <= false_claims(sizes, count, of_class, 1_000) <= most


def test_of_fewer_than_six_classes_nothing_is_told():
    labels = np.repeat(np.arange(FEWEST - 1), 100)
    found = mean_over_classes(
        1.0 + 1e-3 * np.random.default_rng(0).normal(size=len(labels)), labels
    )
    assert found.mean == pytest.approx(1, abs=1e-3) and math.isnan(found.low) and found.half is None
    assert not found.low > 0, "so that no sign is claimed"


def test_classes_that_go_together_count_once():
    chance = np.random.default_rng(0)
    one_each = chance.integers(0, 2, 30).astype(float)
    alone, tenfold = (
        mean_over_classes(one_each, range(30)),
        mean_over_classes(np.repeat(one_each, 10), np.repeat(range(30), 10)),
    )
    assert (tenfold.low, tenfold.high) == pytest.approx((alone.low, alone.high))
    assert mean_over_classes(np.repeat(one_each, 10), range(300)).half < alone.half / 2.5


def test_it_moves_and_stretches_with_the_values():
    chance = np.random.default_rng(1)
    values, labels = chance.normal(size=60), chance.integers(0, 15, 60)
    found = mean_over_classes(values, labels)
    moved = mean_over_classes(100 - 3 * values, labels)
    assert (moved.low, moved.high) == pytest.approx((100 - 3 * found.high, 100 - 3 * found.low))
    order = chance.permutation(60)
    again = mean_over_classes(values[order], (labels + 7)[order])
    assert (again.low, again.high) == pytest.approx((found.low, found.high))


def test_equal_values_have_no_width_and_missing_ones_do_not_count():
    found = mean_over_classes([0.25, math.nan] * 8, np.repeat(range(8), 2))
    assert (found.mean, found.low, found.high, found.values, found.classes) == (
        0.25,
        0.25,
        0.25,
        8,
        8,
    )
    assert mean_over_classes([math.nan], [0]).classes == 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("ends", [(math.inf, 1.0), (math.inf, -math.inf)])
def test_infinite_values_have_no_interval(ends):
    found = mean_over_classes([*ends, 1, 2, 3, 4, 5], range(7))
    assert not math.isfinite(found.mean) and math.isnan(found.low) and math.isnan(found.high)


def test_many_classes_agree_with_students_t():
    values = np.random.default_rng(2).normal(size=2_000)
    found = mean_over_classes(values, range(2_000))
    assert found.half == pytest.approx(1.96 * values.std() / 2_000**0.5, rel=0.08)
