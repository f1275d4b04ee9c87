"""Whoever owns the runs is told when one ends; whatever becomes of the message, the run does not suffer."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from lab import doctor
from lab.launchers.background.queue import Queue
from lab.runs import RunConfig, create, webhook
from lab.runs.folder import FAILED, FINISHED, RUNNING
from lab.runs.writer import Writer


@pytest.fixture
def listener(monkeypatch):
    """An address on this machine that notes what it is told, and answers with `status`; it may be made to hang."""

    class Listener(BaseHTTPRequestHandler):
        told, status, hangs = [], 200, threading.Event()

        def do_POST(self):
            Listener.hangs.wait(5)
            body = self.rfile.read(int(self.headers["Content-Length"]))
            Listener.told.append((self.path, self.headers["Content-Type"], json.loads(body)))
            self.send_response(Listener.status)
            self.end_headers()

        def log_message(self, *_):
            pass

    Listener.hangs.set()
    server = HTTPServer(("127.0.0.1", 0), Listener)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("LAB_WEBHOOK", f"http://127.0.0.1:{server.server_port}/secret?a=b")
    monkeypatch.setattr(webhook, "PATIENCE", 300.0)  # a busy machine is no fault of the message
    yield Listener
    Listener.hangs.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def run(tmp_path):
    return create(RunConfig.of(), tmp_path, "one")


def test_an_end_is_told_once_and_a_sign_of_life_is_not(run, listener):
    with Writer(run) as writer:
        writer.status(RUNNING, phase="training", step=3)
        writer.status(RUNNING, step=4)
        assert not listener.told
        writer.status(FAILED, phase="failed", sentence="Out of memory: take a smaller batch.")
        writer.status(FAILED, sentence="said again")
    ((path, kind, told),) = listener.told
    assert (
        path == "/secret?a=b" and kind == "application/json" and told.pop("host") and told.pop("at")
    )
    assert told == {
        "run": "one", "state": "failed", "step": 4, "steps": 400, "sentence": "said again",
        "scores": {}, "text": "Run one failed. said again",
    }  # fmt: skip
    Queue(run.path.parent).add(run)  # it goes on, and ends again
    with Writer(run) as writer:
        writer.status(RUNNING, sentence="")
        writer.status(FINISHED, scores={"test": {"MAP@R": 0.5}})
    assert len(listener.told) == 2, (run.path / "log.txt").read_text()
    assert listener.told[-1][2]["scores"] == {"test": {"MAP@R": 0.5}}
    assert listener.told[-1][2]["text"] == "Run one finished."


def test_a_process_that_died_is_told_of_when_it_is_found(run, listener):
    Writer(run).status(RUNNING, phase="training", step=3)
    Writer(run).close()
    assert [told["state"] for _, _, told in listener.told] == ["interrupted"]
    assert listener.told[0][2]["text"].startswith(
        "Run one was interrupted. The process ended without a word"
    )


@pytest.mark.parametrize("how", ["refuses", "hangs", "closed", "no address"])
def test_a_message_that_cannot_be_sent_is_a_line_in_the_log(run, listener, monkeypatch, how):
    listener.status = 500
    said = "it answered 500"
    if how == "hangs":
        monkeypatch.setattr(webhook, "PATIENCE", 0.1)
        listener.hangs.clear()
        said = "no answer within"
    elif how == "closed":
        monkeypatch.setenv("LAB_WEBHOOK", "http://127.0.0.1:9/secret")
        said = "refused"
    elif how == "no address":
        monkeypatch.setenv("LAB_WEBHOOK", "file:///secret")
        said = "must be an address that begins with http"
    with Writer(run) as writer:
        writer.status(RUNNING)
        writer.status(FINISHED)
    assert run.state == "finished"
    log = run.log_tail()
    assert said in log and "secret" not in log and len(log.splitlines()) == 1


def test_the_doctor_names_the_host_and_what_is_wrong(listener, monkeypatch):
    (line,) = doctor._webhook()
    assert line.state == "ok" and "127.0.0.1" in line.detail and "secret" not in line.detail
    monkeypatch.setenv("LAB_WEBHOOK", "example.org")
    assert [line.state for line in doctor._webhook()] == ["warning"]
    monkeypatch.delenv("LAB_WEBHOOK")
    assert not list(doctor._webhook())
