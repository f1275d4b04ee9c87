"""A message to an address of the owner's when a run ends: `LAB_WEBHOOK`, or `webhook` in the file of settings.

A POST of one JSON object: `run`, `state`, `step`, `steps`, `sentence` (why it failed), `scores` by split, `host`, `at`
(seconds since 1970), and `text`, which says it in one line. It is sent by the process that writes how the run ended. An
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
    """Where messages go; empty where nobody wants any.

    Raises:
        ValueError: it is no address of the web, or the file of settings cannot be read.
    """
    value = setting("webhook").strip()
    parts = urlsplit(value)
    if value and (parts.scheme not in ("http", "https") or not parts.hostname):  # it may hold a secret: not repeated
        raise ValueError("LAB_WEBHOOK must be an address that begins with http:// or https:// and names a host.")
    return value


def send(name: str, status: dict[str, Any]) -> str:
    """Tell the owner how a run ended, if he wants to know. Returns what went wrong, in a sentence; empty if nothing."""
    state, sentence = status["state"], status.get("sentence") or ""
    message: dict[str, Any] = {
        key: status.get(key) or usual for key, usual in (("step", 0), ("steps", None), ("scores", {}))
    }
    message |= {"run": name, "state": state, "sentence": sentence, "host": socket.gethostname(), "at": time.time()}
    message["text"] = f"Run {name} {'was ' if state == 'interrupted' else ''}{state}. {sentence}".strip()
    try:
        if not (where := address()):
            return ""
        headers = {"Content-Type": "application/json", "User-Agent": "rankscope"}
        request = urllib.request.Request(where, json.dumps(message).encode(), headers)
        with urllib.request.urlopen(request, timeout=PATIENCE):
            return ""
    except urllib.error.HTTPError as error:
        wrong = f"it answered {error.code}"
    except TimeoutError:
        wrong = f"no answer within {PATIENCE:.0f} seconds"
    except Exception as error:  # whatever it is, the run must not suffer from it; its words may hold the address
        wrong = str(error if type(error) is ValueError else getattr(error, "reason", "") or type(error).__name__)
    return f"The webhook could not be told that the run ended: {wrong.rstrip('.')}."
