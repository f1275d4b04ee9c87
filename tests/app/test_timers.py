"""A late timer of a page that has been left changes nothing."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests

from app import timers


@pytest.fixture(autouse=True)
def patched(monkeypatch):
    for owner, name in ((ScriptRunner, "_run_script"), (ScriptRequests, "_request_rerun_locked")):
        monkeypatch.setattr(owner, name, getattr(owner, name))  # put back at the end
    timers.ignore_late_ones()


def late(part: str) -> RerunData:
    return RerunData(page_script_hash="train", fragment_id=part, is_auto_rerun=True)


def test_the_page_that_somebody_turned_to_is_drawn():
    requests = ScriptRequests()
    assert requests.request_rerun(RerunData(page_script_hash="watch"))
    assert requests.request_rerun(late("queue"))
    assert requests.on_scriptrunner_ready().rerun_data.page_script_hash == "watch"
    assert requests.request_rerun(late("queue"))  # nothing else waits
    assert requests.on_scriptrunner_ready().rerun_data.fragment_id_queue == ["queue"]


def test_a_part_that_is_gone_is_not_drawn():
    runner = SimpleNamespace(_fragment_storage=MemoryFragmentStorage())
    ScriptRunner._run_script(runner, RerunData(fragment_id_queue=["queue"], is_auto_rerun=True))
    with pytest.raises(AttributeError):  # Streamlit begins to draw
        ScriptRunner._run_script(runner, RerunData(fragment_id_queue=["queue"]))
