"""What holds for every index that the catalogue finds: its rankings against a full sort."""

import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lab import exporters, search
from lab.core.results import UNRANKED, EmbeddingSet
from lab.search._candidates import CandidateIndex

THOROUGH = dict.fromkeys(("faiss_ivf", "faiss_ivf_pq"), {"lists": 4, "probes": 4})
"""Index with inverted lists to the knobs under which it compares a query with every list; all at 1 do so, too."""


def takes_anchors(name):
    """Whether it cannot do without; the inverted files of faiss may have anchors for centroids, or their own."""
    return name == "two_stage"


def build(name, gallery, anchors, **knobs):
    """An index that looks at everything, so that a full sort is the right answer, unless `knobs` say otherwise."""
    among = {"probes": len(anchors)} if takes_anchors(name) else {}
    index = search.create(name, **{"k": 200, **THOROUGH.get(name, {}), **among, **knobs})
    more = {"anchors": anchors[:, : gallery.vectors.shape[1]]} if takes_anchors(name) else {}
    return index.build(gallery, **more)


def sorted_by_loops(query, gallery, own, similarity):
    """Gallery positions of each query by falling score, equal scores (in float32) by position."""
    vectors, items = query.vectors.astype(np.float64), gallery.vectors.astype(np.float64)
    scores = vectors @ items.T
    if similarity == "euclidean":
        scores = 2 * scores - np.square(items).sum(1)
    orders = [np.argsort(-row.astype(np.float32), kind="stable") for row in scores]
    return [[j for j in order if j != own[i]] for i, order in enumerate(orders)]


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
@pytest.mark.parametrize("same_source", [True, False])
@pytest.mark.parametrize("name", search.names())
def test_ranking_is_the_sorted_one(name, same_source, similarity, make_set, anchors):
    gallery = make_set(n=83)
    query = gallery if same_source else make_set(n=30, seed=5)
    if similarity == "euclidean":
        gallery = EmbeddingSet(
            gallery.vectors * (1 + np.arange(83, dtype=np.float32)[:, None] / 83),
            gallery.labels,
            gallery.items,
        )
        query = gallery if same_source else query
    ranking = build(name, gallery, anchors, similarity=similarity).rank(query, same_source)
    own = np.arange(83) if same_source else np.full(30, -1)
    expected = sorted_by_loops(query, gallery, own, similarity)
    np.testing.assert_array_equal(ranking.self_index, own)
    for i, order in enumerate(expected):
        found = ranking.neighbours[i]
        np.testing.assert_array_equal(found[found >= 0], order)
        items, ranks = ranking.positives(i)
        mine = [j for j in order if gallery.labels[j] == query.labels[i]]
        np.testing.assert_array_equal(items, mine)
        np.testing.assert_array_equal(ranks, [order.index(j) + 1 for j in mine])
        pair = query.vectors[i] @ gallery.vectors[order[0]]
        if similarity == "euclidean":
            pair = -np.square(query.vectors[i] - gallery.vectors[order[0]]).sum()
        assert ranking.scores[i, 0] == pytest.approx(pair, abs=2e-6)
        assert (np.diff(ranking.scores[i][found >= 0]) <= 0).all()
    np.testing.assert_array_equal(ranking.retrieved, len(gallery.labels) - same_source)
    assert (ranking.comparisons >= 83).all()
    assert ranking.hits[0].sum() == ranking.num_positives[0]


def test_where_faiss_is_missing_a_sentence_says_so(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "faiss", None)
    calls = [search.create(name).build for name in search.names() if name.startswith("faiss")]
    for call in (*calls, lambda rows: search.FaissFile(tmp_path), exporters.Faiss().export):
        with pytest.raises(
            ValueError, match="needs faiss, which is not installed: pip install faiss-cpu"
        ):
            call(EmbeddingSet(np.eye(4)))


