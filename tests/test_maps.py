"""Maps are repeatable and say how far they lie."""

from functools import cache

import numpy as np
import pytest

from lab.inspect.spaces import turned, ways
from lab.maps import METHODS, nearest, of_run, place, project, quality


@pytest.fixture(scope="module")
def clusters():
    random = np.random.default_rng(0)
    centres = np.eye(3, 16)
    return np.repeat(centres, 20, 0).astype("float32") + 0.05 * random.normal(size=(60, 16)).astype(
        "float32"
    )


@pytest.fixture(scope="module")
def drawn(clusters):
    """The map of the clusters by a method, drawn once."""
    return cache(lambda method: project(clusters, method, seed=3))


@pytest.mark.parametrize("method", METHODS)
def test_maps_repeat_and_keep_clusters_apart(method, clusters, drawn):
    flat = drawn(method)
    assert flat.shape == (60, 2) and flat.dtype == np.float32 and np.isfinite(flat).all()
    np.testing.assert_array_equal(flat, project(clusters, method, seed=3))
    centres = flat.reshape(3, 20, 2).mean(1)
    within = np.linalg.norm(flat.reshape(3, 20, 2) - centres[:, None], axis=2).mean()
    apart = np.linalg.norm(centres[0] - centres[1])
    assert apart > 3 * within


def test_pca_is_the_singular_vectors(clusters):
    from sklearn.decomposition import PCA

    unit = clusters.astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    expected = PCA(2, svd_solver="full").fit_transform(unit)
    np.testing.assert_allclose(np.abs(project(clusters, "pca")), np.abs(expected), atol=1e-5)


@pytest.mark.parametrize("count", [60, 5000], ids=["plain", "compiled"])
def test_umap_is_given_the_exact_neighbours(count, monkeypatch):
    import umap

    given = {}

    class Asked(umap.UMAP):
        def __init__(self, **knobs):
            given.update(knobs)
            super().__init__(**{**knobs, "n_epochs": 1})

    monkeypatch.setattr(umap, "UMAP", Asked)
    vectors = np.random.default_rng(5).normal(size=(count, 16)).astype("float32")
    project(vectors, "umap", neighbours=8)
    places, distances = given["precomputed_knn"]
    unit = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float64)
    for i in range(0, count, count // 20):
        true = 1 - unit @ unit[i]
        order = np.argsort(true)[:8]
        assert places[i, 0] == i and np.array_equal(places[i], order)
        np.testing.assert_allclose(distances[i], true[order], atol=1e-6)


def test_a_perfect_map_is_honest_and_a_shuffled_one_is_not(clusters):
    circle = np.random.default_rng(1).normal(size=(200, 2)).astype("float32")
    circle /= np.linalg.norm(circle, axis=1, keepdims=True)
    same = quality(circle, circle, k=5)
    assert same["agreement"] == 1 and same["trustworthiness"] == 1
    shuffled = quality(circle, np.random.default_rng(2).permutation(circle), k=5)
    assert (
        abs(shuffled["agreement"] - shuffled["chance"]) < 0.03 and shuffled["trustworthiness"] < 0.6
    )


def test_agreement_by_a_plain_loop():
    random = np.random.default_rng(4)
    vectors, flat = random.normal(size=(30, 4)), random.normal(size=(30, 2))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    shares = []
    for i in range(30):
        others = [j for j in range(30) if j != i]
        true = sorted(others, key=lambda j: -unit[i] @ unit[j])[:6]
        shown = sorted(others, key=lambda j: np.linalg.norm(flat[i] - flat[j]))[:6]
        shares.append(len(set(true) & set(shown)) / 6)
    assert quality(vectors, flat, k=6)["agreement"] == pytest.approx(np.mean(shares), abs=1e-6)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: project(np.zeros((2, 3))), "n >= 3, got [2, 3]"),
        (lambda: project(np.full((4, 3), np.nan)), "Vector 0 holds NaN"),
        (lambda: project(np.eye(6, 3), "umap"), "Row 3 of the gallery vectors is zero"),
        (lambda: project(np.ones((4, 3)), "som"), "no map 'som'; there are pca, umap, tsne"),
        (lambda: quality(np.ones((4, 3)), np.ones((5, 2)), 1), "4 vectors and 5 places"),
        (
            lambda: quality(np.ones((4, 3)), np.ones((4, 2)), 3),
            "less than half of the 4 points, got 3",
        ),
        (lambda: quality(np.ones((4, 3)), np.full((4, 2), np.nan), 1), "Place 0 holds NaN"),
        (
            lambda: quality(np.ones((4, 3)), np.ones(4), 1),
            "places must be numbers [n d], got float64 [4]",
        ),
        (lambda: project([["a", "b"]] * 4), "vectors must be numbers [n d], got <U1 [4, 2]"),
        (lambda: project(np.eye(4), "tsne", neighbours=0), "at least 2 neighbours together, got 0"),
        (lambda: nearest(np.eye(4), 4), "between 1 and the 3 others of a vector, got 4"),
        (
            lambda: place(np.eye(4), np.eye(4), np.ones((4, 3))),
            "places [4, 3] on the map do not belong together",
        ),
    ],
)
def test_mistakes_are_sentences(make, words):
    with pytest.raises(ValueError) as caught:
        make()
    assert words in str(caught.value)


