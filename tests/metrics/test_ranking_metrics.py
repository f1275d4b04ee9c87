"""Ranking metrics against plain loops, scikit-learn, and rankings small enough to draw."""

import numpy as np
import pytest

from lab import metrics
from lab.core.results import EASY, HARD, JUNK, UNRANKED, EmbeddingSet, Evidence, Ranking


def one_query(ranks, gallery=10, retrieved=None, grades=None):
    """A single query whose positives have these ranks."""
    lost = [rank == UNRANKED for rank in ranks]
    items = np.arange(len(ranks))
    nothing = EmbeddingSet(
        np.zeros((1, 2), np.float32), np.zeros(1, np.int64), np.zeros(1, np.int64)
    )
    ranking = Ranking(
        np.full((1, 1), -1), np.full((1, 1), np.nan, np.float32), np.zeros(1, np.int64), np.zeros(gallery, np.int64),
        np.array([-1]), np.array([0, len(ranks)]), items, np.array(ranks, np.int64),
        np.array([gallery - sum(lost) if retrieved is None else retrieved]), np.array([gallery]),
        None if grades is None else np.array(grades, np.int8),
    )  # fmt: skip
    return Evidence(ranking, nothing, nothing)


def value(name, evidence, **knobs):
    (found,) = metrics.create(name, **knobs)(evidence).values.values()
    return found


@pytest.mark.parametrize(
    ("name", "knobs", "expected"),
    [
        ("hit_rate_at_k", {"k": (1,)}, 0),
        ("hit_rate_at_k", {"k": (2,)}, 1),
        ("recall_at_k", {"k": (1,)}, 0),
        ("recall_at_k", {"k": (3,)}, 2 / 3),
        ("precision_at_k", {"k": (4,)}, 2 / 4),
        ("precision_at_k", {"k": (20,)}, 3 / 20),
        ("r_precision", {}, 2 / 3),
        ("map_at_r", {}, (1 / 2 + 2 / 3) / 3),
        ("mean_average_precision", {}, (1 / 2 + 2 / 3 + 3 / 6) / 3),
        ("mean_reciprocal_rank", {}, 1 / 2),
        ("revisited_map", {}, ((0 + 1 / 2) / 2 + (1 / 2 + 2 / 3) / 2 + (2 / 5 + 3 / 6) / 2) / 3),
    ],
)
def test_by_hand(name, knobs, expected):
    assert value(name, one_query([2, 3, 6]), **knobs) == pytest.approx(expected)


def test_a_cut_ranking_states_its_denominator():
    cut = one_query([1, 3, UNRANKED, UNRANKED])
    assert value("mean_average_precision", cut) == pytest.approx((1 + 2 / 3) / 4)
    assert value("mean_average_precision", cut, denominator="retrieved") == pytest.approx(
        (1 + 2 / 3) / 2
    )
    names = [
        list(metrics.create("mean_average_precision", denominator=d)(cut).values)
        for d in ("positives", "retrieved")
    ]
    assert names == [["mAP"], ["mAP (retrieved)"]]
    nothing = one_query([UNRANKED, UNRANKED])
    for name in (
        "mean_average_precision",
        "mean_reciprocal_rank",
        "hit_rate_at_k",
        "map_at_r",
        "revisited_map",
    ):
        found = metrics.create(name)(nothing)
        assert set(found.values.values()) == {0.0} and found.excluded == 0
    assert value("mean_average_precision", nothing, denominator="retrieved") == 0


def test_no_positive_is_excluded_and_counted():
    for name in metrics.names():
        if metrics.get(name).needs == "ranking":
            found = metrics.create(name)(one_query([]))
            assert found.excluded == 1 and np.isnan(list(found.values.values())).all()


def revisited_by_loops(order, positives, junk):
    """Average precision of one query as the protocol's text says it: drop junk, then add trapezoids."""
    kept = [item for item in order if item not in junk]
    found, area = 0, 0.0
    for place, item in enumerate(kept):
        if item in positives:
            before = 1.0 if place == 0 else found / place
            found += 1
            area += (before + found / (place + 1)) / 2 / len(positives)
    return area


@pytest.mark.parametrize("protocol", ["easy", "medium", "hard"])
def test_revisited_protocols(protocol, make_ranking):
    rng = np.random.default_rng(8)
    query, gallery = rng.normal(size=(12, 4)), rng.normal(size=(40, 4))
    grade = rng.integers(-1, 3, 40)  # -1: irrelevant
    relevant = [set(rng.permutation(np.flatnonzero(grade >= 0))[:15]) for _ in range(12)]
    labels = np.zeros(12, np.int64), np.zeros(40, np.int64)
    ranking = make_ranking(query, gallery, *labels, relevant=relevant, grades=grade)
    embeddings = EmbeddingSet(query, labels[0], np.arange(12))
    found = metrics.create("revisited_map", protocol=protocol)(
        Evidence(ranking, embeddings, embeddings)
    )
    wanted = {"easy": {EASY}, "medium": {EASY, HARD}, "hard": {HARD}}[protocol]
    for i in range(12):
        positives = {j for j in relevant[i] if grade[j] in wanted}
        junk = relevant[i] - positives
        expected = revisited_by_loops(ranking.neighbours[i], positives, junk)
        assert found.per_query[f"mAP-{protocol[0].upper()}"][i] == pytest.approx(expected)


def test_junk_never_counts_as_positive():
    graded = one_query([1, 2, 3, 4], grades=[JUNK, EASY, JUNK, HARD])
    # without junk the positives are first and second
    assert value("mean_average_precision", graded) == 1.0
    assert value("recall_at_k", graded, k=(1,)) == 0.5
    assert value("revisited_map", graded, protocol="hard") == 1.0
