"""Slices by what is known of the images, against plain loops; and images that two splits share."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import lab.search
from lab.core.results import EmbeddingSet
from lab.inspect.data_checks import leaks
from lab.inspect.slices import slices_of, worst_slices


@pytest.fixture
def known():
    random = np.random.default_rng(0)
    columns = {name: random.choice(list(values), 400) for name, values in (("shop", "abc"), ("light", "xy"))}
    columns["light"][:20] = ""
    bad = (columns["shop"] == "b") & (columns["light"] == "y")
    values = np.clip(random.normal(np.where(bad, 0.2, 0.7), 0.1), 0, 1)
    values[::17] = np.nan
    return values, columns


def test_a_field_is_sliced_with_intervals(known):
    values, columns = known
    found = slices_of(values, "shop", columns["shop"])
    assert [one.mean for one in found] == sorted(one.mean for one in found) and len(found) == 3
    for one in found:
        own = values[(columns["shop"] == one.where[0][1]) & ~np.isnan(values)]
        low, high = stats.t.interval(0.95, len(own) - 1, own.mean(), stats.sem(own))
        assert (one.queries, one.mean) == (len(own), pytest.approx(own.mean()))
        assert (one.low, one.high) == (pytest.approx(max(0, low)), pytest.approx(min(1, high)))
    assert {one.where[0][1] for one in slices_of(values, "light", columns["light"])} == {"x", "y"}


def test_the_planted_slice_is_the_worst(known):
    values, columns = known
    found = worst_slices(values, columns)
    assert found.slices[0].where == (("shop", "b"), ("light", "y")) and found.slices[0].high < found.overall
    assert found.tried == 3 + 2 + 6 and found.overall == pytest.approx(np.nanmean(values))
    own = values[(columns["shop"] == "b") & (columns["light"] == "y") & ~np.isnan(values)]
    _, high = stats.t.interval(1 - 0.05 / 11, len(own) - 1, own.mean(), stats.sem(own))
    assert found.slices[0].high == pytest.approx(high), "as wide as eleven looks ask for"
    assert not worst_slices(values, columns, least=1000).slices
    with pytest.raises(ValueError, match="at least two queries"):
        worst_slices(values, columns, least=1)


def test_two_fields_are_listed_only_where_they_are_worse_than_each_alone(known):
    values, columns = known
    alone = {one.where[0]: one.mean for one in worst_slices(values, columns).slices if len(one.where) == 1}
    both = [one for one in worst_slices(values, columns).slices if len(one.where) == 2]
    assert both and len(both) < 6
    assert all(one.mean < min(alone[part] for part in one.where) for one in both)


def test_leaks_are_the_pairs_above_a_similarity():
    random = np.random.default_rng(1)
    rows = random.normal(size=(40, 6)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    train = rows.copy()
    train[8:] = random.normal(size=(32, 6))
    train /= np.linalg.norm(train, axis=1, keepdims=True)
    ranking = (
        lab.search.create("exact", k=40)
        .build(EmbeddingSet(train, np.arange(40), np.arange(40)))
        .rank(EmbeddingSet(rows, np.arange(40), np.arange(100, 140)), same_source=False)
    )
    found, positions, scores = leaks(ranking, 0.9)
    pairs = {(r, c) for r in range(40) for c in range(40) if rows[r] @ train[c] >= 0.9}
    assert set(zip(found.tolist(), positions.tolist(), strict=True)) == pairs and len(pairs) >= 8
    assert (np.diff(scores) <= 0).all()
