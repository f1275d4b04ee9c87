"""Equal scores: the order of the gallery is no knowledge of the model, and people's galleries are sorted by class."""

import numpy as np
import pytest
import torch

import lab
from lab import metrics, reranking, search
from lab.core.results import EmbeddingSet, Evidence
from lab.core.streams import result_of
from lab.evaluation.scores import evaluate, evaluate_streamed
from lab.kernels import sort_keys

COLUMNS = ("r@1", "MAP@R")


def constant(count: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """The same vector for every image of a set that is sorted by class."""
    return np.ones((count, 4), np.float32), np.sort(np.arange(count) % classes)


@pytest.mark.parametrize("ties", ["gallery", "shuffled"])
def test_codes_are_one_to_one_and_can_be_inverted(ties):
    positions = torch.cat(
        [torch.arange(50_000), torch.randint(0, 2**32, (10_000,)), torch.tensor([2**32 - 1])]
    )
    keys = sort_keys.pack(torch.zeros(len(positions)), positions, ties)
    assert (sort_keys.unpack(keys, ties)[1] == positions).all()
    assert len(np.unique(sort_keys.tie_codes(np.arange(100_000), ties))) == 100_000


@pytest.mark.parametrize("classes", [2, 5, 20])
def test_a_constant_model_scores_what_chance_scores(classes):
    vectors, labels = constant(400, classes)
    found = lab.evaluate(vectors, labels)
    shuffled = np.random.default_rng(3).permutation(len(labels))
    elsewhere = lab.evaluate(vectors, labels[shuffled])
    each = 400 // classes
    chance = (each - 1) / 399  # that the first of the others is of the same class
    assert found.values["r@1"] == pytest.approx(chance, abs=4 * np.sqrt(chance / 400))
    for column in COLUMNS:
        assert found.values[column] == pytest.approx(
            elsewhere.values[column], abs=4 * np.sqrt(chance / 400)
        )
    assert found.first_tied == 1 and "chance" in found.warnings[0] and "100.0%" in found.warnings[0]


def test_every_way_to_the_ranking_shuffles_ties_alike():
    random = np.random.default_rng(0)
    vectors = np.repeat(np.eye(8, dtype=np.float32), 40, axis=0)
    images = EmbeddingSet(vectors, random.integers(0, 4, len(vectors)))
    rankings = [
        search.create(name, k=7, ties="shuffled", **knobs).build(images).rank(images, True)
        for name, knobs in (
            ("exact", {"path": "plain"}),
            ("exact", {"path": "compiled"}),
            ("streamed", {}),
        )
    ]
    for other in rankings[1:]:
        np.testing.assert_array_equal(rankings[0].neighbours, other.neighbours)
        np.testing.assert_array_equal(rankings[0].positive_ranks, other.positive_ranks)
    for order, first in (
        ("gallery", [1, 2, 3]),
        ("shuffled", rankings[0].neighbours[0, :3].tolist()),
    ):
        ranking = search.create("exact", k=3, ties=order).build(images).rank(images, True)
        assert ranking.neighbours[0].tolist() == first and ranking.ties == order


def test_streamed_evaluation_equals_the_one_in_memory_with_ties():
    vectors, labels = constant(60, 3)
    images, named = EmbeddingSet(vectors, labels), {"map_at_r": metrics.create("map_at_r")}
    whole = result_of(evaluate(images, None, named))
    streamed = result_of(evaluate_streamed(images, images, named, same_source=True))
    assert whole.values == streamed.values


def test_the_gap_orders_ties_in_batches_as_in_the_whole_ranking():
    vectors, labels = constant(48, 4)
    images = EmbeddingSet(vectors, labels)
    ranking = search.create("exact", ties="shuffled").build(images).rank(images, True)
    measured = metrics.create("decomposability_gap", batch_size=48)(
        Evidence(ranking, images, images)
    )
    assert measured.values["DG"] == pytest.approx(0, abs=1e-12), (
        "one batch that is the whole set has no gap"
    )


def test_without_ties_nothing_is_said_and_the_order_is_the_same():
    random = np.random.default_rng(2)
    vectors, labels = random.normal(size=(80, 16)), np.arange(80) % 8
    found = lab.evaluate(vectors, labels)
    plain = (
        search.create("exact", k=20)
        .build(EmbeddingSet(vectors, labels))
        .rank(EmbeddingSet(vectors, labels), True)
    )
    assert found.first_tied == 0 and found.warnings == []
    np.testing.assert_array_equal(found.ranking.neighbours[:, :20], plain.neighbours)


def test_a_copy_of_the_same_class_at_the_first_place_is_no_tie():
    vectors, labels = np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]]), [0, 0, 1, 1]
    assert lab.evaluate(vectors, labels).first_tied == 0
    # the query's own copy is the only nearest one
    assert lab.evaluate(vectors, [0, 1, 0, 1]).first_tied == 0
    assert lab.evaluate(np.ones((4, 2)), [0, 0, 1, 1]).first_tied == 1


def test_one_class_alone_says_that_its_score_means_nothing():
    found = lab.evaluate(np.random.default_rng(0).normal(size=(9, 4)), ["cup"] * 9)
    assert found.values["r@1"] == 1 and found.warnings == [
        "All items are of one class, so these scores say nothing about the model."
    ]


def test_an_evaluation_is_one_line_in_a_notebook():
    vectors, labels = constant(30, 3)
    found = lab.evaluate(vectors, labels)
    assert (
        "\n" not in repr(found)
        and repr(found).startswith("Evaluation(r@1 ")
        and len(repr(found)) < 200
    )
    assert "30 queries" in found._repr_html_() and "chance" in found._repr_html_()


@pytest.mark.parametrize("name", ["k_reciprocal", "contextual"])
def test_a_constant_model_gains_nothing_by_re_ranking(name):
    """The lists of neighbours that a re-ranker looks at must not follow a gallery that is sorted by class."""
    labels = np.repeat(np.arange(4), 25)
    images = EmbeddingSet(np.full((100, 4), 0.5, np.float32), labels)
    scores = []
    for seed in range(4):
        order = np.arange(100) if not seed else np.random.default_rng(seed).permutation(100)
        of = EmbeddingSet(images.vectors, labels[order])
        index = search.create("exact", k=99, ties="shuffled").build(of)
        ranking = reranking.create(name, device="cpu").rerank(index.rank(of, True), of, of)
        scores.append(float(np.mean(ranking.hits[:, 0])))
    chance = 24 / 99
    assert abs(scores[0] - chance) < 0.15, scores
    assert max(scores) - min(scores) < 0.2, scores
