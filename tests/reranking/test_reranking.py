"""Re-rankers against stored vectors and plain loops."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lab import metrics, reranking
from lab.core.knobs import describe
from lab.core.results import EmbeddingSet, Evidence
from lab.reranking._base import nodes
from lab.reranking.k_reciprocal import distances

FILES = sorted((Path(__file__).parents[1] / "golden" / "rerank_kreciprocal").glob("*.npz"))
HYPER = {
    "q5_g30_k1_20_k2_6": (20, 6, 0.3),
    "q6_g26_k1_8_k2_3": (8, 3, 0.3),
    "q6_g18_k1_5_k2_1": (5, 1, 0.5),
}


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_k_reciprocal_golden(file, make_ranking):
    stored = np.load(file)
    query = EmbeddingSet(stored["query"], stored["query_labels"], np.arange(len(stored["query"])))
    gallery = EmbeddingSet(
        stored["gallery"], stored["gallery_labels"], np.arange(len(stored["gallery"]))
    )
    before = make_ranking(query, gallery)
    k1, k2, lam = HYPER[file.stem]
    found = (
        torch.cat(list(distances(nodes(before, query, gallery, torch.device("cpu")), k1, k2, lam)))
        .cpu()
        .numpy()
    )
    np.testing.assert_allclose(found, stored["own_float64"], atol=1e-12)
    np.testing.assert_allclose(found, stored["final_dist_ranklist_f32"], atol=1e-6)
    jaccard = (
        torch.cat(list(distances(nodes(before, query, gallery, torch.device("cpu")), k1, k2, 0.0)))
        .cpu()
        .numpy()
    )
    np.testing.assert_allclose(jaccard, stored["own_jaccard"], atol=1e-12)
    after = reranking.create("k_reciprocal", k1=k1, k2=k2, lam=lam).rerank(before, query, gallery)
    np.testing.assert_array_equal(after.neighbours, stored["ranking"])


def k_reciprocal_by_loops(vectors, k1, k2, lam):
    """Zhong et al. with the released code's weights, as sets and loops over one common set of images."""
    n = len(vectors)
    d = np.square(vectors[:, None] - vectors[None]).sum(2)
    d = d / d.max(1, keepdims=True)
    near = [sorted(range(n), key=lambda j, i=i: (j != i, d[i, j], j)) for i in range(n)]

    def reciprocal(i, k):
        return {j for j in near[i][: k + 1] if i in near[j][: k + 1]}

    weights = np.zeros((n, n))
    for i in range(n):
        own = reciprocal(i, k1)
        grown = set(own)
        for j in own:
            half = reciprocal(j, int(np.around(k1 / 2)))
            if len(half & own) > 2 / 3 * len(half):
                grown |= half
        for j in grown:
            weights[i, j] = np.exp(-d[i, j])
        weights[i] /= weights[i].sum()
    mean = np.stack([weights[near[i][:k2]].mean(0) for i in range(n)])
    jaccard = [[1 - np.minimum(a, b).sum() / np.maximum(a, b).sum() for b in mean] for a in mean]
    return (1 - lam) * np.array(jaccard) + lam * d


def contextual_by_loops(vectors, k, beta):
    n = len(vectors)
    s = vectors @ vectors.T
    near = [set(sorted(range(n), key=lambda j, i=i: (j != i, -s[i, j], j))[:k]) for i in range(n)]
    w = np.array(
        [[len(near[i] & near[j]) / k if j in near[i] else 0 for j in range(n)] for i in range(n)]
    )
    return beta * w + (1 - beta) * np.exp(2 * s - 2)


