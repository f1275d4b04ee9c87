"""A message to an address of the owner when a run ends: `LAB_WEBHOOK`, or `webhook` in the file of settings.

A POST of one JSON object: `run`, `state`, `step`, `steps`, `sentence` (why it failed), `scores` by split, `host`, `at`
(seconds since 1970), and `text`, which says it in one line. The process that writes how the run ended sends it. An
address that does not answer costs the run at most `PATIENCE` seconds and a line in its log.
"""

from __future__ import annotations

import json
import socket
import time
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from lab.core.files import setting

PATIENCE = 10.0
"""Seconds to wait for an answer."""


def address() -> str:
    """Return the address of messages; empty if there is none.

    Raises:
        ValueError: it is no address of the web, or the file of settings cannot be read.
    """
    value = setting("webhook").strip()
    parts = urlsplit(value)
    # it may hold a secret: not repeated
    if value and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise ValueError(
            "LAB_WEBHOOK must be an address that begins with http:// or https:// and names a host."
        )
    return value


def send(name: str, status: dict[str, Any]) -> str:
    """Tell the owner how a run ended, if there is an address. Returns an error as a sentence, or an empty text."""
    state = status["state"]
    sentence = status.get("sentence") or ""
    verb = "was " if state == "interrupted" else ""
    message: dict[str, Any] = {
        "run": name,
        "state": state,
        "step": status.get("step") or 0,
        "steps": status.get("steps"),
        "sentence": sentence,
        "scores": status.get("scores") or {},
        "host": socket.gethostname(),
        "at": time.time(),
        "text": f"Run {name} {verb}{state}. {sentence}".strip(),
    }
    # Any error becomes a sentence without the address.
    try:
        where = address()
        if not where:
            return ""
        headers = {"Content-Type": "application/json", "User-Agent": "rankscope"}
        request = urllib.request.Request(where, json.dumps(message).encode(), headers)
        with urllib.request.urlopen(request, timeout=PATIENCE):
            return ""
    except urllib.error.HTTPError as error:
        reason = f"it answered {error.code}"
    except TimeoutError:
        reason = f"no answer within {PATIENCE:.0f} seconds"
    except (
        Exception
    ) as error:  # no error here may end the run; its message may hold the address, which is secret
        reason = str(getattr(error, "reason", "") or type(error).__name__)
        if type(error) is ValueError:
            reason = str(error)
    return f"The webhook could not be told that the run ended: {reason.rstrip('.')}."
