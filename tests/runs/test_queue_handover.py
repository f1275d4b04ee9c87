"""A run that is added while the queue's worker is leaving must not be left waiting for nobody."""

from __future__ import annotations

import lab.runs.launching.queue
from lab.runs import RunConfig, create
from lab.runs.launching.queue import Queue


def test_a_worker_that_leaves_says_so_before_it_is_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(lab.runs.launching.queue, "launch", lambda run: None)
    queue = Queue(tmp_path)
    queue.add(create(RunConfig.of().changed("training.device", "cpu"), tmp_path, "first"))
    seen = []
    for run in queue.work():
        seen.append(run.name)
        assert queue.worker is not None, "at its post while it works"
    assert seen == ["first"]
    assert queue.worker is None, "this process lives on, but not as the queue's worker"


def test_a_run_added_at_the_last_moment_is_still_started(tmp_path, monkeypatch):
    monkeypatch.setattr(lab.runs.launching.queue, "launch", lambda run: None)
    monkeypatch.setattr(lab.runs.launching.queue, "PAUSE", 0.0)
    cpu = RunConfig.of().changed("training.device", "cpu")
    queue = Queue(tmp_path)
    queue.add(create(cpu, tmp_path, "first"))
    started = []
    for run in queue.work():
        if run.name == "first":  # between starting the last run and looking whether anything waits
            queue.add(create(cpu, tmp_path, "late"))
        started.append(run.name)
    assert started == ["first", "late"]
