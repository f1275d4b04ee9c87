"""Euclidean search depends on differences alone: not on where the origin lies, nor on the unit of length."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import lab
from lab import reranking, search
from lab.core.results import EmbeddingSet
from lab.kernels.pair_counts import count_pairs
from lab.kernels.sort_keys import Space
from lab.metrics.nearest_anchor_accuracy import nearest_anchors

WHOLE = ("exact", "streamed", "faiss_flat")
"""Indexes that compare a query with every item."""
COORDINATES = [
    [4208848, 2334863.5, 4171170.2],
    [4208292, 2335623.5, 4171305],
    [4208843.5, 2334869.5, 4171171.5],
]


def classes_of_points(
    classes: int = 12, width: int = 24, each: int = 5
) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(7)
    labels = np.repeat(np.arange(classes), each)
    centres = random.normal(size=(classes, width))
    return centres[labels] + 0.4 * random.normal(size=(len(labels), width)), labels


def built(name: str, vectors: np.ndarray, labels: np.ndarray, k: int) -> search.Index:
    index = search.create(
        name, k=k, similarity="euclidean", **({"probes": 4} if name == "two_stage" else {})
    )
    if name == "two_stage":
        anchors = np.stack([vectors[labels == label].mean(0) for label in np.unique(labels)])
        return index.build(EmbeddingSet(vectors, labels), anchors=anchors)
    return index.build(EmbeddingSet(vectors, labels))


def test_three_places_on_earth():
    points = np.array(COORDINATES, np.float32)
    ranking = (
        search.create("exact", k=2, similarity="euclidean")
        .build(points, [0, 1, 0])
        .rank(points, True)
    )
    assert ranking.neighbours.tolist() == [[2, 1], [2, 0], [0, 1]]
    squares = cdist(points.astype(float), points.astype(float), "sqeuclidean")
    expected = -np.take_along_axis(squares, ranking.neighbours, 1)
    np.testing.assert_allclose(ranking.scores, expected, rtol=1e-6)


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("offset", [0, 1e2, 1e4, 1e6, -3e8])
def test_ranking_equals_scipy_wherever_the_origin_lies(name, offset):
    vectors, labels = classes_of_points()
    moved = vectors + offset
    index = built(name, moved, labels, k=len(moved) - 1)
    ranking = index.rank(EmbeddingSet(moved, labels), True)
    squares = cdist(moved, moved, "sqeuclidean")
    np.fill_diagonal(squares, np.inf)
    order = squares.argsort(1, kind="stable")[:, :-1]
    np.testing.assert_array_equal(ranking.neighbours, order)
    np.testing.assert_allclose(ranking.scores, -np.take_along_axis(squares, order, 1), rtol=3e-6)
    scores, places = index.neighbours(moved, k=4)
    np.testing.assert_array_equal(places[:, 1:], order[:, :3])
    assert (
        (places[:, 0] == np.arange(len(moved))).all()
        and (scores <= 0).all()
        and (ranking.scores <= 0).all()
    )


@pytest.mark.parametrize("name", [*WHOLE, "faiss_ivf", "faiss_ivf_pq", "two_stage"])
@pytest.mark.parametrize(
    ("offset", "scale"), [(1e5, 1), (0, 2.0**-70), (0, 1e9), (12345.678, 1e-6)]
)
def test_translation_and_scale_change_no_score_of_retrieval(name, offset, scale):
    vectors, labels = classes_of_points()
    moved = (vectors + offset) * scale
    here, there = (
        built(name, rows, labels, 10).rank(EmbeddingSet(rows, labels), True)
        for rows in (vectors, moved)
    )
    # k-means on rounded rows may place a centroid elsewhere
    if name in (
        "faiss_ivf",
        "faiss_ivf_pq",
    ):
        assert (here.neighbours[:, 0] == there.neighbours[:, 0]).mean() > 0.9
    else:
        np.testing.assert_array_equal(here.neighbours, there.neighbours)
        np.testing.assert_array_equal(here.positive_ranks, there.positive_ranks)


def test_evaluation_of_raw_features_with_a_large_component():
    vectors, labels = classes_of_points(width=64)
    moved = np.hstack([vectors, np.full((len(vectors), 1), 1e6)]).astype(np.float32)
    near = lab.evaluate(vectors.astype(np.float32), labels, similarity="euclidean")
    far = lab.evaluate(moved, labels, similarity="euclidean")
    assert near.values["r@1"] == far.values["r@1"] and near.values["MAP@R"] == far.values["MAP@R"]


def test_permutation_permutes_the_ranking():
    vectors, labels = classes_of_points()
    order = np.random.default_rng(1).permutation(len(vectors))
    moved = vectors + 1e6
    ranking = built("exact", moved, labels, 6).rank(EmbeddingSet(moved, labels), True)
    permuted = built("exact", moved[order], labels[order], 6).rank(
        EmbeddingSet(moved[order], labels[order]), True
    )
    np.testing.assert_array_equal(order[permuted.neighbours], ranking.neighbours[order])


def test_equal_vectors_stand_at_distance_zero_in_the_gallerys_order():
    vectors, labels = classes_of_points(classes=6, width=48)
    doubled = np.concatenate([vectors, vectors]) + 1e7
    for name in WHOLE:
        index = built(name, doubled, np.tile(labels, 2), 2)
        scores, places = index.neighbours(doubled[:5], 2)
        assert (np.abs(scores) < 1e-10).all(), name
        assert np.sort(places).tolist() == [[i, i + len(vectors)] for i in range(5)], name
        ranking = index.rank(EmbeddingSet(doubled, np.tile(labels, 2)), True)
        assert (ranking.scores[:, 0] == 0).all()
        assert (ranking.neighbours[:, 0] == np.roll(np.arange(len(doubled)), len(vectors))).all()


def test_one_outlier_costs_the_others_nothing():
    vectors, labels = classes_of_points()
    with_outlier = np.concatenate([vectors, np.full((1, vectors.shape[1]), 1e12)])
    ranking = built("exact", with_outlier, np.append(labels, 99), 3).rank(
        EmbeddingSet(vectors, labels), True
    )
    alone = built("exact", vectors, labels, 3).rank(EmbeddingSet(vectors, labels), True)
    np.testing.assert_array_equal(ranking.neighbours, alone.neighbours)


def test_an_index_that_grows_keeps_the_origin_that_it_learnt(tmp_path):
    vectors, labels = classes_of_points()
    moved = vectors + 1e5
    index = built("faiss_ivf", moved, labels, 3)
    opened = search.open(index.save(tmp_path / "it.safetensors"))
    more = opened.add(moved + 0.001, labels)
    assert more.neighbours(moved[:4], 2)[1].tolist() == [[i, i + len(moved)] for i in range(4)]


def test_pairs_are_counted_where_the_search_shows_them():
    vectors, labels = classes_of_points()
    itself, groups = np.arange(len(labels)), np.zeros(len(labels), np.int64)
    counts = [
        count_pairs(
            EmbeddingSet(rows, labels), EmbeddingSet(rows, labels), "euclidean", itself, groups
        )
        for rows in (vectors, vectors + 1e6)
    ]
    np.testing.assert_allclose(counts[0].thresholds, counts[1].thresholds, rtol=1e-5)
    for here, there in ((counts[0].same, counts[1].same), (counts[0].other, counts[1].other)):
        assert np.abs(here - there).max() <= 1  # a pair may lie within rounding of a threshold


def test_a_faiss_file_is_searched_by_differences(tmp_path):
    faiss = pytest.importorskip("faiss")
    points = np.array(COORDINATES * 20, np.float32)
    points += np.arange(len(points), dtype=np.float32)[:, None] * 64
    index = faiss.IndexFlatL2(3)
    index.add(points)
    faiss.write_index(index, str(tmp_path / "it.faiss"))
    places = search.FaissFile(tmp_path / "it.faiss").neighbours(points, 2)[1]
    squares = cdist(points.astype(float), points.astype(float), "sqeuclidean")
    np.testing.assert_array_equal(places, squares.argsort(1, kind="stable")[:, :2])


def test_reranking_does_not_see_the_origin():
    vectors, labels = classes_of_points()
    found = []
    for rows in (vectors, vectors + 1e6):
        images = EmbeddingSet(rows, labels)
        ranking = built("exact", rows, labels, 8).rank(images, True)
        found.append(reranking.create("k_reciprocal", k1=6, k2=3).rerank(ranking, images, images))
    np.testing.assert_array_equal(found[0].neighbours, found[1].neighbours)


def test_half_precision_vectors_are_compared_in_float64():
    vectors, labels = classes_of_points()
    half = (vectors + 50).astype(np.float16)
    ranking = built("exact", half, labels, 3).rank(EmbeddingSet(half, labels), True)
    squares = cdist(half.astype(float), half.astype(float), "sqeuclidean")
    np.fill_diagonal(squares, np.inf)
    np.testing.assert_array_equal(ranking.neighbours[:, 0], squares.argmin(1))
    assert torch.isfinite(torch.from_numpy(ranking.scores)).all()


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    st.integers(0, 10**6),
    st.integers(-2, 12),
    st.sampled_from([2, 3, 20]),
    st.sampled_from([np.float32, np.float64]),
)
def test_several_distant_groups_are_ranked_as_by_differences(seed, far, width, kind):
    """No one origin is near to all of them, so that products of rows would cancel in most."""
    random = np.random.default_rng(seed)
    towns = random.normal(size=(3, width)) * 10.0**far
    vectors = (np.repeat(towns, 12, axis=0) + random.normal(size=(36, width))).astype(kind)
    vectors = vectors[random.permutation(36)]
    labels = np.arange(36) // 2
    squares = cdist(vectors.astype(float), vectors.astype(float), "sqeuclidean")
    np.fill_diagonal(squares, np.inf)
    least = squares.min(1)
    for name in (*WHOLE, "two_stage"):
        knobs = {"probes": 3} if name == "two_stage" else {}
        index = search.create(name, k=8, similarity="euclidean", **knobs)
        anchors = {"anchors": towns.astype(kind)} if name == "two_stage" else {}
        index.build(EmbeddingSet(vectors, labels), **anchors)
        ranking = index.rank(EmbeddingSet(vectors, labels), True)
        first = squares[np.arange(36), ranking.neighbours[:, 0]]
        np.testing.assert_allclose(first, least, rtol=1e-6, err_msg=name)
        np.testing.assert_allclose(-ranking.scores[:, 0], least, rtol=1e-5, err_msg=name)
        for asked in (vectors, vectors[:1]):
            places = index.neighbours(asked, 2)[1]
            there = places != np.arange(len(asked))[:, None]
            nearest = np.where(there, places, places[:, ::-1])[:, 0]
            np.testing.assert_allclose(
                squares[np.arange(len(asked)), nearest], least[: len(asked)], rtol=1e-6
            )


def test_a_number_for_no_data_does_not_make_all_others_equal():
    vectors, labels = classes_of_points()
    alone = lab.evaluate(vectors, labels, similarity="euclidean")
    missing = np.full((1, vectors.shape[1]), np.finfo(np.float32).max)
    found = lab.evaluate(np.vstack([vectors, missing]), [*labels, 99], similarity="euclidean")
    assert found.values == alone.values
    space = Space.of(vectors, "euclidean", torch.device("cpu"))
    with pytest.raises(ValueError, match="Row 1 of the query vectors is too far from the others"):
        space.queries(np.stack([vectors[0], np.full(vectors.shape[1], 1e300)]))


def test_the_nearest_anchor_does_not_depend_on_the_origin():
    vectors, labels = classes_of_points()
    anchors = np.stack([vectors[labels == label].mean(0) for label in np.unique(labels)])
    expected = cdist(vectors, anchors).argmin(1)
    np.testing.assert_array_equal(nearest_anchors(vectors + 1e8, anchors + 1e8), expected)
