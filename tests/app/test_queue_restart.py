"""The queue after its process and its training were killed: said alike everywhere, and taken up by `lab app`."""

from __future__ import annotations

import os
import signal

import pytest

import lab.runs
from app.shared import queueing
from lab.__main__ import main
from lab.core.files import read_json, write_json
from lab.launchers.background import detached
from lab.launchers.background.queue import Queue
from lab.runs import RunConfig
from lab.runs.process import Worker
from tests.dashboards import Dashboard
from tests.runs.conftest import wait_for

GONE = Worker(Worker.this().host, 2**22 - 1, 1.0).as_dict()


@pytest.fixture
def standing(runs, no_worker):
    """Two runs wait, and the process that ran the queue is gone."""
    config = lab.runs.open("recall", runs).config
    for name in ("first", "second"):
        Queue(runs).add(lab.runs.create(config, runs, name))
    write_json(
        runs / ".queue.json", {"waiting": ["first", "second"], "paused": False, "worker": GONE}
    )
    return runs


def test_every_page_and_command_says_it_in_the_same_words(standing, open_page, capsys):
    sentence = Queue(standing).sentence
    assert "has stopped" in sentence
    for page in (open_page("train"), open_page("watch", watched="second"), open_page("home")):
        assert [sentence] == [one.value.replace("\\", "") for one in page.test.warning], (
            page.words()
        )
        assert page.test.button(key="restart the queue").label == "Restart the queue"
    for words in (["runs"], ["runs", "queue"], ["runs", "second"]):
        main([*words, "--runs", str(standing)])
        told = capsys.readouterr()
        assert sentence in " ".join((told.out + told.err).split()), words
    main(["runs", "queue", "--json", "--runs", str(standing)])
    assert '"sentence": "The process that runs the queue' in capsys.readouterr().out


def test_a_paused_queue_goes_on_by_the_same_button(standing, open_page):
    Queue(standing).pause()
    page = open_page("watch", watched="second")
    assert "The queue is paused (2 runs wait)" in page.words()
    page.test.button(key="restart the queue").click().run()
    assert not Queue(standing).paused


@pytest.mark.parametrize("paused", [False, True])
def test_the_dashboard_takes_it_up_when_it_starts(tmp_path, tiny, paused):
    root = tmp_path / "runs"
    run = lab.runs.create(RunConfig.of(tiny), root, "waits")
    Queue(root).add(run)
    Queue(root).pause(paused)
    write_json(root / ".queue.json", {**read_json(root / ".queue.json"), "worker": GONE})
    server = Dashboard(root, tmp_path, "a token for this test").wait()
    try:
        if paused:
            assert Queue(root).names == ("waits",) and Queue(root).worker is None
            return
        wait_for(lambda: Queue(root).worker is not None or run.state == "running")
    finally:
        server.stop()
        if worker := Queue(root).worker:
            os.kill(worker.pid, signal.SIGKILL)
        detached.kill(run)


@pytest.mark.soak
def test_a_killed_worker_and_training(tmp_path, tiny, monkeypatch):
    """kill -9 of both: the training is interrupted, what waits goes on, and nothing is trained twice."""
    root = tmp_path / "runs"
    monkeypatch.setenv("LAB_RUNS", str(root))
    endless = {**tiny, "training": {"steps": 100_000, "validate_every": 100_000}}
    runs = [
        lab.runs.create(RunConfig.of(config), root, name)
        for name, config in zip("ab", (endless, tiny), strict=True)
    ]
    for run in runs:
        Queue(root).add(run)
    Queue(root).ensure_worker()
    wait_for(lambda: runs[0].status.get("step", 0) > 0)
    for process in (Queue(root).worker, runs[0].snapshot().process):
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
    wait_for(lambda: runs[0].state == "interrupted")
    assert Queue(root).abandoned and "has stopped" in Queue(root).sentence
    queueing.queue().ensure_worker()
    wait_for(lambda: runs[1].state == "finished")
    assert runs[0].state == "interrupted" and Queue(root).sentence == ""