def test_further_points_lie_beside_their_neighbours(clusters):
    flat, k = project(clusters[::2]), 3
    known, further = clusters[::2], clusters[1::2]
    unit = [one / np.linalg.norm(one, axis=1, keepdims=True) for one in (further, known)]
    expected = []
    for cosines in unit[0].astype(np.float64) @ unit[1].T:
        order = np.argsort(-cosines)[:k]
        weights = 1 / np.maximum(1 - cosines[order], 1e-6)
        expected.append((flat[order] * weights[:, None]).sum(0) / weights.sum())
    np.testing.assert_allclose(place(further, known, flat, k), expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(place(known, known, flat, k), flat, atol=2e-2)
    with pytest.raises(ValueError, match="do not belong together"):
        place(further, known, flat[1:])


def test_the_nearest_are_those_of_a_sort(clusters):
    unit = (clusters / np.linalg.norm(clusters, axis=1, keepdims=True)).astype(np.float64)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -2)
    np.testing.assert_array_equal(nearest(clusters, 4), np.argsort(-cosines, axis=1)[:, :4])


def test_a_map_that_starts_from_another_resembles_it(clusters, drawn):
    first = drawn("tsne")
    again, away = (project(clusters, "tsne", start=start) for start in (first, first[::-1]))
    assert ways(first, turned(again, first)).mean() < ways(first, turned(away, first)).mean()
    with pytest.raises(ValueError, match="start of a map"):
        project(clusters, "umap", start=first[:5])


def test_of_many_points_a_sample_is_laid_out_and_the_rest_stands_beside(monkeypatch):
    random = np.random.default_rng(1)
    centres = np.eye(4, 12)
    vectors = np.repeat(centres, 75, 0).astype(np.float32) + 0.05 * random.normal(
        size=(300, 12)
    ).astype(np.float32)
    monkeypatch.setattr(of_run, "LAID_OUT", 120)
    flat = of_run.laid_out(vectors, "tsne")
    rows = of_run.stratified(np.zeros(300), 120)
    np.testing.assert_array_equal(flat[rows], project(vectors[rows], "tsne"))
    middles = flat.reshape(4, 75, 2).mean(1)
    closest = np.linalg.norm(flat[:, None] - middles, axis=2).argmin(1)
    assert (closest == np.repeat(np.arange(4), 75)).mean() > 0.98


def test_large_sets_are_sampled_class_by_class_the_same_every_time():
    labels = np.random.default_rng(1).choice(20, 5_000, p=np.arange(1, 21) / 210)
    rows = of_run.stratified(labels, 1_000)
    assert len(np.unique(rows)) == 1_000 and (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(rows, of_run.stratified(labels, 1_000))
    share = np.bincount(labels[rows], minlength=20) - np.bincount(labels, minlength=20) / 5
    assert np.abs(share).max() <= 1
