"""The difference of two networks on the same queries."""

from __future__ import annotations

import numpy as np
import pytest

from lab.inference.over_classes import mean_over_classes
from lab.inference.paired import difference


def test_a_difference_is_a_mean_over_classes():
    chance = np.random.default_rng(0)
    labels = chance.permutation(np.repeat(np.arange(12), chance.integers(2, 9, 12)))
    before, after = chance.random(len(labels)), chance.random(len(labels))
    found, mean = difference(before, after, labels), mean_over_classes(after - before, labels)
    assert (found.mean, found.low, found.high) == (mean.mean, mean.low, mean.high)
    assert (found.queries, found.classes) == (len(labels), 12)
    back = difference(after, before, labels)
    assert (back.low, back.high) == pytest.approx((-found.high, -found.low))


def test_queries_that_do_not_count_are_left_out_and_words_say_what_holds():
    found = difference([0.1, np.nan, 0.2, 0], [0.1, 1, np.nan, 0], [0, 0, 1, 2])
    assert (found.mean, found.queries, found.classes) == (0, 2, 2)
    assert str(found) == "+0.000; 2 classes are too few for an interval"
    assert str(difference([1] * 9, [0] * 9, range(9))).endswith(
        "-1.000 to -1.000: lower on such classes"
    )
    assert str(difference([1] * 9, [1] * 9, range(9))).endswith(
        "+0.000: no difference can be told on such classes"
    )
    with pytest.raises(ValueError, match="No query has both"):
        difference([np.nan], [1], [0])
    with pytest.raises(ValueError, match="two scores and a class"):
        difference([0, 1], [1, 1], [0])
