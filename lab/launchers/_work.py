"""Train a run in a process of a cluster, in the run's own folder."""

from __future__ import annotations

import signal
import socket
import threading
import time
from pathlib import Path

from lab.core.explain import explain
from lab.data.images import loading
from lab.launchers.background.detached import taken_back
from lab.runs import lock, stop_request
from lab.runs.execute import execute
from lab.runs.folder import FINISHED, STALE, Run

PATIENCE = STALE + 30
"""Seconds to wait for a folder whose former process is about to end: its node is gone, and it may not know yet. The
last sign of life from another machine counts for `STALE`."""


def train_here(path: str, threads: int) -> str:
    """Train a run to its end, from its last checkpoint if it has one. Returns an error, or an empty text.

    It handles SIGTERM, which a scheduler sends before it ends a job.

    Args:
        path: the run's folder, as its owner sees it.
        threads: of torch, and the cores that are reserved for training and loading.
    """
    import torch

    if not (Path(path) / "config.yaml").is_file():
        return f"{socket.gethostname()} does not see {path}: keep the folder of runs (--runs) where all nodes see it."
    run = Run(path)
    if stop_request.pending(run):  # somebody asked it to stop before it began
        taken_back(run)
        return ""
    torch.set_num_threads(threads)
    terminated = threading.Event()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: terminated.set())
    until = time.monotonic() + PATIENCE
    with loading.reserved(threads):
        while run.state != FINISHED:
            try:
                for _ in execute(run, terminated.is_set):
                    pass
                break
            except lock.Held as error:
                if time.monotonic() > until:
                    return explain(error)
                time.sleep(1)
            except Exception as error:  # also written into the folder; the caller gets it, too
                return explain(error)
    return ""