@pytest.mark.parametrize("name", search.names())
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 40), distinct=st.integers(1, 6))
def test_duplicates_are_ordered_by_position(name, seed, n, distinct, make_set, anchors):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(distinct, 8)).astype(np.float32)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    copies = rng.integers(0, distinct, n)
    gallery = EmbeddingSet(points[copies], rng.integers(0, 3, n), rng.permutation(1000)[:n])
    knobs = dict.fromkeys(THOROUGH.get(name, ()), 1)
    ranking = build(name, gallery, anchors, **knobs).rank(gallery, True)
    expected = sorted_by_loops(gallery, gallery, np.arange(n), "cosine")
    for i, order in enumerate(expected):
        found = ranking.neighbours[i]
        np.testing.assert_array_equal(found[found >= 0], order)
        items, ranks = ranking.positives(i)
        assert i not in items
        np.testing.assert_array_equal(np.array(order)[ranks - 1], items)


@pytest.mark.parametrize("name", search.names())
def test_single_uploads(name, make_set, anchors):
    gallery = make_set(n=50)
    index = build(name, gallery, anchors)
    scores, positions = index.neighbours(gallery.vectors[3], k=5)
    assert (
        scores.shape == positions.shape == (1, 5)
        and scores.dtype == np.float32
        and positions[0, 0] == 3
    )
    _, many = index.neighbours(gallery.vectors[:20], k=5)
    full = sorted_by_loops(gallery, gallery, np.full(50, -1), "cosine")
    np.testing.assert_array_equal(many, [order[:5] for order in full[:20]])
    scores, positions = index.neighbours(gallery.vectors[:2], k=60)
    assert (
        (positions[:, 50:] == -1).all()
        and np.isnan(scores[:, 50:]).all()
        and (positions[:, :50] >= 0).all()
    )
    assert index.neighbours(gallery.vectors[:2].astype(np.float64))[0].shape == (2, index.knobs.k)


def bad(gallery, **changes):
    fields = {"vectors": gallery.vectors, "labels": gallery.labels, "items": gallery.items}
    return EmbeddingSet(**{**fields, **changes})


BAD_SETS = {
    "is empty": lambda g: bad(g, vectors=g.vectors[:0], labels=g.labels[:0], items=g.items[:0]),
    "Row 7 of the .* holds NaN": lambda g: bad(
        g, vectors=np.where(np.arange(40)[:, None] == 7, np.nan, g.vectors)
    ),
    "Row 9 of the .* holds NaN or inf": lambda g: bad(
        g, vectors=np.where(np.arange(40)[:, None] == 9, np.inf, g.vectors)
    ),
    "40 vectors but labels of shape \\(39,\\)": lambda g: bad(g, labels=g.labels[:-1]),
    "40 vectors but items of shape \\(41,\\)": lambda g: bad(g, items=np.arange(41)),
    "must be a float array": lambda g: bad(g, vectors=(g.vectors * 100).astype(int)),
    "must be a float array of numpy \\[n d\\], got >f4": lambda g: bad(
        g, vectors=g.vectors.astype(">f4")
    ),
    "labels of the .* must be whole numbers, got <U": lambda g: bad(g, labels=g.labels.astype(str)),
    "labels of the .* must be whole numbers, got float64": lambda g: bad(g, labels=g.labels + 0.5),
    "Row 2 of the .* is zero": lambda g: bad(
        g, vectors=np.where(np.arange(40)[:, None] == 2, 0, g.vectors)
    ),
}


# one of each way to hold a gallery
@pytest.mark.parametrize("name", ["exact", "streamed", "faiss_ivf"])
@pytest.mark.parametrize("message", BAD_SETS)
def test_bad_sets(name, message, make_set, anchors):
    gallery = make_set(n=40)
    wrong = BAD_SETS[message](gallery)
    with pytest.raises(ValueError, match=message):
        build(name, wrong, anchors)
    with pytest.raises(ValueError, match=message):
        build(name, gallery, anchors).rank(wrong, False)


