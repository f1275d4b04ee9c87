"""What a process of a cluster does with a run that was handed to it: train it where its folder is."""

from __future__ import annotations

import signal
import socket
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from lab.core.explain import explain
from lab.data.images import ahead
from lab.runs import lock
from lab.runs.execute import execute
from lab.runs.folder import FAILED, FINISHED, STALE, Run
from lab.runs.launching import stop_request
from lab.runs.launching.detached import taken_back

PATIENCE = STALE + 30
"""Seconds to wait for a folder whose former process is about to end: its node is gone, and it may not know yet. Another
machine's last sign of life counts for `STALE`."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended elsewhere.

    host: where it was trained. state, sentence: as in its status.
    """

    host: str
    state: str
    sentence: str


def train_here(path: str, threads: int) -> Outcome:
    """Train a run to its end, from its last checkpoint where it has one.

    Args:
        path: the run's folder, as its owner sees it.
        threads: of torch, and how many cores are reserved for it and what loads images ahead of it.
    """
    host = socket.gethostname()
    if not (Path(path) / "config.yaml").is_file():
        sentence = f"{host} does not see {path}: keep the folder of runs (--runs) where all nodes see it."
        return Outcome(host, FAILED, sentence)
    run = Run(path)
    if stop_request.pending(run):  # somebody asked it to stop before it began
        taken_back(run)
    else:
        with ahead.reserved(threads):
            if refused := _trained(run, threads):
                return Outcome(host, FAILED, refused)
    status = run.status
    return Outcome(host, str(status["state"]), str(status.get("sentence") or ""))


def _trained(run: Run, threads: int) -> str:
    """Train, hearing SIGTERM, which a scheduler sends before it ends a job; returns why it could not."""
    import torch

    torch.set_num_threads(threads)
    terminated = threading.Event()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: terminated.set())
    until = time.monotonic() + PATIENCE
    while run.state != FINISHED:
        try:
            for _ in execute(run, terminated.is_set):
                pass
            break
        except lock.Held as error:
            if time.monotonic() > until:
                return explain(error)
            time.sleep(1)
        except Exception as error:  # the folder says the same; who handed the run over hears it, too
            return explain(error)
    return ""
