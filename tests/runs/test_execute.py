"""A run from start to scores, and through every way it can be cut short."""

import inspect
import json
import os
import signal

import numpy as np
import pytest
import torch
import yaml
from PIL import Image
from torch.optim.optimizer import register_optimizer_step_pre_hook

import lab.runs
from lab.core import arrays
from lab.core.files import read_json, write_json
from lab.core.records import Note, Stepped
from lab.data.images import loading
from lab.runs import RunConfig
from lab.runs.execute import execute
from lab.training import checkpoint
from lab.training.loop import Stopped
from tests.runs.conftest import COMMAND, wait_for


def train(given, root, name="run"):
    run = lab.runs.create(RunConfig.of(given), root, name)
    return run, list(execute(run))


def last_state(run):
    return checkpoint.load(run.path / "checkpoints" / "last.safetensors")


def assert_same(one, other, path=""):
    if isinstance(one, dict):
        assert one.keys() == other.keys(), path
        for key in one:
            if key != "seconds":
                assert_same(one[key], other[key], f"{path}.{key}")
    elif isinstance(one, torch.Tensor):
        assert one.dtype == other.dtype and torch.equal(one, other), path
    elif isinstance(one, list):
        assert len(one) == len(other), path
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same(a, b, f"{path}[{i}]")
    else:
        assert one == other, path


def losses(run):
    return [(r["step"], r["loss"], r["gradient_norm"], r["lr"]) for r in run.metrics("stepped")]


def test_a_run_leaves_everything_behind(whole):
    assert whole.state == "finished" and whole.splits == ("test", "validation")
    assert [r["step"] for r in whole.metrics("stepped")] == list(range(1, 9))
    assert [r["step"] for r in whole.metrics("validated")] == [4, 8]
    assert whole.meta["worker"]["pid"] == os.getpid() and "torch" in whole.meta["versions"]
    assert whole.meta["kernels"] in ("plain", "compiled") and whole.meta["host"]
    test = whole.embeddings("test")
    dataset = whole.dataset()
    assert np.array_equal(test.items, dataset.splits["test"].items)
    assert np.array_equal(test.labels, dataset.labels[test.items])
    assert np.allclose(np.linalg.norm(test.vectors, axis=1), 1, atol=1e-5)
    assert len(whole.per_query("test")["r@1"]) == len(test)
    scores = whole.scores("test")
    assert scores["values"]["r@1"] == pytest.approx(np.nanmean(whole.per_query("test")["r@1"]))
    assert scores["step"] in (4, 8) and scores["queries"] == len(test)
    assert set(whole.batches()) == {4, 8} and set(whole.frames()) == {0, 4, 8}, (
        "before the first step, too"
    )
    assert (
        arrays.read(whole.batches()[4])["embeddings"].shape == (8, 8)
        and arrays.header(whole.batches()[4])["step"] == 4
    )
    validated = whole.metrics("validated")[0]
    assert len(validated["pinned"]) == 8 and sum(validated["similarities"]["positive"]) > 0


def test_the_same_seed_gives_the_same_run_and_another_seed_another(whole, tiny_once, tmp_path):
    again, _ = train(tiny_once, tmp_path, "again")
    assert_same(last_state(whole), last_state(again))
    assert losses(whole) == losses(again)
    training = {**tiny_once["training"], "seed": 1}
    other, _ = train({**tiny_once, "training": training}, tmp_path, "other")
    assert losses(whole) != losses(other)


def test_a_run_ends_the_same_however_many_processes_load_ahead(
    whole, tiny_once, tmp_path, monkeypatch
):
    """Begun with none, and resumed where two suit the machine, as beside a GPU."""
    run = lab.runs.create(RunConfig.of(tiny_once), tmp_path, "moved")
    asked = iter([False, False, False])
    list(execute(run, lambda: next(asked, True)))
    assert run.state == "stopped" and last_state(run)["progress"]["step"] < 8
    monkeypatch.setattr(
        loading, "num_workers", lambda on_gpu, in_memory, part: 2 if part == 8 * 3 * 16 * 16 else 0
    )
    said = [record.sentence for record in execute(run) if isinstance(record, Note)]
    assert any(
        "8 steps of 8 images, loaded ahead by 2 processes, on cpu" in sentence for sentence in said
    )
    assert_same(last_state(whole), last_state(run))