@pytest.mark.parametrize(
    ("k1", "k2", "lam"), [(5, 1, 0.3), (7, 3, 0.0), (20, 25, 0.5), (60, 6, 0.3)]
)
def test_k_reciprocal_by_loops_within_one_set(k1, k2, lam, make_set, make_ranking):
    images = make_set(n=40)
    expected = k_reciprocal_by_loops(
        images.vectors.astype(np.float64), min(k1, 40), min(k2, 40), lam
    )
    found = (
        torch.cat(
            list(
                distances(
                    nodes(make_ranking(images), images, images, torch.device("cpu")), k1, k2, lam
                )
            )
        )
        .cpu()
        .numpy()
    )
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("k", [2, 7, 40])
@pytest.mark.parametrize("beta", [0.0, 0.1, 1.0])
def test_contextual_by_loops(k, beta, make_set, make_ranking):
    images = make_set(n=40)
    before = make_ranking(images)
    after = reranking.create("contextual", k=k, beta=beta).rerank(before, images, images)
    unit = images.vectors.astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    expected = contextual_by_loops(unit, k, beta)
    for i in range(40):
        found = after.neighbours[i, :39]
        np.testing.assert_allclose(after.scores[i, :39], expected[i, found], atol=1e-6)
        assert i not in found
        rank = {int(j): place + 1 for place, j in enumerate(found)}
        items, ranks = after.positives(i)
        assert [rank[int(j)] for j in items] == list(ranks)
    if beta == 0:  # exp(2s - 2) alone does not change an order
        np.testing.assert_array_equal(after.neighbours, before.neighbours)


@pytest.mark.parametrize("name", reranking.names())
def test_queries_outside_the_gallery_take_part(name, make_set, make_ranking):
    images = make_set(n=45)
    query = EmbeddingSet(images.vectors[:5], images.labels[:5], np.arange(5))
    gallery = EmbeddingSet(images.vectors[5:], images.labels[5:], np.arange(40))
    after = reranking.create(name).rerank(make_ranking(query, gallery), query, gallery)
    within = reranking.create(name).rerank(make_ranking(images), images, images)
    for i in range(5):  # all in one set, seen without the other queries
        seen = [j - 5 for j in within.neighbours[i] if j >= 5]
        np.testing.assert_array_equal(after.neighbours[i], seen)


@pytest.mark.parametrize("name", reranking.names())
def test_the_new_ranking_is_whole_and_consistent(name, make_set, make_ranking):
    images = make_set(n=60, classes=4)
    before = make_ranking(images, k=10)
    after = reranking.create(name).rerank(before, images, images)
    assert after.neighbours.shape == (60, 10)
    np.testing.assert_array_equal(after.offsets, before.offsets)
    np.testing.assert_array_equal(after.self_index, before.self_index)
    for i in range(60):
        items, ranks = after.positives(i)
        assert (
            set(items) == set(before.positives(i)[0])
            and (np.diff(ranks) > 0).all()
            and ranks.max() <= 59
        )
        shown = {
            int(j): place + 1
            for place, j in enumerate(after.neighbours[i])
            if images.labels[j] == images.labels[i]
        }
        assert shown == {int(j): int(r) for j, r in zip(items, ranks, strict=True) if r <= 10}
    score = metrics.create("mean_average_precision")
    assert (
        score(Evidence(after, images, images)).values["mAP"]
        > score(Evidence(before, images, images)).values["mAP"]
    )


@pytest.mark.parametrize("name", reranking.names())
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 25), distinct=st.integers(1, 4))
def test_duplicates_and_tiny_sets(name, seed, n, distinct, make_ranking):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(distinct, 3)).astype(np.float32)[rng.integers(0, distinct, n)]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    images = EmbeddingSet(vectors, rng.integers(0, 3, n), np.arange(n))
    after = reranking.create(name).rerank(make_ranking(images), images, images)
    for i in range(n):
        found = after.neighbours[i][after.neighbours[i] >= 0]
        assert sorted(found) == [j for j in range(n) if j != i]
        assert np.isfinite(after.scores[i][: n - 1]).all()


@pytest.mark.parametrize("name", reranking.names())
def test_bad_input(name, make_set, make_ranking):
    images = make_set(n=30)
    before, few = make_ranking(images), make_set(n=29)
    again = reranking.create(name)
    with pytest.raises(
        ValueError, match="30 queries and 30 gallery items, but got 29 queries and 30 items"
    ):
        again.rerank(before, few, images)
    flat = EmbeddingSet(images.vectors[:, :4], images.labels, images.items)
    with pytest.raises(ValueError, match="have 4 dimensions, the gallery 6"):
        again.rerank(before, flat, images)
    broken = EmbeddingSet(images.vectors * np.nan, images.labels, images.items)
    with pytest.raises(ValueError, match="NaN or infinity"):
        again.rerank(before, broken, broken)
    for knob in describe(again.Knobs):
        with pytest.raises(ValueError, match=knob.name):
            reranking.create(name, **{knob.name: knob.ge - 1})
