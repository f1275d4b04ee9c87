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
    return (random.normal(size=(10, 6))[labels] + random.normal(size=(40, 6))).astype(
        np.float32
    ), labels


def test_average_precision_is_that_of_plain_loops(rows):
    vectors, labels = rows[0].astype(np.float64), rows[1].copy()
    labels[3] = 99  # it has no positive
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    found = signs.average_precisions(vectors, labels)
    for q in range(len(labels)):
        order = sorted(
            (i for i in range(len(labels)) if i != q), key=lambda i: -(unit[q] @ unit[i])
        )
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
    # in the middle, so in everybody's list
    hub = np.concatenate([around + 0.3, np.full((1, 40), 0.3)])
    skewed, even = (
        signs.geometry(hub),
        signs.geometry(np.random.default_rng(2).normal(size=(200, 3))),
    )
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
    assert found["seen"] == pytest.approx(
        np.mean(signs.average_precisions(vectors[chosen], labels[chosen]))
    )
    assert found["unseen"] == pytest.approx(
        np.mean(signs.average_precisions(vectors[fewer], labels[fewer]))
    )
    assert signs.seen_and_unseen((vectors, np.arange(40)), (vectors, labels)) == {}


def test_out_of_reach_is_what_inspect_says(rows):
    steep = lab.losses.create("smooth_ap", tau=1e-4)
    found = signs.out_of_reach(steep, *map(torch.from_numpy, rows))
    seen = lab.inspect.dead_gradients(lab.inspect.pair_gradients(steep, *rows))
    assert found["out_of_reach"] == seen.share > 0.5 and found["behind"] == (seen.gaps > 0).mean()


@pytest.fixture
def untrained():
    """A batch as an untrained network makes it: all rows lie close together, those of a class a little closer."""
    random = np.random.default_rng(3)
    labels = np.repeat(np.arange(16), 4)
    rows = 1 + 0.08 * random.normal(size=(16, 32))[labels] + 0.12 * random.normal(size=(64, 32))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return torch.from_numpy(rows.astype(np.float32)), torch.from_numpy(labels)


def of_loss(name, batch, **knobs):
    kind = lab.losses.get(name)
    return signs.of_loss(kind.sized(num_classes=16, dim=32, **knobs), *batch)


@pytest.mark.parametrize("name", lab.losses.names())
def test_a_loss_can_fall_at_its_defaults_and_hardly_at_a_temperature_too_wide(name, untrained):
    found = of_loss(name, untrained)
    # it pushes all proxies away at once
    assert "sharper" not in found or found["range"] > 0.5 or name == "proxy_anchor"
    assert found.get("perfect", 0) < 0.2 * found["now"]
    for knob, factor in lab.losses.get(name).temperatures.items():
        # a slope that no temperature flattens
        if lab.losses.get(name).lengths_matter or name in (
            "roadmap",
            "sup_ap",
        ):
            continue
        default = lab.losses.get(name).Knobs.model_fields[knob].default
        wide = of_loss(name, untrained, **{knob: default * (1e4 if factor < 1 else 1e-4)})
        assert wide["range"] < 0.05 and wide["sharper"] > 3 * wide["range"]


@pytest.mark.parametrize("name", ["smooth_ap", "contrastive", "nt_xent"])
def test_a_wrong_sign_and_labels_in_another_order_are_seen(name, untrained):
    loss = lab.losses.create(name)
    other = torch.from_numpy(np.random.default_rng(0).permutation(64))
    turned = signs.of_loss(lambda rows, labels: -loss(rows, labels), *untrained)
    assert turned["perfect"] > turned["now"] + 0.5 * abs(turned["now"])
    mixed = signs.of_loss(lambda rows, labels: loss(rows, labels[other]), *untrained)
    assert mixed["perfect"] > 0.9 * mixed["now"]


def test_a_memory_of_other_batches_does_not_count(untrained):
    memory = lab.wrappers.create(
        "cross_batch_memory", loss=lab.losses.create("contrastive"), size=128, dim=32
    )
    memory(*untrained)
    found = signs.of_loss(memory, *untrained)
    assert found == signs.of_loss(memory.loss, *untrained) and int(memory.seen) == 64


def test_other_temperatures_are_those_of_copies_wrapped_or_not():
    rows, labels = torch.eye(4), torch.tensor([0, 0, 1, 1])
    loss = lab.losses.create("smooth_ap", tau=0.1)
    wrapped = lab.wrappers.create("simix", loss=loss)
    for given, inner in ((loss, lambda one: one), (wrapped, lambda one: one.loss)):
        (other,) = signs.with_other_temperatures(given, 10)
        assert inner(other).tau == pytest.approx(1.0) and inner(given).tau == 0.1
        assert torch.isfinite(other(rows, labels))
    own = torch.nn.Module()
    own.temperature = 0.5
    (other,) = signs.with_other_temperatures(own, 10)
    assert other.temperature == 5 and own.temperature == 0.5
    assert not list(signs.with_other_temperatures(lambda rows, labels: rows.sum(), 10))


def test_positives_without_a_pull_are_tried_at_wider_temperatures(untrained):
    dead = signs.out_of_reach(lab.losses.create("smooth_ap", tau=1e-7), *untrained)
    assert dead["out_of_reach"] > 0.6 and dead["woken"] < 0.1
    beyond = signs.out_of_reach(lab.losses.create("recall_at_k", k=(1,)), *untrained)
    assert beyond.get("woken", 1.0) > 0.5 * beyond["out_of_reach"]


def test_a_step_moves_weights_by_its_rate():
    weights = [torch.nn.Parameter(torch.full((4, 4), value)) for value in (1.0, 2.0, 5.0)]
    for one in weights:
        one.grad = torch.ones_like(one)
    optimiser = torch.optim.SGD(weights, lr=0.1)
    assert signs.moved_by(weights, optimiser.step) == pytest.approx(0.05)
    assert float(weights[0].detach()[0, 0]) == pytest.approx(0.9)


def test_copies_are_found_by_their_pixels():
    images = torch.rand(6, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    seen, others = (
        signs.Thumbnails()(images).numpy(),
        signs.Thumbnails()(images[[4, 1]] * 0.9 + 0.05).numpy(),
    )
    assert signs.copies(seen, others).tolist() == [False, True, False, False, True, False]
