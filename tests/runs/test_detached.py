"""Detached runs and the queue: started, seen, stopped, killed, adopted, reordered; on after an error."""

import json
import subprocess
import sys
import time

import pytest

import lab.runs
from lab.__main__ import main
from lab.core.files import write_json
from lab.runs import RunConfig
from lab.runs.launching import detached as launching
from lab.runs.launching import stop_request
from lab.runs.launching.queue import Queue
from lab.runs.process import Worker
from tests.runs.conftest import wait_for


def endless(tiny):
    return {**tiny, "training": {"steps": 100_000, "checkpoint_every": 50, "validate_every": 100_000}}


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
    assert worker.alive and launching.working(run) and run.state == "queued"
    with pytest.raises(ValueError, match="already running"):
        launching.launch(run)
    wait_for(lambda: run.status.get("step", 0) > 0)
    # Somebody else, for instance a restarted server, finds it by its files alone.
    found = lab.runs.open("detached", tmp_path)
    assert found.state == "running" and found.snapshot().process == worker
    assert launching.reconcile(tmp_path) == ()
    assert launching.stop(found, grace=60) == "stopped"
    assert found.state == "stopped" and not launching.working(found)
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


def test_a_run_of_another_host_counts_as_alive_while_it_reports(tiny, tmp_path):
    run = lab.runs.create(RunConfig.of(tiny), tmp_path, "far")
    write_json(run.path / "meta.json", {"worker": Worker("elsewhere", 1, 1.0).as_dict()})
    write_json(run.path / "status.json", {"state": "running", "updated": time.time()})
    assert run.state == "running"
    write_json(run.path / "status.json", {"state": "running", "updated": time.time() - 3600})
    assert run.state == "interrupted"


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
    assert queue.names[0] == "a" and lab.runs.open(runs[0].path).config.training.knobs.device == "cpu"


def test_a_finished_or_foreign_run_cannot_wait(tiny, tmp_path):
    run = lab.runs.create(RunConfig.of(tiny), tmp_path / "elsewhere", "r")
    with pytest.raises(ValueError, match="is not in"):
        Queue(tmp_path).add(run)
    write_json(run.path / "status.json", {"state": "finished"})
    with pytest.raises(ValueError, match="something left to do"):
        Queue(run.path.parent).add(run)


def test_one_run_a_device_at_a_time(three, monkeypatch):
    queue, runs = three
    started = []
    monkeypatch.setattr("lab.runs.launching.queue.launch", started.append)
    monkeypatch.setattr("lab.runs.launching.queue.working", lambda run: run.name in [r.name for r in started])
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


def test_a_damaged_folder_does_not_hold_up_the_queue(three):
    queue, runs = three
    (runs[0].path / "status.json").write_text("{")
    (runs[1].path / "config.yaml").unlink()
    assert runs[0].state == "damaged" and queue.names == ("a", "c")
    state = json.loads((queue.root / ".queue.json").read_text())
    assert state["waiting"] == ["a", "b", "c"]
    (queue.root / ".queue.json").write_text("damaged")
    assert queue.names == ()


def test_a_run_on_another_machine_is_asked_by_a_file_in_its_folder(tiny, tmp_path, capsys):
    run = lab.runs.create(RunConfig.of(tiny), tmp_path, "r")
    write_json(run.path / "meta.json", {"worker": Worker("elsewhere", 1, 1.0).as_dict()})
    write_json(run.path / "status.json", {"state": "running", "updated": time.time()})
    assert main(["stop", "r", "--runs", str(tmp_path)]) == 0
    assert "is running on elsewhere and was asked to stop" in capsys.readouterr().err
    assert (run.path / stop_request.FILE).is_file()


def test_the_run_of_another_account_is_not_ours_to_stop(tiny, tmp_path, capsys, monkeypatch):
    run = lab.runs.create(RunConfig.of(tiny), tmp_path, "theirs")
    write_json(run.path / "launch.json", run.signed(Worker.this()))

    def forbidden(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("lab.runs.launching.detached.os.kill", forbidden)
    assert main(["stop", str(run.path)]) == 2
    assert "is being trained by another account" in capsys.readouterr().err


def test_a_worker_that_leaves_says_so_before_it_is_gone(tmp_path, monkeypatch):
    monkeypatch.setattr("lab.runs.launching.queue.launch", lambda run: None)
    queue = Queue(tmp_path)
    queue.add(lab.runs.create(RunConfig.of().changed("training.device", "cpu"), tmp_path, "first"))
    monkeypatch.setattr("lab.runs.launching.queue.PAUSE", 0.0)
    seen = []
    for run in queue.work():
        assert queue.worker is not None, "at its post while it works"
        if not seen:  # between starting the last run and looking whether anything waits
            queue.add(lab.runs.create(RunConfig.of().changed("training.device", "cpu"), tmp_path, "late"))
        seen.append(run.name)
    assert seen == ["first", "late"]
    assert queue.worker is None, "this process lives on, but not as the queue's worker"
