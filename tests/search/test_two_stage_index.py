"""Search by class anchors."""

import numpy as np
import pytest

from lab import search
from lab.core.results import UNRANKED


def test_visits_only_the_nearest_files(make_set, anchors):
    gallery, query = make_set(n=120), make_set(n=25, seed=7)
    unit = anchors / np.linalg.norm(anchors, axis=1, keepdims=True)
    file_of = (gallery.vectors @ unit.T).argmax(1)
    for probes in (1, 3, 9):
        ranking = (
            search.create("two_stage", k=120, probes=probes)
            .build(gallery, anchors=anchors)
            .rank(query, False)
        )
        opened = np.argsort(-(query.vectors @ unit.T), axis=1)[:, :probes]
        for i in range(25):
            inside = np.isin(file_of, opened[i])
            found = ranking.neighbours[i][ranking.neighbours[i] >= 0]
            assert set(found) == set(np.flatnonzero(inside))
            assert (
                ranking.retrieved[i] == inside.sum() and ranking.comparisons[i] == inside.sum() + 9
            )
            items, ranks = ranking.positives(i)
            np.testing.assert_array_equal(ranks == UNRANKED, ~inside[items])
            place = {int(j): p + 1 for p, j in enumerate(found)}
            assert all(
                place[int(j)] == r for j, r in zip(items, ranks, strict=True) if r != UNRANKED
            )


def test_bad_anchors(make_set, anchors):
    gallery = make_set(n=30)
    with pytest.raises(ValueError, match="needs the class anchors"):
        search.create("two_stage").build(gallery)
    with pytest.raises(ValueError, match="anchors have 5 dimensions, the gallery 8"):
        search.create("two_stage").build(gallery, anchors=anchors[:, :5])
    with pytest.raises(ValueError, match="at most the number of anchors, 9, got 10"):
        search.create("two_stage", probes=10).build(gallery, anchors=anchors)
    with pytest.raises(ValueError, match="Row 0 of the anchor vectors holds NaN"):
        search.create("two_stage").build(gallery, anchors=anchors * np.nan)
