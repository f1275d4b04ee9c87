"""Learnt and forgotten, against a plain loop over every query."""

import numpy as np

from lab.inspect.learning import Learning

STEPS = (100, 200, 300, 400)


def test_it_says_what_a_plain_loop_says():
    random = np.random.default_rng(3)
    items, right = random.permutation(500)[:60], random.random((4, 60)) < 0.5
    learning = Learning(np.array(STEPS), items, right)
    learnt, forgotten = {}, {}
    for row, item in enumerate(items.tolist()):
        seen = right[:, row].tolist()
        since = next(at for at in range(len(STEPS)) if len(set(seen[at:])) == 1)
        if seen[-1] and since:
            learnt[item] = STEPS[since]
        if not seen[-1] and any(seen):
            forgotten[item] = STEPS[since]
    assert len(learnt) > 3 and len(forgotten) > 3
    for found, expected in ((learning.learnt, learnt), (learning.forgotten, forgotten)):
        assert dict(zip(*map(np.ndarray.tolist, found), strict=True)) == expected
        assert (np.diff(found[1]) <= 0).all(), "the latest first"


def test_nothing_was_learnt_where_nothing_changed():
    always = Learning(np.array(STEPS), np.arange(3), np.ones((4, 3), bool))
    assert not any(len(part) for part in (*always.learnt, *always.forgotten))
