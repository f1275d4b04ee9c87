"""What goes wrong around runs stays where it went wrong: names, full disks, damaged folders, many hands at once."""

from __future__ import annotations

import threading

import pytest

import lab.runs
from lab.launchers.background import detached as launching
from lab.launchers.background.queue import Queue
from lab.runs import RunConfig

JUNK = [b"", b"{", b"[]", b"\xff\x00", b'{"state": 3}', b'{"worker": {"host": 1, "pid": -3}}']


@pytest.mark.parametrize(
    "file", ["status.json", "meta.json", "launch.json", "scores/test.json", "metrics.jsonl"]
)
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