@pytest.mark.parametrize("name", search.names())
def test_lists_and_tensors_are_found_like_arrays(name, make_set, anchors):
    gallery = make_set(n=40)
    lists = bad(gallery, labels=gallery.labels.tolist(), items=gallery.items.tolist())
    index = build(name, lists, anchors)
    np.testing.assert_array_equal(
        index.rank(lists, True).neighbours,
        build(name, gallery, anchors).rank(gallery, True).neighbours,
    )
    expected = index.neighbours(gallery.vectors[:3])[1]
    backwards = np.ascontiguousarray(gallery.vectors[:3, ::-1])[:, ::-1]
    for asked in (
        torch.from_numpy(gallery.vectors[:3]).requires_grad_(),
        gallery.vectors[:3].astype(">f4"),
        backwards,
    ):
        np.testing.assert_array_equal(index.neighbours(asked)[1], expected)
    with pytest.raises(ValueError, match="query vectors are of several lengths"):
        index.neighbours([[1.0], [1.0, 2.0]])


@pytest.mark.parametrize("name", search.names())
def test_bad_calls(name, make_set, anchors):
    gallery = make_set(n=40)
    with pytest.raises(ValueError, match="has no gallery yet"):
        search.create(name).rank(gallery, True)
    with pytest.raises(ValueError, match="has no gallery yet"):
        search.create(name).neighbours(gallery.vectors)
    index = build(name, gallery, anchors)
    with pytest.raises(ValueError, match="have 5 dimensions, the gallery 8"):
        index.rank(make_set(n=4, d=5), False)
    with pytest.raises(ValueError, match="have 5 dimensions, the gallery 8"):
        index.neighbours(np.ones(5))
    with pytest.raises(ValueError, match="Row 0 of the query vectors holds NaN"):
        index.neighbours(np.full(8, np.nan))
    with pytest.raises(ValueError, match="at least 1, got 0"):
        index.neighbours(gallery.vectors, k=0)
    twice = bad(gallery, items=np.zeros(40, int))
    with pytest.raises(ValueError, match="Item 0 stands twice"):
        build(name, twice, anchors).rank(twice, True)
    knobs = dict.fromkeys(THOROUGH.get(name, ()), 1)
    alone = make_set(n=1)
    with pytest.raises(ValueError, match="only the query itself"):
        build(name, alone, anchors, **knobs).rank(alone, True)


@pytest.mark.parametrize("name", search.names())
def test_a_cut_ranking_says_what_it_lost(name, make_set, anchors):
    gallery = make_set(n=90)
    files = "probes" in search.get(name).Knobs.model_fields
    knobs = {"probes": 1} if files else {}
    cut = build(name, gallery, anchors, k=3, **knobs).rank(gallery, True)
    full = build("exact", gallery, anchors).rank(gallery, True)
    np.testing.assert_array_equal(cut.offsets, full.offsets)
    for i in range(90):
        found = cut.neighbours[i][cut.neighbours[i] >= 0]
        assert i not in found and len(found) <= 3
        items, ranks = cut.positives(i)
        assert set(items) == set(full.positives(i)[0])
        assert (np.diff(ranks) >= 0).all()
        kept = ranks != UNRANKED
        assert len(set(ranks[kept])) == kept.sum() and (ranks[kept] <= cut.retrieved[i]).all()
        # Every positive among the shown neighbours has the rank at which it is shown.
        shown = {
            int(j): place + 1
            for place, j in enumerate(found)
            if gallery.labels[j] == gallery.labels[i]
        }
        assert shown == {
            int(j): int(r) for j, r in zip(items, ranks, strict=True) if r <= len(found)
        }
    if issubclass(search.get(name), CandidateIndex):
        others = build(name, gallery, anchors, k=3).rank(make_set(n=9, seed=3), False)
        assert (others.retrieved == max(3, others.num_positives.max())).all()
    if files:
        assert (cut.retrieved < 89).any() and (cut.comparisons < 90 + 9).any()
        assert (cut.positive_ranks == UNRANKED).any()
