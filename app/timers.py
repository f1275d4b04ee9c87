"""A timer of a page draws its own part anew, and changes nothing else; and what a click does is done whole.

What a timer draws anew (`run_every`) is asked for by the browser, together with the page that it is part of and the
value of every widget. Such a request may be late, and then Streamlit 1.67 takes it for what somebody wants:

- The values are those from before somebody's last choice was answered. They undo what that choice set.
- The page is the one that somebody has left. The request is merged into the one for the new page and gives it its own
  page, or it is answered after it, though the part is gone. The browser then holds half of one page, fails at the next
  part that a timer draws, and shows nothing new until it is reloaded.

When a timer then has the whole page drawn anew, Streamlit sends again each value that the last run set. That would take
back what somebody has chosen meanwhile. So what the timer's request shows that the browser has is not sent twice.

Any later request stops a run where that looks into the session's state next, also in the midst of what a click or a key
calls. Half of it was done then: an answer on Check counted as heard and was never kept.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from app.streamlit_names import Change

if TYPE_CHECKING:
    from streamlit.proto.WidgetStates_pb2 import WidgetState
    from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
    from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests
    from streamlit.runtime.state.safe_session_state import SafeSessionState
    from streamlit.runtime.state.session_state import SessionState


def ignore_late_ones() -> None:
    """Have Streamlit take no values from the request of a timer, and drop it when its part is gone or the whole page
    is about to be drawn. A choice of somebody has a request of its own, which brings the values."""
    from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
    from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests, ScriptRequestType

    run, request = ScriptRunner._run_script, ScriptRequests._request_rerun_locked

    def run_unless_gone(runner: ScriptRunner, asked: RerunData) -> None:
        parts = asked.fragment_id_queue
        if not (asked.is_auto_rerun and parts):
            run(runner, asked)
        elif any(map(runner._fragment_storage.contains, parts)):
            _know(runner._session_state._state, getattr(runner._requests, "shown", ()))
            run(runner, asked)

    def request_unless_covered(requests: ScriptRequests, asked: RerunData) -> bool:
        if not asked.is_auto_rerun:
            return request(requests, asked)
        waiting = requests._rerun_data
        whole = requests._state == ScriptRequestType.RERUN and not (waiting.fragment_id or waiting.fragment_id_queue)
        requests.shown = asked.widget_states.widgets if asked.widget_states else ()  # type: ignore[attr-defined]
        return whole or request(requests, replace(asked, widget_states=None))

    ScriptRunner._run_script = run_unless_gone  # type: ignore[method-assign, assignment]
    ScriptRequests._request_rerun_locked = request_unless_covered  # type: ignore[method-assign, assignment]


def finish_what_began() -> None:
    """Have Streamlit end what a click, a key or a choice calls (`on_click`, `on_change`) before it stops that run, and
    before the next request of the same browser begins."""
    from streamlit.runtime.state.safe_session_state import SafeSessionState

    begin = SafeSessionState.on_script_will_rerun
    at_work: Any = defaultdict(threading.RLock)

    def begin_whole(state: SafeSessionState, *given: Any, **more: Any) -> None:
        stop_if_asked = state._yield_callback
        object.__setattr__(state, "_yield_callback", lambda: None)
        try:
            with at_work[id(state._state)]:  # nobody waits for another's click
                begin(state, *given, **more)
        finally:
            object.__setattr__(state, "_yield_callback", stop_if_asked)

    SafeSessionState.on_script_will_rerun = begin_whole  # type: ignore[method-assign, assignment]


def _know(state: SessionState, shown: Iterable[WidgetState]) -> None:
    """Keep a value that was set as the widget's own, once the browser shows it."""
    from streamlit.runtime.state.common import unpack_widget_state_value

    kinds, set_here = state._new_widget_state.widget_metadata, state._new_session_state
    for one in shown:
        key = state._key_id_mapper.id_key_mapping.get(one.id)
        if key in set_here and set_here[key] == kinds[one.id].deserializer(unpack_widget_state_value(one)):
            state._old_state[one.id] = set_here.pop(key)
            state._new_widget_state.set_from_value(one.id, state._old_state[one.id])


_RUNNER = "runtime.scriptrunner.script_runner:ScriptRunner"
_REQUESTS = "runtime.scriptrunner_utils.script_requests:ScriptRequests"
_SAFE_STATE = "runtime.state.safe_session_state:SafeSessionState"
_SESSION_STATE = "runtime.state.session_state:SessionState"

LATE_TIMERS = Change(
    names=(
        f"{_RUNNER}._run_script",
        f"{_RUNNER}._fragment_storage",
        f"{_RUNNER}._session_state",
        f"{_RUNNER}._requests",
        f"{_REQUESTS}._request_rerun_locked",
        f"{_REQUESTS}._rerun_data",
        f"{_REQUESTS}._state",
        f"{_SAFE_STATE}._state",
        f"{_SESSION_STATE}._old_state",
        f"{_SESSION_STATE}._new_session_state",
        f"{_SESSION_STATE}._new_widget_state",
        f"{_SESSION_STATE}._key_id_mapper",
        "runtime.scriptrunner_utils.script_requests:ScriptRequestType",
        "runtime.state.common:unpack_widget_state_value",
    ),
    apply=ignore_late_ones,
    loss="a timer of a page that updates itself may undo a choice made at the same moment",
)
WHOLE_CLICKS = Change(
    names=(f"{_SAFE_STATE}.on_script_will_rerun", f"{_SAFE_STATE}._state", f"{_SAFE_STATE}._yield_callback"),
    apply=finish_what_began,
    loss="a second click that follows at once may interrupt what the first one does",
)