# Where a kill may fall: the nth replacement of a file, just before or just after it. The counts were chosen to meet
# the first status, a best and a last checkpoint, the gap between these two, a validation's frame and the evaluation.
KILLS = [("before", 3), ("after", 9), ("before", 10), ("before", 16), ("before", 21)]

KILLER = """
    import os, signal, sys
    import lab.runs
    from lab.core import files

    path, when, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    replace = os.replace

    def killing(source, target):
        global count
        count -= 1
        if count == 0 and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        replace(source, target)
        if count == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    files.os.replace = killing
    list(lab.runs.execute(lab.runs.open(path)))
"""
"""Trains a run until it is killed."""


@pytest.mark.parametrize("kill", KILLS, ids=lambda kill: f"{kill[0]}-{kill[1]}")
def test_killed_at_any_file_the_run_resumes_to_the_same_end(
    whole, forked, tiny_once, tmp_path, kill
):
    run, count = lab.runs.create(RunConfig.of(tiny_once), tmp_path, "killed"), kill[1]
    assert forked(KILLER, run.path, *kill).wait() == -signal.SIGKILL
    assert run.state == "interrupted" or (run.state == "queued" and count <= 3)
    assert [r["step"] for r in run.metrics("stepped")] == list(
        range(1, len(run.metrics("stepped")) + 1)
    )
    list(execute(run))
    assert run.state == "finished"
    assert_same(last_state(whole), last_state(run))
    assert losses(run) == losses(whole)
    assert run.scores("test")["values"] == whole.scores("test")["values"]
    assert np.array_equal(run.embeddings("test").vectors, whole.embeddings("test").vectors)
    assert not list(run.path.rglob("*.tmp"))


WAITER = """
    import sys, time
    from lab.__main__ import main
    from lab.runs.writer import Writer
    append = Writer.append
    def waiting(self, record):
        append(self, record)
        if record.get("step") == 3:
            print("there", flush=True)
            time.sleep(600)
    Writer.append = waiting
    main(sys.argv[1:])
"""
"""The command, which waits after its third step for whatever may come."""


def test_killed_from_outside_and_resumed_by_the_command(whole, forked, tiny_once, tmp_path):
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(tiny_once))
    words = ["train", "--config", tmp_path / "c.yaml", "--runs", tmp_path, "--name", "r", "--json"]
    process = forked(WAITER, *words)
    wait_for(lambda: "there" in process.out)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    metrics = tmp_path / "r" / "metrics.jsonl"
    run = lab.runs.open(tmp_path / "r")
    assert [r["step"] for r in run.metrics("stepped")] == [1, 2, 3]
    assert run.state == "interrupted" and "without a word" in run.status["sentence"]
    with open(metrics, "a") as file:
        file.write('{"kind": "stepped", "step": 9')
    assert run.metrics() and run.metrics()[-1]["step"] != 9
    resumed = forked(COMMAND, "train", "--resume", "r", "--runs", tmp_path, "--json")
    assert resumed.wait() == 0, resumed.err
    assert json.loads(resumed.out)["state"] == "finished"
    assert_same(last_state(whole), last_state(run))
    assert losses(run) == losses(whole)


def test_asked_to_stop_it_saves_and_goes_on_later(whole, tiny_once, tmp_path):
    run = lab.runs.create(RunConfig.of(tiny_once), tmp_path, "stopped")
    seen = []
    for record in execute(run, stop=lambda: len(seen) >= 3):
        if isinstance(record, Stepped):
            seen.append(record.step)
    assert run.state == "stopped" and 3 <= run.status["step"] < 8
    assert last_state(run)["progress"]["step"] == run.status["step"]
    list(execute(run))
    assert run.state == "finished"
    assert_same(last_state(whole), last_state(run))


