"""The look before a run: each verdict, seen good and seen bad."""

from __future__ import annotations

import shutil

import pytest

from lab.launchers.background import preflight
from lab.launchers.background.preflight import BAD, CAREFUL, GOOD
from lab.runs import RunConfig

TINY = {
    "data": {"name": "emoji7", "test": 0.04, "validation": 0.04},
    "augmentation": {"size": 32},
    "encoder": {"name": "small_cnn", "freeze_batchnorm": True},
    "sampler": {"name": "m_per_class", "batch_size": 32},
    "training": {"steps": 10, "device": "cpu"},
}


def config(**changes) -> RunConfig:
    return RunConfig.of(
        {
            **TINY,
            **{
                k: {**TINY.get(k, {}), **v} if isinstance(v, dict) else v
                for k, v in changes.items()
            },
        }
    )


def verdicts(asked: RunConfig) -> dict[str, tuple[str, str]]:
    return {check.name: (check.verdict, check.sentence) for check in preflight.preflight(asked)}


def test_a_sound_run_is_good_everywhere():
    found = verdicts(config(training={"chunk": 8}))
    assert {name: verdict for name, (verdict, _) in found.items()} == {
        "data": GOOD, "memory": GOOD, "pace": GOOD, "loading": GOOD,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        (
            {"data": {"name": "class_folders", "root": "nowhere", "test": 0.5, "validation": 0.2}},
            "no folder",
        ),
        ({"sampler": {"batch_size": 32, "per_class": 16}}, "16"),
        ({"training": {"device": "cuda:99"}}, "device"),
    ],
)
def test_what_cannot_start_is_said_and_ends_the_look(changes, word):
    found = verdicts(config(**changes))
    assert list(found) == ["data"]
    assert found["data"][0] == BAD and word in found["data"][1]


def test_files_that_cannot_be_used_are_counted_by_reason_and_listed(pictures, tmp_path):
    root = shutil.copytree(pictures, tmp_path / "pictures")
    (root / "class01" / "1.png").write_text("no image")
    (root / "class02" / "2.png").write_text("")
    (root / "empty").mkdir()
    data = {"name": "class_folders", "root": str(root), "test": 0.5, "validation": 0.2}
    sampler = {"name": "m_per_class", "batch_size": 4, "per_class": 2}
    checks = preflight.preflight(config(data=data, sampler=sampler))
    first = next(checks)
    checks.close()
    assert (first.name, first.verdict) == ("data", CAREFUL) and "training classes" in first.sentence
    assert "Left out of the data: " in first.sentence
    assert len(first.values["problems"]) == 3


def test_batch_normalisation_under_chunks_is_found():
    found = verdicts(config(encoder={"freeze_batchnorm": False}, training={"chunk": 8}))
    assert found["a training step"][0] == BAD
    assert "normalise over the batch" in found["a training step"][1]


def test_too_little_memory_names_a_chunk_that_fits(monkeypatch):
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("M", (), {"available": 40 * 2**20})())
    verdict, sentence = verdicts(config(sampler={"batch_size": 128}, augmentation={"size": 64}))[
        "memory"
    ]
    assert verdict == BAD and "training.chunk to at most" in sentence
