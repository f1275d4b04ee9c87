"""What open pages are told: which runs have ended, once each, and what has changed of that which they follow."""

from __future__ import annotations

import shutil
import threading

import pytest
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

import lab.runs
from app import run_events
from app.shared import changes
from lab.runs.folder import FAILED, FINISHED, RUNNING, STOPPED
from lab.runs.writer import Writer


@pytest.fixture
def writer(runs):
    """That of a run at work."""
    with Writer(lab.runs.open(runs / "recall")) as writer:
        writer.claim()
        writer.status(RUNNING, sentence="")
        yield writer


def test_an_end_is_told_once_with_its_reason(runs, writer, monkeypatch):
    monkeypatch.setattr(run_events, "LOOK_EVERY", 0)
    looked = run_events.RunEvents(runs)
    assert looked.after(None) == (0, []), "runs that had ended before are nobody's news"
    writer.status(RUNNING, step=3)
    assert looked.after(0) == (0, [])
    writer.status(FAILED, sentence="Out of memory.")
    number, (told,) = looked.after(0)
    assert (number, told.run, told.state) == (
        1,
        "recall",
        "failed",
    ) and told.text == "Run recall failed. Out of memory."
    assert (
        looked.after(1) == (1, [])
        and looked.after(None) == (1, [])
        and len(looked.after(0)[1]) == 1
    )
    lab.runs.create(lab.runs.RunConfig.of(), runs, "fresh")
    shutil.rmtree(runs / "smooth")
    (runs / "recall" / "status.json").write_text("{")
    assert looked.after(1) == (1, []), "a new, a deleted and a damaged run have not ended"


def test_a_process_that_died_has_ended(runs, monkeypatch):
    monkeypatch.setattr(run_events, "LOOK_EVERY", 0)
    writer = Writer(lab.runs.open(runs / "recall"))
    writer.claim()
    writer.status(RUNNING, sentence="")
    looked = run_events.RunEvents(runs)
    looked.after(None)
    writer.close()
    assert looked.after(0) == (0, []), "it may have been killed, which is written in a moment"
    monkeypatch.setattr(run_events, "SETTLES", 0.0)
    assert [one.text[:27] for one in looked.after(0)[1]] == ["Run recall was interrupted."]
    assert len(looked.after(0)[1]) == 1, "it is told once"


def test_a_killed_run_is_stopped_and_not_interrupted(runs, monkeypatch):
    monkeypatch.setattr(run_events, "LOOK_EVERY", 0)
    run = lab.runs.open(runs / "recall")
    writer = Writer(run)
    writer.claim()
    writer.status(RUNNING, sentence="")
    looked = run_events.RunEvents(runs)
    looked.after(None)
    writer.close()
    assert run.state == "interrupted" and looked.after(0) == (0, [])
    with Writer(run) as killer:
        assert run.written_state == "interrupted" and looked.after(0) == (0, [])
        killer.status(STOPPED, sentence="Killed.")
    assert [one.text for one in looked.after(0)[1]] == ["Run recall stopped. Killed."]


@pytest.fixture
def feed(monkeypatch):
    """A server that tells open pages what has changed."""
    monkeypatch.setattr(run_events, "LOOK_EVERY", 0)
    monkeypatch.setattr(run_events, "LOOK_FOR_CHANGES", 0.05)
    with TestClient(
        Starlette(routes=[WebSocketRoute(run_events.ADDRESS, run_events.Feed().serve)])
    ) as client:
        yield client


def test_every_page_is_told_what_it_follows_and_how_runs_end(feed, writer):
    there = {"a": 1, "b": 1}
    followed = {name: changes.REGISTER.add(there.get, (name,)) for name in there}
    (a, first), (b, _) = followed["a"], followed["b"]
    with (
        feed.websocket_connect(run_events.ADDRESS) as one,
        feed.websocket_connect(run_events.ADDRESS) as other,
    ):
        one.send_json({"after": None, "follows": {str(a): first}})
        other.send_json({"after": None, "follows": {}})
        for page in (one, other):
            assert page.receive_json() == {"latest": 0, "ended": [], "changed": {}}
        there |= {"a": 2, "b": 2}
        assert one.receive_json()["changed"] == {str(a): first + 1}
        writer.status(FINISHED, sentence="")
        ended = [
            {"number": 1, "run": "recall", "state": "finished", "text": "Run recall finished."}
        ]
        for page in (one, other):
            assert page.receive_json() == {"latest": 1, "ended": ended, "changed": {}}
        there["a"] = 3  # the page has not been drawn since, and is told of the latest
        assert one.receive_json()["changed"] == {str(a): first + 2}
        other.send_json({"after": 1, "follows": {str(a): first, "999999": 0}})
        assert other.receive_json()["changed"] == {str(a): first + 2, "999999": run_events.GONE}
    with feed.websocket_connect(run_events.ADDRESS) as again:
        again.send_json({"after": 0, "follows": {str(a): first + 2, str(b): 0}})
        assert again.receive_json() == {"latest": 1, "ended": ended, "changed": {str(b): 1}}, (
            "nothing was missed"
        )


def test_something_that_has_just_changed_is_told_at_once(feed, monkeypatch):
    monkeypatch.setattr(run_events, "LOOK_FOR_CHANGES", 3_600)
    over = threading.Event()
    number, version = changes.REGISTER.add(over.is_set, ())
    with feed.websocket_connect(run_events.ADDRESS) as page:
        page.send_json({"after": None, "follows": {str(number): version}})
        page.receive_json()
        over.set()
        changes.wake()
        assert page.receive_json()["changed"] == {str(number): version + 1}


@pytest.mark.parametrize(
    "words",
    [
        "x",
        "[]",
        "{}",
        '{"follows": []}',
        '{"follows": {"x": 1}}',
        '{"follows": {"1": "2"}}',
        '{"follows": {}, "after": "1"}',
    ],
)
def test_what_no_page_says_closes_the_connection(feed, words):
    with feed.websocket_connect(run_events.ADDRESS) as page:
        page.send_text(words)
        with pytest.raises(WebSocketDisconnect) as closed:
            page.receive_json()
    assert closed.value.code == run_events.NOT_UNDERSTOOD
