"""The look before a run: each verdict, seen good and seen bad."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch

from lab.runs import RunConfig
from lab.runs.building.parts import parts_of
from lab.runs.launching import preflight
from lab.runs.launching.preflight import BAD, GOOD, forecast

TINY = {
    "data": {"name": "emoji7", "test": 0.04, "validation": 0.04},
    "augmentation": {"size": 32},
    "encoder": {"name": "small_cnn", "freeze_batchnorm": True},
    "sampler": {"name": "m_per_class", "batch_size": 32},
    "training": {"steps": 10, "device": "cpu"},
}


def config(**changes) -> RunConfig:
    return RunConfig.of(
        {**TINY, **{k: {**TINY.get(k, {}), **v} if isinstance(v, dict) else v for k, v in changes.items()}}
    )


def verdicts(asked: RunConfig) -> dict[str, tuple[str, str]]:
    return {check.name: (check.verdict, check.sentence) for check in preflight.preflight(asked)}


def test_a_sound_run_is_good_everywhere():
    found = verdicts(config(training={"chunk": 8}))
    assert {name: verdict for name, (verdict, _) in found.items()} == {
        "data": GOOD, "memory": GOOD, "gradients": GOOD, "pace": GOOD,
    }  # fmt: skip
    assert "equal" in found["gradients"][1]


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"data": {"name": "class_folders", "root": "nowhere", "test": 0.5, "validation": 0.2}}, "no folder"),
        ({"sampler": {"batch_size": 32, "per_class": 16}}, "16"),
        ({"training": {"device": "cuda:99"}}, "device"),
    ],
)
def test_what_cannot_start_is_said_and_ends_the_look(changes, word):
    found = verdicts(config(**changes))
    assert list(found) == ["data"]
    assert found["data"][0] == BAD and word in found["data"][1]


def test_batch_normalisation_under_chunks_is_found():
    found = verdicts(config(encoder={"freeze_batchnorm": False}, training={"chunk": 8}))
    assert found["a training step"][0] == BAD
    assert "normalise over the batch" in found["a training step"][1]


def test_too_little_memory_names_a_chunk_that_fits(monkeypatch):
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("M", (), {"available": 40 * 2**20})())
    verdict, sentence = verdicts(config(sampler={"batch_size": 128}, augmentation={"size": 64}))["memory"]
    assert verdict == BAD and "training.chunk to at most" in sentence


def test_wrong_chunked_gradients_are_found(monkeypatch):
    """Negative control: a step whose last chunk gets no gradient."""
    true = preflight.gradients

    def forgetful(encoder, loss, images, labels, *, chunk=None, **rest):
        if chunk is not None and len(images) == preflight.SAMPLED:
            images, labels = images[:-chunk], labels[:-chunk]
        return true(encoder, loss, images, labels, chunk=chunk, **rest)

    monkeypatch.setattr(preflight, "gradients", forgetful)
    verdict, sentence = verdicts(config(training={"chunk": 8}))["gradients"]
    assert verdict == BAD and "not equal" in sentence


def test_the_forecast_grows_with_the_chunk():
    def graph(**training) -> float:
        asked = config(training=training)
        parts = parts_of(asked)
        batch = next(iter(parts.loader.batches([parts.items[parts.sampler.batch(0)]])))
        said = forecast(asked, parts, batch.images, batch.labels).parts
        return said.get("encoder's graph", 0) + said.get("kept graphs", 0)

    whole, half, quarter = graph(), graph(chunk=16), graph(chunk=8)
    assert half == pytest.approx(whole / 2, rel=0.01) and quarter == pytest.approx(whole / 4, rel=0.01)
    # The peak is while the loss holds most, or once it has given that back and the first chunk its graph.
    assert whole * 0.74 < graph(chunk=8, graph_memory=1) <= whole


def test_the_forecast_counts_what_autograd_keeps():
    """Layers whose kept bytes a person can count: four numbers an image, the second one's input."""

    class One(torch.nn.Module):
        dim = 4

        def __init__(self):
            super().__init__()
            self.layer, self.last = torch.nn.Conv2d(3, 4, 8), torch.nn.Linear(4, 4)

        def forward(self, images):
            return self.last(self.layer(images).flatten(1))

    asked = config()
    parts = parts_of(asked)
    object.__setattr__(parts, "encoder", One())
    images = torch.randn(32, 3, 8, 8)
    batch = next(iter(parts.loader.batches([parts.items[parts.sampler.batch(0)]])))
    needs = forecast(asked, parts, images, batch.labels).parts
    assert needs["encoder's graph"] == 32 * 4 * 4


def test_as_a_program_it_prints_one_json_object_a_line(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text(config().as_yaml())
    done = subprocess.run(
        [sys.executable, "-m", "lab.runs.launching.preflight", str(file)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert [json.loads(line)["name"] for line in done.stdout.splitlines()] == ["data", "memory", "gradients", "pace"]
