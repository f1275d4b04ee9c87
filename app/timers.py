"""A timer of a page draws its own part anew, and changes nothing else.

What a timer draws anew (`run_every`) is asked for by the browser, together with the page that it is part of and the
value of every widget. Such a request may be late, and then Streamlit 1.67 takes it for what somebody wants:

- The values are those from before somebody's last choice was answered. They undo what that choice set.
- The page is the one that somebody has left. The request is merged into the one for the new page and gives it its own
  page, or it is answered after it, though the part is gone. The browser then holds half of one page, fails at the next
  part that a timer draws, and shows nothing new until it is reloaded.

When a timer then has the whole page drawn anew, Streamlit sends again the values that the last run set. They would take
back what somebody has chosen in the browser since.
"""

from __future__ import annotations

from dataclasses import replace

from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType
from streamlit.runtime.state.session_state import SessionState


def ignore_late_ones() -> None:
    """Have Streamlit take no values from the request of a timer, and drop it when its part is gone or the whole page
    is about to be drawn; and send a value that was set once. A choice of somebody has a request of its own, which
    brings the values."""
    run, request = ScriptRunner._run_script, ScriptRequests._request_rerun_locked
    finish = SessionState.on_script_finished

    def run_unless_gone(runner: ScriptRunner, asked: RerunData) -> None:
        parts = asked.fragment_id_queue
        if not (asked.is_auto_rerun and parts) or any(map(runner._fragment_storage.contains, parts)):
            run(runner, asked)

    def request_unless_covered(requests: ScriptRequests, asked: RerunData) -> bool:
        if not asked.is_auto_rerun:
            return request(requests, asked)
        waiting = requests._rerun_data
        whole = requests._state == ScriptRequestType.RERUN and not (waiting.fragment_id or waiting.fragment_id_queue)
        return whole or request(requests, replace(asked, widget_states=None))

    def finish_and_know(state: SessionState, drawn: frozenset[str], **how: bool) -> None:
        finish(state, drawn, **how)
        for key, value in list(state._new_session_state.items()):
            if (widget := state._get_widget_id(key)) in drawn:  # the browser has it: from now on it is the widget's
                del state._new_session_state[key]
                state._old_state[widget] = value
                state._new_widget_state.set_from_value(widget, value)

    ScriptRunner._run_script = run_unless_gone  # type: ignore[method-assign, assignment]
    ScriptRequests._request_rerun_locked = request_unless_covered  # type: ignore[method-assign, assignment]
    SessionState.on_script_finished = finish_and_know  # type: ignore[method-assign, assignment]
