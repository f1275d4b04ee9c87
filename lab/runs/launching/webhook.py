"""A message to an address of the owner's when a run ends: `LAB_WEBHOOK`, or `webhook` in the file of settings.

A POST of one JSON object: `run`, `state`, `step`, `steps`, `sentence` (why it failed), `scores` by split, `host`, `at`
(seconds since 1970), and `text`, which says it in one line. It is sent by the process that writes how the run ended. An
address that does not answer costs the run at most `PATIENCE` seconds and a line in its log.
"""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from lab.core.files import setting

PATIENCE = 10.0
"""Seconds for all of it, the name's look-up and an answer that trickles in included."""


def address() -> str:
    """Where messages go; empty where nobody wants any.

    Raises:
        ValueError: it is no address of the web, or the file of settings cannot be read.
    """
    value = setting("webhook").strip()
    if not value:
        return ""
    try:
        parts = urlsplit(value)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:  # it may hold a secret, so it is not repeated
        raise ValueError("LAB_WEBHOOK must be an address that begins with http:// or https:// and names a host.")
    return value


def message(name: str, status: dict[str, Any]) -> dict[str, Any]:
    """What is sent of a run that ended with this status."""
    state, sentence = status["state"], status.get("sentence") or ""
    return {
        "run": name,
        "state": state,
        "step": status.get("step") or 0,
        "steps": status.get("steps"),
        "sentence": sentence,
        "scores": status.get("scores") or {},
        "host": socket.gethostname(),
        "at": round(time.time(), 3),
        "text": f"Run {name} {'was ' if state == 'interrupted' else ''}{state}. {sentence}".strip(),
    }


def send(name: str, status: dict[str, Any]) -> str:
    """Tell the owner how a run ended, if he wants to know. Returns what went wrong, in a sentence; empty if nothing."""
    try:
        where = address()
    except (ValueError, OSError) as error:
        return str(error)
    if not where:
        return ""
    wrong = [f"no answer within {PATIENCE:.0f} seconds"]
    # A thread, because nothing else bounds the look-up of a name; it ends with the process.
    thread = threading.Thread(target=_post, args=(where, message(name, status), wrong), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return "".join(f"The webhook could not be told that the run ended: {one}." for one in wrong)


def _post(where: str, message: dict[str, Any], wrong: list[str]) -> None:
    """Post a message; empties `wrong` when it has arrived, else says there what was wrong."""
    try:
        request = urllib.request.Request(
            where, json.dumps(message).encode(), {"Content-Type": "application/json", "User-Agent": "rankscope"}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE):
            wrong.clear()
    except TimeoutError:
        return
    except urllib.error.HTTPError as error:
        wrong[:] = [f"it answered {error.code}"]
    except Exception as error:  # whatever it is, the run must not suffer from it
        wrong[:] = [str(getattr(error, "reason", "") or type(error).__name__)]
