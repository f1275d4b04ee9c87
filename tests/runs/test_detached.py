"""Detached runs and the queue: started, seen, stopped, killed, adopted, reordered; on after an error."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import lab.runs
from lab.core.files import write_json
from lab.launchers.background import detached as launching
from lab.launchers.background.queue import Queue
from lab.runs import RunConfig
from lab.runs.folder import working
from lab.runs.process import Worker
from tests.runs.conftest import wait_for


def endless(tiny):
    return {
        **tiny,
        "training": {"steps": 100_000, "checkpoint_every": 50, "validate_every": 100_000},
    }


@pytest.fixture
def tidy():
    """Runs to kill when the test is over, whatever happened."""
    runs = []
    yield runs.append
    for run in runs:
        launching.kill(run)


def test_a_launched_run_lives_on_its_own_and_stops_when_asked(tiny, tmp_path, tidy):
    run = lab.runs.create(RunConfig.of(endless(tiny)), tmp_path, "detached")
    tidy(run)
    worker = launching.launch(run)
    assert worker.alive and working(run)
    assert (run.state, run.status["phase"]) == ("running", "starting"), (
        "it is at work, before its first word"
    )
    with pytest.raises(ValueError, match="already running"):
        launching.launch(run)
    wait_for(lambda: run.status.get("step", 0) > 0)
    threads = {
        os.getpriority(os.PRIO_PROCESS, one.id) for one in psutil.Process(worker.pid).threads()
    }
    assert threads == {launching.NICENESS}, (
        "it gives way to pages that somebody waits for, in each of its threads"
    )
    groups = Path(f"/proc/{worker.pid}/autogroup")
    assert not groups.exists() or groups.read_text().split()[-1] == str(launching.NICENESS)
    # Somebody else, for instance a restarted server, finds it by its files alone.
    found = lab.runs.open("detached", tmp_path)
    assert found.state == "running" and found.snapshot().process == worker
    assert launching.reconcile(tmp_path) == ()
    assert launching.stop(found, grace=60) == "stopped"
    assert found.state == "stopped" and not working(found)
    assert found.checkpoint("last") and "step" in run.log_tail()
    assert launching.stop(found) == "not running"


def test_orphans_are_found_out(tiny, tmp_path):
    config = RunConfig.of(tiny)
    lost, fresh = (lab.runs.create(config, tmp_path, name) for name in ("lost", "fresh"))
    gone = subprocess.Popen([sys.executable, "-c", ""])
    worker = Worker.of(gone.pid).as_dict()
    gone.wait()
    write_json(lost.path / "meta.json", {"worker": worker})
    write_json(lost.path / "status.json", {"state": "running", "step": 5, "steps": 8})
    assert lost.state == "interrupted" and lost.written_state == "running"
    assert [run.name for run in launching.reconcile(tmp_path)] == ["lost"]
    assert lost.written_state == "interrupted" and "step 5" in lost.status["sentence"]
    assert fresh.state == "queued"
    write_json(fresh.path / "launch.json", worker)
    assert fresh.state == "interrupted" and "before it began" in fresh.status["sentence"]


@pytest.fixture
def three(tiny, tmp_path):
    config = RunConfig.of(tiny)
    runs = [lab.runs.create(config, tmp_path, name) for name in "abc"]
    queue = Queue(tmp_path)
    for run in runs:
        queue.add(run)
    return queue, runs


def test_the_order_is_kept_on_disk_and_can_be_changed(three):
    queue, runs = three
    assert Queue(queue.root).names == ("a", "b", "c")
    queue.move("c", 0)
    queue.remove("a")
    assert Queue(queue.root).names == ("c", "b")
    with pytest.raises(ValueError, match="already in the queue"):
        queue.add(runs[1])
    with pytest.raises(ValueError, match="'a' is not in the queue, which holds: c, b"):
        queue.move("a", 0)
    with pytest.raises(ValueError, match="0, the next to start, or more; got -1"):
        queue.move("b", -1)
    queue.move("c", 10**30)
    assert queue.names == ("b", "c")
    queue.move("c", 0)
    queue.add(runs[0], device="cpu", position=0)
    assert (
        queue.names[0] == "a" and lab.runs.open(runs[0].path).config.training.knobs.device == "cpu"
    )


def test_why_nothing_starts_is_said_in_one_sentence(three):
    queue, _ = three
    gone = Worker(Worker.this().host, 2**22 - 1, 1.0)

    def run_by(worker, paused=False):
        write_json(
            queue.root / ".queue.json",
            {"waiting": list("abc"), "paused": paused, "worker": worker.as_dict()},
        )

    for worker, paused, abandoned, words in (
        (Worker.this(), False, False, ""),
        (gone, False, True, "has stopped, perhaps because the machine restarted (3 runs wait)"),
        (gone, True, False, "The queue is paused (3 runs wait)"),
        (Worker("elsewhere", 12, 1.0), False, False, "Process 12 of elsewhere runs the queue"),
    ):
        run_by(worker, paused)
        assert queue.abandoned == abandoned and words in queue.sentence
        assert bool(queue.sentence) == bool(words) == ("lab runs queue go" in queue.sentence)


def test_one_run_a_device_at_a_time(three, monkeypatch):
    queue, runs = three
    started = []
    monkeypatch.setattr("lab.launchers.background.queue.launch", started.append)
    monkeypatch.setattr(
        "lab.launchers.background.queue.working", lambda run: run.name in [r.name for r in started]
    )
    write_config(runs[1], "cuda:1")
    write_config(runs[2], "cuda:1")
    assert [r.name for r in queue.advance()] == ["a", "b"]
    assert queue.advance() == () and queue.names == ("c",)
    started.clear()
    queue.pause()
    assert queue.advance() == ()
    queue.pause(False)
    assert [r.name for r in queue.advance()] == ["c"]


def write_config(run, device):
    run.reconfigure(run.config.changed("training.device", device))


def test_the_worker_goes_on_after_an_error_until_nothing_waits(tiny, tmp_path, tidy):
    short = {**tiny, "training": {"steps": 1}}
    broken = {**short, "data": {**tiny["data"], "root": str(tmp_path / "nowhere")}}
    queue = Queue(tmp_path)
    for name, given in (("broken", broken), ("good", short)):
        run = lab.runs.create(RunConfig.of(given), tmp_path, name)
        tidy(run)
        queue.add(run)
    queue.ensure_worker()
    worker = queue.worker
    queue.ensure_worker()
    assert queue.worker == worker is not None
    good = lab.runs.open("good", tmp_path)
    wait_for(lambda: good.state == "finished")
    failed = lab.runs.open("broken", tmp_path)
    assert failed.state == "failed" and "There is no folder" in failed.status["sentence"]
    assert "There is no folder" in failed.log_tail()
    wait_for(lambda: queue.worker is None and queue.active() == ())
    assert queue.names == ()
