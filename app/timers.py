"""A timer of a page that has been left does not bring that page back.

What a timer draws anew (`run_every`) is asked for together with the page that it is part of. When such a request is
late, Streamlit 1.67 loses the page that somebody has turned to meanwhile: the request is merged into the one for the
new page and gives it its own page, or it is answered after it, though the part is gone. The browser then holds half of
one page, fails at the next part that a timer draws, and shows nothing new until it is reloaded.
"""

from __future__ import annotations

from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType


def ignore_late_ones() -> None:
    """Have Streamlit drop the request of a timer when its part is gone, or when the whole page is about to be drawn."""
    run, request = ScriptRunner._run_script, ScriptRequests._request_rerun_locked

    def run_unless_gone(runner: ScriptRunner, asked: RerunData) -> None:
        parts = asked.fragment_id_queue
        if not (asked.is_auto_rerun and parts) or any(map(runner._fragment_storage.contains, parts)):
            run(runner, asked)

    def request_unless_covered(requests: ScriptRequests, asked: RerunData) -> bool:
        waiting = requests._rerun_data
        whole = requests._state == ScriptRequestType.RERUN and not (waiting.fragment_id or waiting.fragment_id_queue)
        return (asked.is_auto_rerun and whole) or request(requests, asked)

    ScriptRunner._run_script = run_unless_gone  # type: ignore[method-assign, assignment]
    ScriptRequests._request_rerun_locked = request_unless_covered  # type: ignore[method-assign, assignment]
