"""What is measured at a check-up, against plain loops; and what it costs a training: nothing but time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lab
from lab.training import signs


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    labels = np.repeat(np.arange(10), 4)
    return (random.normal(size=(10, 6))[labels] + random.normal(size=(40, 6))).astype(np.float32), labels


def test_average_precision_is_that_of_plain_loops(rows):
    vectors, labels = rows[0].astype(np.float64), rows[1].copy()
    labels[3] = 99  # it has no positive
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    found = signs.average_precisions(vectors, labels)
    for q in range(len(labels)):
        order = sorted((i for i in range(len(labels)) if i != q), key=lambda i: -(unit[q] @ unit[i]))
        hits, values = 0, []
        for rank, i in enumerate(order, 1):
            if labels[i] == labels[q]:
                hits += 1
                values.append(hits / rank)
        assert np.isnan(found[q]) if not values else found[q] == pytest.approx(np.mean(values))


def test_geometry_of_a_point_of_all_directions_and_of_a_hub():
    point = np.ones((30, 5)) + 1e-4 * np.random.default_rng(0).normal(size=(30, 5))
    found = signs.geometry(point)
    assert found["mean_cosine"] == pytest.approx(1, abs=1e-6) and found["effective_rank"] < 1.01
    assert signs.geometry(np.eye(8))["effective_rank"] == pytest.approx(8)
    around = np.random.default_rng(1).normal(size=(200, 40))
    hub = np.concatenate([around + 0.3, np.full((1, 40), 0.3)])  # in the middle, so in everybody's list
    skewed, even = signs.geometry(hub), signs.geometry(np.random.default_rng(2).normal(size=(200, 3)))
    assert skewed["hub"] == 200 and skewed["hubness"] > 3 > even["hubness"]


def test_whole_classes_are_taken_that_have_positives():
    labels = np.array([0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4])
    assert signs.whole_classes(labels, 6).tolist() == [1, 2, 3, 7, 8, 9]
    assert len(signs.whole_classes(np.arange(5), 4)) == 4


def test_a_batch_of_single_images_and_rows_that_are_not_finite(rows):
    alone = signs.of_batch(rows[0], np.arange(40))
    assert alone["with_positive"] == 0 and "precision" not in alone
    broken = rows[0].copy()
    broken[0] = np.nan
    assert len(signs.of_validation(broken, rows[1], np.arange(40))["precisions"]) == 39
    assert signs.of_validation(np.full((4, 2), np.nan), np.array([0, 0, 1, 1]), np.arange(4)) == {}


def test_seen_and_unseen_are_cut_to_lists_of_one_length(rows):
    vectors, labels = rows
    fewer = labels < 5
    found = signs.seen_and_unseen((vectors, labels), (vectors[fewer], labels[fewer]))
    chosen = np.isin(labels, np.arange(10)[np.linspace(0, 9, 5).astype(int)])
    assert found["seen"] == pytest.approx(np.mean(signs.average_precisions(vectors[chosen], labels[chosen])))
    assert found["unseen"] == pytest.approx(np.mean(signs.average_precisions(vectors[fewer], labels[fewer])))
    assert signs.seen_and_unseen((vectors, np.arange(40)), (vectors, labels)) == {}


def test_out_of_reach_is_what_inspect_says(rows):
    steep = lab.losses.create("smooth_ap", tau=1e-4)
    found = signs.out_of_reach(steep, *map(torch.from_numpy, rows))
    seen = lab.inspect.dead_gradients(lab.inspect.pair_gradients(steep, *rows))
    assert found["out_of_reach"] == seen.share > 0.5 and found["behind"] == (seen.gaps > 0).mean()


def test_a_step_moves_weights_by_its_rate():
    weights = [torch.nn.Parameter(torch.full((4, 4), value)) for value in (1.0, 2.0, 5.0)]
    for one in weights:
        one.grad = torch.ones_like(one)
    optimiser = torch.optim.SGD(weights, lr=0.1)
    assert signs.moved_by(weights, optimiser.step) == pytest.approx(0.05)
    assert float(weights[0].detach()[0, 0]) == pytest.approx(0.9)


def test_copies_are_found_by_their_pixels():
    images = torch.rand(6, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    seen, others = signs.Thumbnails()(images).numpy(), signs.Thumbnails()(images[[4, 1]] * 0.9 + 0.05).numpy()
    assert signs.copies(seen, others).tolist() == [False, True, False, False, True, False]
