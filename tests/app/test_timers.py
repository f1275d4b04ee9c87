"""A late timer brings back neither a page that has been left nor a value that has been changed."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.exceptions import StopException
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import SessionState

from app import timers


@pytest.fixture(autouse=True)
def patched(monkeypatch):
    monkeypatch.setattr(ScriptRunner, "_run_script", ScriptRunner._run_script)  # put back at the end
    monkeypatch.setattr(ScriptRequests, "_request_rerun_locked", ScriptRequests._request_rerun_locked)
    monkeypatch.setattr(SafeSessionState, "on_script_will_rerun", SafeSessionState.on_script_will_rerun)
    timers.ignore_late_ones()
    timers.finish_what_began()


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


def test_what_somebody_chose_stays():
    requests, before, chosen = ScriptRequests(), WidgetStates(), WidgetStates()
    before.widgets.add(id="folder", string_value="home")
    chosen.widgets.add(id="folder", string_value="home/few")
    assert requests.request_rerun(replace(late("queue"), widget_states=before))
    assert requests.on_scriptrunner_ready().rerun_data.widget_states is None  # the session keeps its own
    assert requests.request_rerun(RerunData(fragment_id="folders", widget_states=chosen))
    assert requests.request_rerun(replace(late("queue"), widget_states=before))
    both = requests.on_scriptrunner_ready().rerun_data
    assert both.fragment_id_queue == ["folders", "queue"]
    assert both.widget_states == chosen


def test_a_value_that_the_browser_shows_is_not_sent_again():
    state, widget = SessionState(), "$$ID-1-images"
    drawn = WidgetMetadata(widget, lambda sent: sent or "zip", str, "string_value", persist_state="session")
    state["images"] = "set"
    assert state.register_widget(drawn, "images").value_changed
    for shown, again in (("zip", True), ("set", False)):  # as long as it shows another value, it has not heard
        timers._know(state, [WidgetState(id=widget, string_value=shown)])
        found = state.register_widget(drawn, "images")  # a timer has the page drawn anew
        assert (found.value, found.value_changed) == ("set", again)
    chosen = WidgetStates(widgets=[WidgetState(id=widget, string_value="zip")])
    state.on_script_will_rerun(chosen)
    assert state.register_widget(drawn, "images").value == "zip"


def test_what_a_click_does_is_done_whole():
    """A later request asks the run to stop as soon as the click has begun to write."""

    class Clicked(dict):
        def on_script_will_rerun(self, *_given, **_more):
            safe["heard"] = True
            safe["kept"] = True

    def stop_if_asked():
        if "heard" in state:
            raise StopException

    state = Clicked()
    safe = SafeSessionState(state, stop_if_asked)
    safe.on_script_will_rerun(None)
    assert state == {"heard": True, "kept": True}
    with pytest.raises(StopException):
        safe["drawn"] = True
