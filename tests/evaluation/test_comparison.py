"""Two answers to one query, and what knows where an image stands."""

from __future__ import annotations

import numpy as np
import pytest

import lab.search
from lab.core.results import EmbeddingSet, Evidence
from lab.evaluation.collection import Collection, Places, per_query
from lab.evaluation.comparison import OtherRanking, changes, only, ranks, reranked


def collection(seed: int, queries: int = 30) -> Collection:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(queries, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    embedded = EmbeddingSet(vectors, np.arange(queries) % 6, np.arange(queries) * 3)
    return Collection(None, embedded, embedded)


def test_one_query_of_a_ranking_is_that_query():
    whole = collection(0)
    ranking = (
        lab.search.create("exact", k=10).build(whole.gallery).rank(whole.query, same_source=True)
    )
    together = per_query(Evidence(ranking, whole.query, whole.gallery))
    for row in range(len(whole.query)):
        evidence = whole.ask(int(whole.query.items[row]))
        single = Evidence(only(ranking, row), evidence.query, whole.gallery)
        assert np.array_equal(single.ranking.positives(0)[1], ranking.positives(row)[1])
        assert {name: values[0] for name, values in per_query(single).items()} == {
            name: values[row] for name, values in together.items()
        }


def test_known_ranks_are_true():
    whole = collection(1)
    evidence = whole.ask(6)
    scores = whole.gallery.vectors @ evidence.query.vectors[0]
    order = [
        int(whole.gallery.items[p])
        for p in np.argsort(-scores, kind="stable")
        if whole.gallery.items[p] != 6
    ]
    known = ranks(evidence)
    assert known == {item: rank for rank, item in enumerate(order, start=1)}


def test_changes_leave_out_what_no_metric_counts():
    one, other = collection(2), collection(3)
    labels = one.query.labels.copy()
    labels[4] = 99
    alone = EmbeddingSet(one.query.vectors, labels, one.query.items)
    whole = Collection(None, alone, alone)
    measured = whole.measure()["mAP"]
    items, before, after = changes(whole, other, measured, other.measure()["mAP"])
    assert 12 not in items and len(items) == 29
    assert before == pytest.approx(np.delete(measured, 4))


def test_every_answer_measures_the_columns_that_it_promises():
    whole = collection(5)
    for answer in (whole, OtherRanking("b", whole), reranked("contextual", whole)):
        assert list(answer.measure()) == answer.columns
    kept = Collection(None, whole.query, whole.gallery, stored={"mAP": np.zeros(30)})
    assert kept.columns == whole.columns, "few pairs are measured anew"


@pytest.mark.parametrize("items", [[2, 5, 9], [9, 2, 5]])
def test_images_are_found_by_their_numbers(items):
    items = np.array(items)
    places = Places(items)
    assert [places.of(int(item)) for item in items] == [0, 1, 2] == places.of_all(items).tolist()
    assert [places.of(one) for one in (None, "5", 5.0, 1, 7, 10, 10**30, -(10**30), [5])] == [
        None
    ] * 9
    assert places.of_all(np.array([1, 5, 10])).tolist() == [-1, items.tolist().index(5), -1]
