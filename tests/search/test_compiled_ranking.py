"""The compiled path gives the plain path's ranking, bit by bit, whatever the data and the product."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lab import search
from lab.core.results import EASY, HARD, EmbeddingSet, Relevance, no_class
from lab.kernels.cpu import products
from lab.search import _fast


def unit(vectors):
    vectors = np.asarray(vectors, np.float64)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def clustered(n, d, classes, noise, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    vectors = rng.normal(size=(classes, d))[labels] + noise * rng.normal(size=(n, d))
    return EmbeddingSet(unit(vectors), labels, np.arange(n))


def assert_same(
    gallery, query=None, k=20, relevant=None, same_source=False, distractors=False, **knobs
):
    index = {
        path: search.create("exact", k=k, path=path, **knobs).build(gallery)
        for path in ("plain", "compiled")
    }
    plain, fast = (
        i.rank(
            gallery if query is None else query,
            query is None or same_source,
            relevant,
            distractors=distractors,
        )
        for i in index.values()
    )
    for name, expected in vars(plain).items():
        np.testing.assert_array_equal(getattr(fast, name), expected, err_msg=name)


@pytest.fixture(params=["float32", "rougher"])
def product(request, monkeypatch):
    """The product as it is; and one that errs by nearly all that its margin allows, so that more is in doubt."""
    if request.param == "rougher":
        error = 1e-3

        def rough(a, b):
            scores = products.product(a, b)
            return scores + error * torch.sign(torch.sin(1e4 * scores))

        monkeypatch.setattr(_fast, "products", SimpleNamespace(product=rough))
        monkeypatch.setattr(
            _fast, "margins_of", lambda queries: np.full(len(queries), 1.1 * error, np.float32)
        )
    monkeypatch.setattr(_fast, "TILE", 128)  # several tiles and ragged ends from few images
    return request.param


CASES = {
    "trained": dict(n=700, d=48, classes=150, noise=0.4),
    "untrained": dict(n=700, d=48, classes=150, noise=8),
    "few classes, many positives": dict(n=500, d=16, classes=4, noise=2),
    "some thirty positives": dict(n=500, d=16, classes=15, noise=2),
    "two dimensions, close scores": dict(n=600, d=2, classes=100, noise=1),
    "collapsed": dict(n=300, d=32, classes=40, noise=0.0),
    "nearly collapsed": dict(n=300, d=32, classes=1, noise=1e-6),
    "one class": dict(n=150, d=8, classes=1, noise=1),
}


@pytest.mark.parametrize("case", CASES)
def test_same_source(case, product):
    assert_same(clustered(**CASES[case]))


def test_rows_with_many_positives_beside_columns_with_few(product):
    """A tile that serves both sides counts for its rows by bins and for its columns one by one."""
    # more than the first 128 are alike
    labels = np.concatenate([np.zeros(130, int), 1 + np.arange(390) // 3])
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(131, 16))[labels] + rng.normal(size=(520, 16))
    assert_same(EmbeddingSet(unit(vectors), labels, np.arange(520)))


@pytest.mark.parametrize("k", [1, 1000])
def test_any_number_of_neighbours(k, product):
    assert_same(clustered(n=300, d=16, classes=30, noise=1), k=k)


def test_query_and_gallery(product):
    assert_same(
        clustered(n=500, d=24, classes=40, noise=1),
        clustered(n=137, d=24, classes=40, noise=1, seed=1),
    )


def test_some_queries_of_the_gallery(product):
    gallery = clustered(n=500, d=24, classes=40, noise=1)
    few = np.random.default_rng(0).permutation(500)[:70]
    query = EmbeddingSet(gallery.vectors[few], gallery.labels[few], gallery.items[few])
    assert_same(gallery, query, same_source=True)


def test_a_query_that_stands_elsewhere_in_the_gallery(product):
    """Equal rows in the same order, but each query is another one's image: a tile cannot serve both of its sides."""
    gallery = EmbeddingSet(unit(np.ones((300, 8))), np.arange(300) % 60, np.arange(300))
    query = EmbeddingSet(gallery.vectors, np.roll(gallery.labels, 7), np.roll(gallery.items, 7))
    assert_same(gallery, query, same_source=True)


def test_judged_relevance(product):
    gallery, query = (
        clustered(n=300, d=24, classes=9, noise=1),
        clustered(n=4, d=24, classes=9, noise=1, seed=1),
    )
    items = np.concatenate([np.random.default_rng(i).permutation(300)[:30] for i in range(3)])
    relevant = Relevance(np.array([0, 30, 60, 60, 90]), items, np.tile([EASY, HARD], 45))
    assert_same(gallery, query, relevant=relevant)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_do_not_show(threads, product):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        assert_same(clustered(n=400, d=16, classes=60, noise=1))
    finally:
        torch.set_num_threads(before)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(1, 5), st.integers(1, 9))
def test_duplicates_and_ties(seed, n, distinct, classes):
    rng = np.random.default_rng(seed)
    points = unit(rng.integers(-2, 3, (distinct, 3)) + 0.1)
    gallery = EmbeddingSet(
        points[rng.integers(0, distinct, n)], rng.integers(0, classes, n), np.arange(n)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_fast, "TILE", 16)
        assert_same(gallery, k=7)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 60),
    distinct=st.integers(1, 5),
    share=st.sampled_from([0.0, 0.3, 0.9]),
    ties=st.sampled_from(["gallery", "shuffled"]),
    distractors=st.booleans(),
    others=st.booleans(),
)
def test_items_without_a_class_and_ties(seed, n, distinct, share, ties, distractors, others):
    """Equal scores have one order on both paths, whether items without a class stand between them or not."""
    rng = np.random.default_rng(seed)
    points = unit(rng.integers(-2, 3, (distinct, 3)) + 0.1)

    def some(count, first):
        labels = np.where(
            rng.random(count) < share, no_class(np.arange(count)), rng.integers(0, 4, count)
        )
        return EmbeddingSet(
            points[rng.integers(0, distinct, count)], labels, first + np.arange(count)
        )

    gallery = some(n, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_fast, "TILE", 16)
        assert_same(
            gallery, some(9, n) if others else None, k=7, ties=ties, distractors=distractors
        )


@pytest.mark.parametrize("kind", ["dense", "sparse", "one large", "equal", "tiny numbers"])
def test_no_score_is_farther_off_than_the_margin(kind):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(400, 512))
    if kind == "sparse":
        rows *= rng.random(rows.shape) < 0.02
        rows[:, 0] += 0.01
    elif kind == "one large":
        rows[:, 3] += 100
    elif kind == "equal":
        rows = np.sign(rows)
    elif kind == "tiny numbers":
        rows[:, 1:] *= 1e-12
        rows[:, 0] = 1
    rows = unit(rows)
    tensor = torch.from_numpy(rows)
    exact = rows.astype(np.float64) @ rows.astype(np.float64).T
    error = np.abs(products.product(tensor, tensor).numpy() - exact).max(1)
    assert (error < _fast.margins_of(tensor)).all() and _fast.margins_of(tensor).max() < 5e-5
