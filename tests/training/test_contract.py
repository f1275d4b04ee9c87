"""Every loss and every wrapper trains: one step in a tiny configuration, reproducibly."""

import numpy as np
import pytest
import torch

import lab.data
import lab.losses
import lab.runs
import lab.wrappers
from lab.core.records import Stepped
from lab.runs import RunConfig
from lab.runs.building.parts import parts_of
from lab.training import optimisers, schedules
from lab.training.loop import Trainer


def steps(given, dataset):
    config = RunConfig.of(given)
    trainer = Trainer(parts_of(config, dataset), config.training.knobs)
    records = [r for r in trainer.run() if isinstance(r, Stepped)]
    weights = {**trainer.parts.encoder.state_dict(), **trainer.parts.loss.state_dict()}
    return records, {k: v.clone() for k, v in weights.items()}


def tiny(**sections):
    return {
        "augmentation": {"size": 16},
        "encoder": {"name": "small_cnn", "width": 4, "dim": 256},
        "sampler": {"name": "m_per_class", "batch_size": 16, "per_class": 4},
        "training": {"steps": 2, "validate_every": 100},
        **sections,
    }


@pytest.fixture(scope="module")
def images():
    """Emoji without a split to validate on."""
    dataset = lab.data.create("emoji7")
    dataset.splits = {name: split for name, split in dataset.splits.items() if name != "validation"}
    return dataset


def assert_trains(given, images, twice=True):
    first, weights = steps(given, images)
    assert [r.step for r in first] == [1, 2]
    assert all(np.isfinite(r.loss) and r.gradient_norm > 0 for r in first)
    if twice:
        again, same = steps(given, images)
        assert [(r.loss, r.gradient_norm) for r in first] == [
            (r.loss, r.gradient_norm) for r in again
        ]
        assert weights.keys() == same.keys() and all(
            torch.equal(weights[k], same[k]) for k in weights
        )


REPRODUCED = ("recall_at_k", "contextual", "proxy_anchor", "triplet_margin", "memory_contrastive")
"""One of each kind."""


@pytest.mark.parametrize("name", lab.losses.names())
def test_every_loss_trains_and_reproduces(name, images):
    assert_trains(tiny(loss=name), images, twice=name in REPRODUCED)


@pytest.mark.parametrize("name", lab.wrappers.names())
def test_every_wrapper_trains_and_reproduces(name, images):
    assert_trains(tiny(loss="smooth_ap", wrappers=[name]), images)


def test_every_optimiser_and_schedule(images):
    free = [n for n in schedules.names() if not schedules.get(n).needs_scores]
    names = optimisers.names()
    for number in range(max(len(names), len(free))):
        optimiser = {"name": names[number % len(names)], "lr": 0.01, "anchors_lr": 0.5}
        how = {"optimiser": optimiser, "schedule": free[number % len(free)]}
        records, _ = steps(tiny(loss="proxy_anchor", **how), images)
        assert records[0].lr == pytest.approx(0.01)


@pytest.mark.parametrize(
    "schedule", [n for n in schedules.names() if schedules.get(n).needs_scores]
)
def test_a_schedule_that_follows_validation_refuses_to_go_without(schedule, images):
    with pytest.raises(
        ValueError, match="takes a validation split .--data.validation. and a single process"
    ):
        steps(tiny(loss="smooth_ap", schedule=schedule), images)


@pytest.mark.parametrize("name", ["recall_at_k", "contextual", "proxy_anchor"])
def test_chunks_give_the_whole_batchs_step(name, images):
    frozen = {"name": "small_cnn", "width": 4, "dim": 32, "freeze_batchnorm": True}
    whole, weights = steps(tiny(loss=name, encoder=frozen), images)
    for memory in (0.0, 0.0001, None):
        training = {"steps": 2, "validate_every": 100, "chunk": 5, "graph_memory": memory}
        cut, same = steps(tiny(loss=name, encoder=frozen, training=training), images)
        assert cut[0].loss == pytest.approx(whole[0].loss, abs=1e-6)
        assert cut[0].gradient_norm == pytest.approx(whole[0].gradient_norm, rel=1e-4)


@pytest.mark.parametrize("memory", [0.0, None])
def test_a_streamed_batch_gives_the_whole_batchs_step(memory, images):
    frozen = {"name": "small_cnn", "width": 4, "dim": 32, "freeze_batchnorm": True}
    training = {"steps": 2, "validate_every": 100, "chunk": 5, "graph_memory": memory}
    whole, weights = steps(tiny(loss="recall_at_k", encoder=frozen, training=training), images)
    streamed, same = steps(
        tiny(loss="recall_at_k", encoder=frozen, training={**training, "stream": True}), images
    )
    assert [r.loss for r in streamed] == [r.loss for r in whole]
    assert all(torch.equal(weights[k], same[k]) for k in weights)
    with pytest.raises(ValueError, match="say with chunk how many"):
        steps(tiny(training={"steps": 1, "stream": True}), images)


def test_whole_images_train_one_by_one(images):
    given = tiny(
        loss="recall_at_k",
        augmentation={"size": 24, "crop": "whole"},
        encoder={"name": "small_cnn", "width": 4, "dim": 32, "freeze_batchnorm": True},
        training={
            "steps": 2,
            "validate_every": 100,
            "chunk": 1,
            "stream": True,
            "graph_memory": 0.0,
        },
    )
    assert_trains(given, images)


def test_chunks_refuse_batch_statistics_unless_told(images):
    training = {"steps": 1, "validate_every": 100, "chunk": 4}
    with pytest.raises(ValueError, match="per_chunk"):
        steps(tiny(loss="smooth_ap", training=training), images)
    steps(tiny(loss="smooth_ap", training={**training, "chunk_batchnorm": "per_chunk"}), images)


def test_a_step_leaves_the_callers_random_state_alone(images):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    steps(tiny(loss="nt_xent"), images)
    assert torch.equal(torch.rand(3), expected)
    assert (
        not torch.are_deterministic_algorithms_enabled()
        and torch.utils.deterministic.fill_uninitialized_memory
    )


def test_autocast_trains(images):
    training = {"steps": 2, "validate_every": 100, "precision": "bfloat16", "clip": 0.5}
    assert_trains(tiny(loss="recall_at_k", training=training), images)


@pytest.mark.parametrize(
    ("training", "sentence"),
    [
        ({"precision": "float16", "device": "cpu"}, "float16 needs a GPU"),
        ({"device": "tpu"}, "device"),
        ({"device": "cuda:99"}, "device"),
        ({"select_by": "map"}, "one of r@1, .*MAP@R; got 'map'"),
    ],
)
def test_what_cannot_be_is_refused_before_training(training, sentence):
    with pytest.raises(ValueError, match=sentence):
        parts_of(RunConfig.of(tiny(training=training)))


@pytest.mark.parametrize("loss", ["class_anchor_margin", "contrastive"])
def test_an_accuracy_of_classes_that_validation_has_not_selects_nothing(loss):
    metrics = ["map_at_r", "nearest_anchor_accuracy"]
    with pytest.raises(
        ValueError, match="one of MAP@R; got 'anchor accuracy'. It needs .* images of its classes.$"
    ):
        parts_of(
            RunConfig.of(
                tiny(loss=loss, metrics=metrics, training={"select_by": "anchor accuracy"})
            )
        )
