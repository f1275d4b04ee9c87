"""What goes wrong around runs stays where it went wrong: names, full disks, damaged folders, many hands at once."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import subprocess
import sys
import threading

import pytest

import lab.runs
from lab.__main__ import main
from lab.runs import RunConfig
from lab.runs.folder import FAILED
from lab.runs.launching import detached as launching
from lab.runs.launching.queue import Queue
from lab.runs.process import Worker
from lab.runs.writer import Writer


def refused(root, name="mine"):
    """What `lab train` leaves behind when it finds that it cannot train."""
    run = lab.runs.create(RunConfig.of(), root, name)
    Writer(run).claim()
    Writer(run).status(FAILED, phase="failed", sentence="There is no folder of images.")
    return run


def test_the_command_gives_a_refused_name_back(tiny, tmp_path, capsys):
    words = ["train", "--runs", str(tmp_path), "--name", "mine", "--data", "class_folders", "--data.root"]
    assert main([*words, str(tmp_path / "nowhere")]) == 2
    assert not (tmp_path / "mine").exists(), "a training that is refused before its first step leaves no run"
    assert main([*words, str(tmp_path / "nowhere too")]) == 2
    assert "already" not in capsys.readouterr().err


@pytest.mark.parametrize("state", ["running", "finished", "stepped", "waiting"])
def test_a_run_with_anything_in_it_keeps_its_name(tmp_path, state):
    run = refused(tmp_path)
    if state == "stepped":
        Writer(run).append({"kind": "stepped", "step": 1})
    elif state == "waiting":
        Queue(tmp_path).add(run)
    else:
        writer = Writer(run)
        writer.status(state)
        if state != "running":
            writer.close()
    with pytest.raises(ValueError, match="already"):
        lab.runs.create(RunConfig.of(), tmp_path, "mine")
    with pytest.raises(ValueError, match="already"):
        lab.runs.check_available(tmp_path, "mine")


@pytest.mark.parametrize("fits", [0, 1])
def test_a_full_disk_leaves_no_half_made_run(tmp_path, monkeypatch, fits):
    """Nothing can be written any more after so many files."""
    true, done = os.replace, []

    def replace(*paths):
        done.append(paths)
        return true(*paths) if len(done) <= fits else full()

    with monkeypatch.context() as disk:
        disk.setattr("lab.core.files.os.replace", replace)
        with pytest.raises(OSError, match="No space"):
            lab.runs.create(RunConfig.of(), tmp_path, "mine")
    assert list(tmp_path.iterdir()) == []
    assert lab.runs.create(RunConfig.of(), tmp_path, "mine").state == "queued"


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


JUNK = [b"", b"{", b"[]", b"\xff\x00", b'{"state": 3}', b'{"worker": {"host": 1, "pid": -3}}']


@pytest.mark.parametrize("file", ["status.json", "meta.json", "launch.json", "scores/test.json", "metrics.jsonl"])
def test_no_damage_in_one_folder_can_be_felt_outside_it(tmp_path, file):
    good, bad = (lab.runs.create(RunConfig.of(), tmp_path, name) for name in ("good", "bad"))
    (bad.path / "scores").mkdir()
    queue = Queue(tmp_path)
    for junk in JUNK:
        (bad.path / file).write_bytes(junk)
        assert {run.name for run in lab.runs.list(tmp_path)} == {"good", "bad"}
        assert bad.state in ("queued", "interrupted", "damaged") and bad.begun is False
        assert bad.scores() is None and bad.metrics() == []
        assert launching.reconcile(tmp_path) == () or file == "status.json"
        queue.add(good)
        assert queue.active() == () and queue.names == ("good",)
        queue.remove("good")


def test_many_at_once_make_and_queue_runs_and_none_is_lost(tmp_path):
    def add(at: int) -> None:
        for number in range(4):
            Queue(tmp_path).add(lab.runs.create(RunConfig.of(), tmp_path, f"r{at}-{number}"))

    users = [threading.Thread(target=add, args=[at]) for at in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert sorted(Queue(tmp_path).names) == sorted(f"r{a}-{n}" for a in range(4) for n in range(4))


def take(root, name, answers):
    try:
        lab.runs.create(RunConfig.of(), root, name)
        answers.put("made")
    except ValueError:
        answers.put("taken")


def test_of_two_users_who_want_one_name_one_gets_it(tmp_path):
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    users = [context.Process(target=take, args=(tmp_path, "wanted", answers)) for _ in range(4)]
    for user in users:
        user.start()
    said = sorted(answers.get(timeout=240) for _ in users)
    for user in users:
        user.join()
    assert said == ["made", "taken", "taken", "taken"]
    assert [p.name for p in tmp_path.iterdir()] == ["wanted"]


def test_a_queue_whose_worker_was_killed_is_known_to_be_abandoned(tmp_path):
    queue = Queue(tmp_path)
    queue.add(lab.runs.create(RunConfig.of(), tmp_path, "a"))
    gone = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    with queue._changing() as state:
        state["worker"] = Worker.of(gone.pid).as_dict()
    assert not queue.abandoned
    gone.kill()
    gone.wait()
    assert queue.abandoned and queue.worker is None
    queue.pause()
    assert not queue.abandoned


def test_a_process_that_does_not_listen_is_killed_with_the_orphans_of_its_group(tmp_path):
    """A helper whose parent has died is no descendant any more, but still of the group."""
    run = lab.runs.create(RunConfig.of(), tmp_path, "family")
    helper = (
        "import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']).pid)"
    )
    leader = subprocess.Popen(
        [sys.executable, "-c", "import signal, subprocess, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
         f"subprocess.run([sys.executable, '-c', {helper!r}])\nsys.stdout.flush(); time.sleep(60)"],
        stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    orphan = Worker.of(int(leader.stdout.readline()))
    (run.path / "launch.json").write_text(json.dumps(Worker.of(leader.pid).as_dict()))
    assert orphan.alive and launching.stop(run, grace=0.1) == "killed"
    leader.wait(120)
    assert not orphan.alive and run.state == "stopped"
