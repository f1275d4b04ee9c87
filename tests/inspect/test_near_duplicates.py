"""Pairs of like images against a plain loop."""

import numpy as np

from lab.inspect import near_duplicates as module
from lab.inspect.near_duplicates import near_duplicates


def test_pairs_are_those_of_a_plain_loop_across_blocks(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 7)
    vectors = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    vectors[[5, 33]] = vectors[2]
    vectors[9] = 0
    unit = [row / max(np.linalg.norm(row), 1e-30) for row in vectors]
    wanted = {(i, j) for i in range(40) for j in range(i + 1, 40) if unit[i] @ unit[j] >= 0.9}
    pairs, score = near_duplicates(vectors, 0.9)
    assert {*map(tuple, pairs.tolist())} == wanted
    assert {(2, 5), (2, 33), (5, 33)} <= wanted and (np.diff(score) <= 0).all() and score[0] <= 1