@pytest.mark.parametrize(
    ("what", "sentence"), [("loss", "step 4 because the loss is nan"), ("grad", "gradient's norm")]
)
def test_what_is_not_finite_stops_the_run_before_the_weights_change_and_keeps_the_batch(
    what, sentence, tiny, tmp_path, monkeypatch
):
    import lab.losses.recall_at_k as module

    forward, calls, updates = module.RecallAtK.forward, [], []

    def exploding(self, embeddings, labels):
        if any(frame.filename.endswith(("signs.py", "checkups.py")) for frame in inspect.stack()):
            return forward(self, embeddings, labels)
        calls.append(1)
        if len(calls) == 4 and what == "grad":
            embeddings.register_hook(lambda grad: grad * float("inf"))
        return forward(self, embeddings, labels) * (
            float("nan") if len(calls) == 4 and what == "loss" else 1
        )

    monkeypatch.setattr(module.RecallAtK, "forward", exploding)
    run = lab.runs.create(RunConfig.of(tiny), tmp_path, "diverged")
    watch = register_optimizer_step_pre_hook(lambda *_: updates.append(1))
    try:
        with pytest.raises(Stopped, match=sentence):
            list(execute(run))
    finally:
        watch.remove()
    assert len(updates) == 3 and [r["step"] for r in run.metrics("stepped")] == [1, 2, 3]
    assert (
        run.state == "failed"
        and "step 4" in run.status["sentence"]
        and "\n" not in run.status["sentence"]
    )
    batch = arrays.read(run.failure)
    assert batch["embeddings"].shape == (8, 8) and arrays.header(run.failure)["step"] == 4
    assert np.array_equal(run.dataset().labels[batch["items"]], batch["labels"])


def test_a_run_keeps_its_images_when_more_come_into_their_folder(tmp_path):
    photos = tmp_path / "photos"
    for index, name in enumerate("bcdefg"):
        (photos / name).mkdir(parents=True)
        for one in range(4):
            Image.new("RGB", (32, 32), (40 * index, 20 * one, 90)).save(
                photos / name / f"{one}.png"
            )
    config = RunConfig.of(
        {
            "data": {"name": "class_folders", "root": str(photos), "validation": 0.34},
            "encoder": {"name": "small_cnn", "dim": 8},
            "sampler": {"name": "m_per_class", "batch_size": 4, "per_class": 2},
            "training": {"steps": 1, "device": "cpu"},
        }
    )
    run = lab.runs.create(config, tmp_path / "runs", "kept")
    list(execute(run))
    before, read = run.dataset(), config.data.create()
    assert before.keys == read.keys and before.class_names == read.class_names
    assert (before.labels == read.labels).all() and (
        before.splits["test"].query == read.splits["test"].query
    ).all()
    assert before.load(3).tobytes() == read.load(3).tobytes()

    (photos / "a").mkdir()
    Image.new("RGB", (32, 32)).save(photos / "a" / "0.png")
    again = lab.runs.open(run.path)
    assert again.dataset().keys == before.keys and config.data.create().keys != before.keys

    listed = run.path / "images.json"
    write_json(listed, read_json(listed) | {"labels": [77] * len(before)})
    again = lab.runs.open(run.path, allow="paths")  # the list is no longer as this account wrote it
    with pytest.raises(ValueError, match=r"list of the images is damaged.*move images\.json away"):
        again.dataset()
    listed.write_text("{")
    with pytest.raises(ValueError, match=r"images\.json is no JSON object: .*Move it away"):
        again.dataset()
    listed.unlink()
    assert "a/0.png" in again.dataset(changed=True).keys, "without a list the folder is read anew"
