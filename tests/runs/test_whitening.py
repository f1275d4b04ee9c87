"""A last layer that starts from whitening, and the training split as one that is measured."""

import numpy as np
import pytest
import torch

import lab.data
import lab.runs
from lab.evaluation.whitening import learnt
from lab.runs import RunConfig
from lab.runs.building import parts as building
from lab.runs.building.on_features import start_from_whitening
from lab.runs.building.parts import parts_of

GIVEN = {
    "augmentation": {"size": 32},
    "encoder": {"name": "small_cnn", "width": 4, "dim": 6, "unit_features": True},
    "sampler": {"name": "m_per_class", "batch_size": 16, "per_class": 4},
    "loss": "smooth_ap",
    "training": {"steps": 1, "validate_every": 10, "whitening": 200},
}


@pytest.fixture(scope="module")
def emoji():
    return lab.data.create("emoji7")


def test_the_first_embeddings_are_the_whitened_features(emoji):
    """By hand: pooled features of the first 200 training images in the order of their classes, then the formula."""
    config = RunConfig.of(GIVEN)
    parts = parts_of(config, emoji)
    list(start_from_whitening(config, emoji, parts))
    encoder = parts.encoder.eval()
    items = parts.items[np.argsort(emoji.labels[parts.items], kind="stable")][:200]
    (batch,) = building.testing_loader(config, emoji, encoder).split(items)
    with torch.no_grad():
        pooled = encoder.head.norm(encoder.head.pool(encoder.backbone(batch.images)))
        found = encoder(batch.images)
    expected = learnt(pooled.numpy(), batch.labels.numpy(), 6)(pooled.numpy())
    torch.testing.assert_close(found, torch.from_numpy(expected), atol=1e-4, rtol=1e-3)
    assert parts.encoder.head.embed.weight.requires_grad


def test_a_run_starts_so_once_and_not_again_when_it_is_resumed(pictures, tmp_path, monkeypatch):
    import lab.runs.building.on_features

    calls, start = [], start_from_whitening
    monkeypatch.setattr(
        lab.runs.building.on_features,
        "start_from_whitening",
        lambda *given: calls.append(1) or start(*given),
    )
    given = {
        **GIVEN,
        "data": {"name": "class_folders", "root": str(pictures), "test": 0.25, "validation": 0.0},
        "evaluation": {"splits": ["train"]},
    }
    run = lab.runs.create(RunConfig.of(given), tmp_path, "run")
    list(lab.runs.execute(run))
    list(lab.runs.execute(run))
    assert calls == [1] and run.state == "finished"
    # The training split is measured when asked for, and no other then.
    assert set(run.scores("train")["values"]) >= {"r@1", "MAP@R"} and run.scores("test") is None
