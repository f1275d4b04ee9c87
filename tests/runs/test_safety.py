"""What an attack found: two writers, set clocks, copies, links, torn evaluations, damage, modes, full disks."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

import lab.runs
from lab.__main__ import main
from lab.core import arrays
from lab.launchers.background import detached as launching
from lab.launchers.background.queue import Queue
from lab.runs import Run, RunConfig, Writer, check, management
from lab.runs.building.trained import open_trained
from lab.runs.evaluate import evaluate_run
from lab.runs.execute import execute
from lab.runs.folder import RUNNING, working
from lab.training import checkpoint
from tests.runs.conftest import COMMAND, wait_for


@pytest.fixture
def fresh(tiny, tmp_path):
    return lab.runs.create(RunConfig.of(tiny), tmp_path, "fresh")


@pytest.fixture
def trained(whole, tmp_path):
    return Run(shutil.copytree(whole.path, tmp_path / "trained"))


def at_work(run):
    """As a process that trains it: its lock, its name, its state."""
    writer = Writer(run)
    writer.claim()
    writer.status(RUNNING, step=3, steps=8)
    return writer


# One writer


def test_whoever_writes_a_run_is_alone_with_it(trained):
    with Writer(trained):
        for act in (
            lambda: list(execute(trained)),
            lambda: main(["evaluate", str(trained.path)]) == 2 or pytest.fail("evaluated"),
            lambda: launching.launch(trained),
            lambda: management.rename(trained, "other"),
            lambda: management.trash(trained),
        ):
            with pytest.raises(ValueError, match="already running|being written"):
                act()
                raise ValueError("being written")  # the command says so itself
    assert trained.state == "finished" and management.rename(trained, "other").name == "other"


def test_a_copy_of_a_run_at_work_is_its_own(fresh, tmp_path, monkeypatch):
    asked = []
    with at_work(fresh):
        copy = Run(shutil.copytree(fresh.path, tmp_path / "copy"))
        monkeypatch.setattr(
            "lab.launchers.background.detached.os.kill", lambda *given: asked.append(given)
        )
        assert fresh.state == RUNNING and copy.state == "interrupted" and not working(copy)
        assert launching.stop(copy) == "not running" and asked == []
        management.trash(copy)


# The queue


def test_a_run_that_a_killed_worker_had_started_is_not_started_twice(tiny, tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr("lab.launchers.background.queue.launch", started.append)
    queue, run = Queue(tmp_path), lab.runs.create(RunConfig.of(tiny), tmp_path, "a")
    queue.add(run)
    with at_work(run):
        assert queue.advance() == () and queue.names == () and started == []


# Evaluations


def test_an_evaluation_that_is_killed_leaves_no_scores_of_others(trained, monkeypatch):
    config = trained.config.changed("evaluation.beta", 1.0)
    true, left = os.replace, [1]

    class Killed(BaseException):
        pass

    def replace(source, target):
        if Path(target).parent.name in ("embeddings", "scores") and not Path(
            target
        ).name.startswith("."):
            if left[0] == 0:
                raise Killed
            left[0] -= 1
        true(source, target)

    with monkeypatch.context() as killed, pytest.raises(Killed):
        killed.setattr("lab.core.files.os.replace", replace)
        with Writer(trained) as writer:
            list(evaluate_run(trained, writer, config, ("test",)))
    lengths = np.linalg.norm(trained.embeddings("test").vectors, axis=1)
    assert lengths.min() > 1.0001, "the new embeddings are there"
    assert trained.scores("test") is None and trained.config_of("test").similarity == "euclidean"
    with pytest.raises(ValueError, match="lab evaluate"):
        trained.per_query("test")
    assert main(["runs", "check", "trained", "--runs", str(trained.path.parent)]) == 1


# Checksums and damage


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def test_one_flipped_bit_is_found_when_it_is_read(trained):
    for name, act in {
        "checkpoints/best": lambda: open_trained(trained, "best"),
        "checkpoints/last": lambda: list(execute(trained)),
        "embeddings/test": lambda: trained.columns("embeddings", "test"),
        "scores/test": lambda: trained.per_query("test"),
        "frames/step_00000008": lambda: arrays.read(trained.frames()[8]),
    }.items():
        path = trained.path / f"{name}.safetensors"
        flip(path, -3)
        with pytest.raises(
            arrays.Damaged, match=rf"{path.name} cannot be read, it is damaged .*; .*\.$"
        ):
            act()
        flip(path, -3)


@pytest.mark.parametrize("change", [lambda s: s.pop("optimiser"), lambda s: s.update(encoder={})])
def test_a_checkpoint_that_lacks_something_is_one_sentence(trained, change, capsys):
    state = checkpoint.load(trained.checkpoint("last"))
    change(state)
    checkpoint.save(trained.checkpoint("last"), state)
    assert main(["train", "--resume", str(trained.path), "--quiet"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert "does not fit the configuration" in said and len(said) < 500


def test_what_is_damaged_is_found_with_what_to_do(trained):
    (trained.path / "status.json").write_text("{")
    (trained.path / "launch.json").write_text("x")
    (trained.path / "frames" / "step_00000004.safetensors").write_bytes(b"torn")
    flip(trained.path / "embeddings" / "test.safetensors", -3)
    (trained.path / ".meta.json.1234abcd.tmp").write_text("{")  # as a kill leaves it
    found = {f.file: f.advice for f in check.check(trained)}
    assert len(found) == 4 and all(found.values())
    with Writer(trained):
        assert not (trained.path / ".meta.json.1234abcd.tmp").exists()


# The command line


def test_a_stopped_training_says_so_and_exits_by_its_signal(forked, tiny, tmp_path):
    long = {
        **tiny,
        "training": {"steps": 100_000, "checkpoint_every": 50_000, "validate_every": 100_000},
    }
    run = lab.runs.create(RunConfig.of(long), tmp_path, "long")
    process = forked(COMMAND, "train", "--resume", run.path, "--quiet")
    wait_for(lambda: run.state == RUNNING and run.status.get("step", 0) > 0)
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait() == 143
    assert "this step is finished and saved" in process.err
    assert (
        run.state == "stopped" and checkpoint.load(run.checkpoint("last"))["progress"]["step"] > 0
    )


def test_a_file_is_replaced_and_never_written_in_place(tmp_path):
    """Who has the old file open, as a kill in the middle would leave it, goes on reading the old content."""
    from lab.core.files import write_bytes

    path = tmp_path / "status.json"
    write_bytes(path, b"old")
    with open(path, "rb") as before:
        write_bytes(path, b"new")
        assert before.read() == b"old" and path.read_bytes() == b"new"
