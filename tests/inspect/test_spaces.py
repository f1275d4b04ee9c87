"""Two spaces side by side, against plain loops."""

import numpy as np
import pytest

from lab.inspect import spaces


@pytest.fixture
def random():
    return np.random.default_rng(3)


def test_overlap_counts_the_neighbours_that_stayed(random):
    one, other = (np.stack([random.permutation(50)[:7] for _ in range(20)]) for _ in range(2))
    expected = [
        sum(neighbour in b for neighbour in a) / 7
        for a, b in zip(one.tolist(), other.tolist(), strict=True)
    ]
    np.testing.assert_allclose(spaces.overlap(one, other), expected)
    with pytest.raises(ValueError, match="cannot be compared"):
        spaces.overlap(one, other[:, :3])


@pytest.mark.parametrize("stretch", [False, True])
def test_a_turned_mirrored_and_shifted_map_lies_on_the_first(random, stretch):
    first = random.normal(size=(40, 2)) * [3, 1]
    angle = 1.1
    turn = np.array([[np.cos(angle), np.sin(angle)], [np.sin(angle), -np.cos(angle)]])
    second = (2 if stretch else 1) * first @ turn + [5, -3]
    np.testing.assert_allclose(spaces.turned(second, first, stretch), first, atol=1e-5)


def test_ways_are_in_spreads_of_the_first_map(random):
    before, after = random.normal(size=(2, 25, 2))
    middle = before.mean(0)
    spread = np.sqrt(np.mean([(x - middle[0]) ** 2 + (y - middle[1]) ** 2 for x, y in before]))
    expected = [np.hypot(*(b - a)) / spread for a, b in zip(before, after, strict=True)]
    np.testing.assert_allclose(spaces.ways(before, after), expected)
