"""Which runs have ended: told once, to every page that asks, and never of runs that had ended before."""

from __future__ import annotations

import asyncio
import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.requests import Request

import lab.runs
from app import run_events
from lab.runs.folder import FAILED, FINISHED, RUNNING, STOPPED
from lab.runs.writer import Writer


def ask(query: str) -> dict:
    """What the server answers to a page."""
    request = Request({"type": "http", "method": "GET", "headers": [], "query_string": query.encode()})
    with ThreadPoolExecutor(1) as other:  # a browser test before this one may have left a loop running in this thread
        return json.loads(other.submit(asyncio.run, run_events._answer(request)).result().body)


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
    assert looked.after(1) == (1, []) and looked.after(None) == (1, []) and len(looked.after(0)[1]) == 1
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


def test_pages_ask_the_server(runs, writer, monkeypatch):
    monkeypatch.setattr(run_events, "LOOK_EVERY", 0)
    for bad in ("", "after=x", "after=-1", "after=%C2%B2"):
        assert ask(bad) == {"latest": 0, "ended": []}
    writer.status(FINISHED, sentence="")
    told = ask("after=0")
    assert told["ended"] == [{"number": 1, "run": "recall", "state": "finished", "text": "Run recall finished."}]
