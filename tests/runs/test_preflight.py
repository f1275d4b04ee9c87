"""The look before a run: each verdict, seen good and seen bad."""

from __future__ import annotations

import shutil

import pytest

import lab.data
from lab.runs import RunConfig
from lab.runs.building.parts import parts_of
from lab.runs.launching import preflight
from lab.runs.launching.preflight import BAD, CAREFUL, GOOD, forecast

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
        "data": GOOD, "memory": GOOD, "gradients": GOOD, "pace": GOOD, "loading": GOOD,
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


def test_files_that_cannot_be_used_are_counted_by_reason_and_listed(pictures, tmp_path):
    """A truncated file has a good header, and went through as one of the images of train."""
    root = shutil.copytree(pictures, tmp_path / "pictures")
    whole = root / "class00" / "0.png"
    whole.write_bytes(whole.read_bytes()[:-40])
    (root / "class01" / "1.png").write_text("no image")
    (root / "class02" / "2.png").write_text("")
    (root / "empty").mkdir()
    data = {"name": "class_folders", "root": str(root), "test": 0.5, "validation": 0.2}
    sampler = {"name": "m_per_class", "batch_size": 4, "per_class": 2}
    checks = preflight.preflight(config(data=data, sampler=sampler))
    first, second = next(checks), next(checks)
    checks.close()
    assert (first.name, first.verdict) == ("data", CAREFUL) and "training classes" in first.sentence
    assert "3 problems in the data, left out of it: " in first.sentence
    assert len(first.values["problems"]) == 3
    assert (second.name, second.verdict) == ("images", CAREFUL)
    assert "1 of 62 files is damaged and will be left out of batches; the first: " in second.sentence
    assert "class00/0.png" in second.values["problems"][0]
    looked, damages = preflight.damaged(lab.data.create("emoji7"))
    assert (looked, damages) == (0, [])


def test_batch_normalisation_under_chunks_is_found():
    found = verdicts(config(encoder={"freeze_batchnorm": False}, training={"chunk": 8}))
    assert found["a training step"][0] == BAD
    assert "normalise over the batch" in found["a training step"][1]


def test_too_little_memory_names_a_chunk_that_fits(monkeypatch):
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("M", (), {"available": 40 * 2**20})())
    verdict, sentence = verdicts(config(sampler={"batch_size": 128}, augmentation={"size": 64}))["memory"]
    assert verdict == BAD and "training.chunk to at most" in sentence


def test_a_wrapper_around_a_ranking_loss_is_said_to_be_guessed(monkeypatch):
    changes = {"loss": "smooth_ap", "wrappers": ["simix"]}
    verdict, sentence = verdicts(config(**changes))["memory"]
    assert verdict == CAREFUL and sentence.endswith(
        "is a guess: it, or a wrapper around it, cannot be measured beforehand."
    )
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("M", (), {"available": 2**20})())
    verdict, sentence = verdicts(config(**changes))["memory"]
    assert verdict == BAD and "lower sampler.batch_size. The loss's part is a guess" in sentence


def test_a_streamed_run_is_looked_at_too():
    found = verdicts(config(training={"chunk": 8, "stream": True}))
    assert {"data", "loading", "memory", "gradients", "pace"} == set(found)
    assert found["gradients"][0] == GOOD


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
