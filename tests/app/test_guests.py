"""Who comes by the address for guests sees every page and changes nothing."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from test_access import TOKEN

import lab.exporters
import lab.launchers
import lab.runs
from app import access
from app.shared import queueing
from lab.core import files
from lab.launchers.background import detached, preflight_process, waiting
from lab.launchers.background.queue import Queue
from lab.maps.kept import Chart
from lab.runs import management, marks, stop_request
from lab.runs.process import Sent
from tests.core.test_connections import opened
from tests.dashboards import Server
from tests.visitors import Visitor

GUEST = "a token for guests"

WRITES = {
    "make a run": lambda run: lab.runs.create(run.config, run.path.parent, "new"),
    "import vectors": lambda run: lab.runs.from_embeddings(
        np.eye(4), list("aabb"), name="x", runs=run.path.parent
    ),
    "annotate": lambda run: management.annotate(run, note="mine"),
    "rename": lambda run: waiting.rename(run, "mine"),
    "throw away": waiting.trash,
    "restore": lambda run: management.restore(run.path.parent / management.TRASH / "thrown"),
    "mark an image": lambda run: marks.write(
        run.path.parent, run.dataset(), {0: marks.Mark("drop")}
    ),
    "queue": lambda run: Queue(run.path.parent).add(lab.runs.open("half", run.path.parent)),
    "take out of the queue": lambda run: Queue(run.path.parent).remove("waiting"),
    "move in the queue": lambda run: Queue(run.path.parent).move("waiting", 0),
    "hand over": lambda run: lab.launchers.send(
        [lab.runs.open("half", run.path.parent)], Sent("slurm")
    ),
    "begin a pre-flight": lambda run: preflight_process.start(run.config),
    "pause the queue": lambda run: Queue(run.path.parent).pause(),
    "start the queue": lambda run: Queue(run.path.parent).ensure_worker(),
    "launch": lambda run: detached.launch(run),
    "stop": lambda run: queueing.stop(run.name),
    "stop here": detached.stop,
    "ask to stop": stop_request.write,
    "kill": detached.kill,
    "draw a map": lambda run: Chart(run, "test", "umap").start(),
    "export": lambda run: lab.exporters.create("csv").export(run, run.path.parent / "rows.csv"),
}


@pytest.fixture
def guest(runs, monkeypatch):
    """A run that still has something to do stands beside the finished ones; whoever asks now is a guest."""
    for name in ("half", "waiting", "thrown", "other"):
        lab.runs.create(lab.runs.open("recall", runs).config, runs, name)
    management.trash(lab.runs.open("thrown", runs))
    for name in ("other", "waiting"):
        Queue(runs).add(lab.runs.open(name, runs))
    monkeypatch.setattr(files, "guest", lambda: True)


def _content(root) -> dict:
    return {
        path: path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and "lock" not in path.name
    }


@pytest.mark.parametrize("what", WRITES)
def test_a_guest_changes_nothing(runs, guest, what):
    before = _content(runs)
    with pytest.raises(PermissionError, match="Guests may look at everything"):
        WRITES[what](lab.runs.open("recall", runs))
    assert _content(runs) == before


def _words(server: Server, cookie: str) -> str:
    with Visitor(server, cookie) as visitor:
        return b"".join(visitor.open("runs").received).decode(errors="replace")


@pytest.fixture
def few(tmp_path, trained, monkeypatch):
    """A dashboard with guests that may open no more than 256 files."""
    monkeypatch.setenv(access.GUESTS, GUEST)
    shutil.copytree(trained, tmp_path / "runs")
    before = "bash", "-c", 'ulimit -n 256; exec "$0" "$@"'
    server = Server(tmp_path / "runs", tmp_path, TOKEN, "--guests", before=before)
    yield server.wait()
    server.stop()


def test_a_guest_is_told_and_the_owner_is_not(few):
    server = few
    assert "For guests, who may look: http://127.0.0.1" in server.log()
    guest, owner = server.cookie(GUEST), server.cookie()
    assert guest != owner and "You are a guest" in _words(server, guest)
    assert "You are a guest" not in _words(server, owner)
    both = f"{guest}; other={owner.partition('=')[2]}"
    assert "You are a guest" not in _words(server, both), "who has the owner's cookie is the owner"

    with ThreadPoolExecutor(20) as pool:  # the default of macOS's shells: 20 visitors, 100 loads
        pages = list(pool.map(lambda _: _words(server, owner), range(100)))
    assert all("recall" in page for page in pages)
    assert server.ask("/_stcore/health").status == 200 and len(server.log().splitlines()) == 2

    half = f"GET / HTTP/1.1\r\nHost: {server.name}\r\n".encode()
    form = f"POST / HTTP/1.1\r\nHost: {server.name}\r\nContent-Length: 9\r\n\r\ntoken".encode()
    # strangers, who have no token
    with (
        opened(server.port, 300, half),
        opened(server.port, 300, form),
    ):
        assert "recall" in _words(server, owner) and server.ask("/_stcore/health").status == 200
    assert len(server.log()) < 2_000, "one sentence about it"
