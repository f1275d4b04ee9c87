"""The paired interval against a plain script, and what it covers."""

from __future__ import annotations

import random

import numpy as np
import pytest

from lab.evaluation.paired import difference, shares


def plainly(change: list[float], labels: list[int], draws: int) -> tuple[float, float]:
    """Draw classes, then queries of each, with the random numbers of Python; no array is indexed twice."""
    chance = random.Random(1)
    by_class = [[c for c, label in zip(change, labels, strict=True) if label == one] for one in sorted(set(labels))]
    means = []
    for _ in range(draws):
        drawn = []
        for _ in by_class:
            mine = chance.choice(by_class)
            drawn += [chance.choice(mine) for _ in mine]
        means.append(sum(drawn) / len(drawn))
    means.sort()
    return means[round(0.025 * draws)], means[round(0.975 * draws) - 1]


def test_the_interval_is_that_of_a_plain_loop():
    chance = np.random.default_rng(0)
    labels = chance.permutation(np.repeat(np.arange(12), chance.integers(2, 9, 12)))
    of_class = chance.normal(0.05, 0.1, 12)
    before = chance.random(len(labels))
    after = before + of_class[labels] + chance.normal(0, 0.2, len(labels))
    found = difference(before, after, labels)
    low, high = plainly((after - before).tolist(), labels.tolist(), 20_000)
    assert found.mean == pytest.approx((after - before).mean()) and (found.queries, found.classes) == (len(labels), 12)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.05 * (high - low))
    assert difference(before, after, labels) == found, "the same draws"
    assert difference(before, after, labels, seed=1) != found


def test_classes_that_go_together_make_it_wide():
    """A thousand queries of two classes say no more than two."""
    labels = np.repeat([0, 1], 500)
    wide = difference(np.zeros(1000), labels.astype(float), labels)
    narrow = difference(np.zeros(1000), labels.astype(float), np.arange(1000))
    assert wide.high - wide.low == 1 and narrow.high - narrow.low < 0.1


def test_it_holds_the_truth_as_often_as_it_says():
    """200 samples of 30 classes of 5 queries whose true difference is 0.1: about 95 % of intervals hold it."""
    chance, held = np.random.default_rng(3), 0
    labels = np.repeat(np.arange(30), 5)
    for _ in range(200):
        change = 0.1 + chance.normal(0, 0.2, 30)[labels] + chance.normal(0, 0.3, 150)
        found = difference(np.zeros(150), change, labels)
        held += found.low <= 0.1 <= found.high
    assert 0.92 <= held / 200 <= 1


def test_queries_that_do_not_count_are_left_out_and_words_say_what_holds():
    found = difference([0.1, np.nan, 0.2, 0], [0.1, 1, np.nan, 0], [0, 0, 1, 2])
    assert (found.mean, found.queries, found.classes) == (0, 2, 2)
    assert str(found) == "+0.000, 95 % interval +0.000 to +0.000: cannot be told from chance"
    assert str(difference([1] * 9, [0] * 9, range(9))).endswith("-1.000 to -1.000: lower")
    with pytest.raises(ValueError, match="No query has both"):
        difference([np.nan], [1], [0])
    with pytest.raises(ValueError, match="two scores and a class"):
        difference([0, 1], [1, 1], [0])


def test_a_share_of_pairs_is_that_of_a_difference_where_every_query_has_as_many():
    labels = np.repeat(np.arange(8), 4)
    parts = np.random.default_rng(0).integers(0, 6, (32, 2))
    found, plain = shares(parts, np.full((32, 2), 5), labels), difference(np.zeros(32), parts[:, 1] / 5, labels)
    assert found[1] == pytest.approx([plain.mean, plain.low, plain.high])
    assert np.isnan(shares(parts, np.zeros((32, 2)), labels)).all(), "of nothing there is no share"
