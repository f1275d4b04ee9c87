"""The parts rankings are made of: keys, judged relevance, tiles."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lab import metrics, search
from lab.core.results import EASY, HARD, JUNK, Evidence, Relevance
from lab.kernels import sort_keys
from lab.search import _ranking

floats = st.floats(-4, 4, width=32)


@given(
    st.lists(
        st.tuples(floats, st.integers(0, 2**32 - 2)),
        min_size=1,
        max_size=30,
        unique_by=lambda p: p[1],
    )
)
def test_keys_order_by_score_then_position(pairs):
    scores, positions = torch.tensor([s for s, _ in pairs]), torch.tensor([p for _, p in pairs])
    keys = sort_keys.pack(scores, positions)
    by_key = keys.argsort(descending=True).tolist()
    assert by_key == sorted(range(len(pairs)), key=lambda i: (-pairs[i][0], pairs[i][1]))
    back, places = sort_keys.unpack(keys)
    assert torch.equal(back, scores) and torch.equal(places, positions)


@pytest.mark.parametrize("rows,columns", [(1, 1), (7, 16), (64, 33), (1000, 1000)])
def test_tiles_do_not_show(rows, columns, make_set, monkeypatch):
    gallery = make_set(n=31 if rows == 1 else 97, classes=5)
    whole = search.create("exact", k=20).build(gallery).rank(gallery, True)
    monkeypatch.setattr(_ranking, "QUERY_ROWS", rows)
    monkeypatch.setattr(_ranking, "ITEM_ROWS", columns)
    tiled = search.create("exact", k=20).build(gallery).rank(gallery, True)
    for name in vars(whole):
        np.testing.assert_array_equal(getattr(tiled, name), getattr(whole, name), err_msg=name)


def test_judged_relevance(make_set):
    gallery, query = make_set(n=40), make_set(n=3, seed=4)
    relevant = Relevance(
        np.array([0, 3, 3, 6]), np.array([5, 9, 2, 7, 0, 39]), np.array([EASY, HARD, JUNK] * 2)
    )
    ranking = search.create("exact", k=40).build(gallery).rank(query, False, relevant)
    for i, mine in enumerate(([5, 9, 2], [], [7, 0, 39])):
        items, ranks = ranking.positives(i)
        assert set(items) == set(mine)
        np.testing.assert_array_equal(ranking.neighbours[i][ranks - 1], items)
    grade = dict(zip(relevant.items, relevant.grades, strict=True))
    assert all(
        grade[item] == g
        for item, g in zip(ranking.positive_items, ranking.positive_grades, strict=True)
    )
    assert (
        metrics.create("revisited_map", protocol="hard")(Evidence(ranking, query, gallery)).excluded
        == 1
    )


@pytest.mark.parametrize(
    ("relevant", "message"),
    [
        (
            Relevance(np.array([0, 1]), np.array([1]), np.array([0])),
            "must be 4 numbers rising from 0 to 1",
        ),
        (
            Relevance(np.array([0, 1, 0, 1]), np.array([1]), np.array([0])),
            "must be 4 numbers rising",
        ),
        (
            Relevance(np.array([0, 1, 1, 1]), np.array([40]), np.array([0])),
            "positions 0..39, got 40..40",
        ),
        (Relevance(np.array([0, 1, 1, 1]), np.array([4]), np.array([3])), "needs a grade"),
        (Relevance(np.array([0, 1, 1, 1]), np.array([4]), np.array([], int)), "needs a grade"),
        (
            Relevance(np.array([0, 1, 1, 3]), np.array([4, 4, 4]), np.zeros(3, int)),
            "two judgements of .* 4;",
        ),
    ],
)
def test_bad_judgements(relevant, message, make_set):
    with pytest.raises(ValueError, match=message):
        search.create("exact").build(make_set(n=40)).rank(make_set(n=3, seed=4), False, relevant)
