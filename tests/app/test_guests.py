"""Who comes by the address for guests sees every page and changes nothing; and nobody is let in who has no room."""

from __future__ import annotations

import logging
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from test_access import PAGE, TOKEN, Server
from websockets.sync.client import connect

import lab.exporters
import lab.launchers
import lab.runs
from app import access, visitors
from app.shared import background, queueing
from lab.core import files
from lab.maps.kept import Chart
from lab.runs import management, marks
from lab.runs.launching import detached, stop_request
from lab.runs.launching.queue import Queue

GUEST = "a token for guests"

WRITES = {
    "make a run": lambda run: lab.runs.create(run.config, run.path.parent, "other"),
    "import vectors": lambda run: lab.runs.from_embeddings(np.eye(4), list("aabb"), name="x", runs=run.path.parent),
    "annotate": lambda run: management.annotate(run, note="mine"),
    "rename": lambda run: management.rename(run, "mine"),
    "throw away": management.trash,
    "mark an image": lambda run: marks.mark(run, run.dataset().keys[0], "wrong label"),
    "judge an image": lambda run: marks.judge(run, run.dataset().keys[0], run.dataset().keys[1], "right"),
    "queue": lambda run: Queue(run.path.parent).add(lab.runs.open("half", run.path.parent)),
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
    lab.runs.create(lab.runs.open("recall", runs).config, runs, "half")
    monkeypatch.setattr(files, "guest", lambda: True)


def _content(root) -> dict:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file() and "lock" not in path.name}


@pytest.mark.parametrize("what", WRITES)
def test_a_guest_changes_nothing(runs, guest, what):
    before = _content(runs)
    with pytest.raises(PermissionError, match="Guests may look at everything"):
        WRITES[what](lab.runs.open("recall", runs))
    assert _content(runs) == before


def test_work_behind_a_page_is_a_guests_where_the_page_is(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "guest", access.is_guest)
    files.thread.guest = True
    try:
        with pytest.raises(PermissionError):
            assert background.Job("Importing", lambda: files.write_text(tmp_path / "a", "")).value
    finally:
        del files.thread.guest
    assert not (tmp_path / "a").exists()


def _words(server: Server, cookie: str) -> str:
    with connect(
        f"ws://{server.name}/_stcore/stream", subprotocols=["streamlit"], additional_headers={"Cookie": cookie}
    ) as line:
        line.send(BackMsg(rerun_script={"page_name": "runs"}).SerializeToString())
        words = b""
        while (message := ForwardMsg.FromString(line.recv(timeout=300))).WhichOneof("type") != "script_finished":
            words += message.SerializeToString()
        return words.decode(errors="replace")


@pytest.fixture
def few(tmp_path, trained, monkeypatch):
    """A dashboard with guests that may open no more than so many files."""
    monkeypatch.setenv(access.GUESTS, GUEST)
    shutil.copytree(trained, tmp_path / "runs")
    started = []

    def start(most: int) -> Server:
        before = "bash", "-c", f'ulimit -n {most}; exec "$0" "$@"'
        started.append(Server(tmp_path / "runs", tmp_path, TOKEN, "--guests", before=before))
        return started[-1].wait(good=(200, 503))

    yield start
    for server in started:
        server.stop()


def test_a_guest_is_told_and_the_owner_is_not(few):
    server = few(256)
    assert "For guests, who may look: http://127.0.0.1" in server.log()
    guest = server.ask(f"/?token={GUEST.replace(' ', '%20')}", **PAGE).getheader("Set-Cookie").partition(";")[0]
    owner = server.cookie()
    assert guest != owner and "You are a guest" in _words(server, guest)
    assert "You are a guest" not in _words(server, owner)
    both = f"{guest}; other={owner.partition('=')[2]}"
    assert "You are a guest" not in _words(server, both), "who has the owner's cookie is the owner"

    with ThreadPoolExecutor(20) as pool:  # the default of macOS's shells: 20 visitors, 100 loads
        pages = list(pool.map(lambda _: _words(server, owner), range(100)))
    assert all("recall" in page for page in pages)
    assert server.ask("/_stcore/health").status == 200 and len(server.log().splitlines()) == 2


def test_where_there_is_no_room_that_is_said_and_health_does_not_lie(few):
    server = few(visitors.FREE + 8)
    assert server.ask("/_stcore/health").status == 503
    page = server.ask("/", **PAGE)
    assert page.status == 503 and b"Too many visitors" in page.words
    assert server.handshake(Cookie="a=b") in (403, 503)


def test_an_error_that_comes_again_is_told_once_a_minute(caplog, monkeypatch):
    log = logging.getLogger("test of visitors")
    log.addFilter(visitors.OnceAMinute())
    for _ in range(3):
        for error in (OSError(24, "Too many open files"), ValueError("another")):
            with suppress(Exception):
                raise error
            log.error("accept", exc_info=error) if error.args[0] == 24 else log.error("else", exc_info=error)
    assert len(caplog.records) == 2 and "Too many visitors" in caplog.text
    log.warning("of no error")
    log.warning("of no error")
    assert len(caplog.records) == 4


@pytest.mark.parametrize("chosen, owner", [("short", "another token of the owner"), ("", ""), (TOKEN, TOKEN)])
def test_a_token_for_guests_is_long_and_another(monkeypatch, chosen, owner):
    monkeypatch.setenv(access.GUESTS, chosen)
    with pytest.raises(ValueError):
        access.guest_token(True, owner)
    assert access.GUESTS not in os.environ and access.guest_token(False, "") == ""
