"""What a process elsewhere does with a run that was handed to it: train it where its folder is, or in a copy."""

from __future__ import annotations

import signal
import socket
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from lab.core.explain import explain
from lab.data.images import ahead
from lab.launchers._parcels import unpack
from lab.launchers._post import Courier, Delivery
from lab.runs import lock
from lab.runs.execute import execute
from lab.runs.folder import FAILED, FINISHED, STALE, Run
from lab.runs.launching import sent, wishes

PATIENCE = STALE + 30
"""Seconds to wait for a folder whose former process is about to end: its node is gone, and it may not know yet. Another
machine's last sign of life counts for `STALE`."""

UNSEEN = "unseen"
"""The state of a run whose folder the node does not see, and for which nothing was delivered."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended elsewhere.

    host: where it was trained. state, sentence: as in its status, or `UNSEEN`.
    """

    host: str
    state: str
    sentence: str


def train_here(path: str, threads: int, delivery: Delivery | None = None) -> Outcome:
    """Train a run to its end, from its last checkpoint where it has one.

    Args:
        path: the run's folder, as its owner sees it.
        threads: of torch, and how many cores are reserved for it and what loads images ahead of it.
        delivery: the folder and the way back, for a node that does not see it.
    """
    folder = Path(path)
    with ahead.reserved(threads):
        return _trained_in(folder, threads, delivery)


def _trained_in(folder: Path, threads: int, delivery: Delivery | None) -> Outcome:
    if (folder / "config.yaml").is_file():
        return _trained(Run(folder), threads)
    if delivery is None:
        return Outcome(socket.gethostname(), UNSEEN, "")
    with tempfile.TemporaryDirectory(prefix="rankscope-") as elsewhere:
        copy = Path(elsewhere) / folder.name
        copy.mkdir()
        unpack(delivery.parcel, copy)
        return _trained(Run(copy), threads, Courier(copy, delivery))


def _trained(run: Run, threads: int, courier: Courier | None = None) -> Outcome:
    """Train, hearing SIGTERM, which a scheduler sends before it ends a job; `execute` hears of wishes by itself."""
    if wishes.left(run):  # somebody asked it to stop before it began
        sent.taken_back(run)
        return _outcome(run)
    import torch

    torch.set_num_threads(threads)
    terminated = threading.Event()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: terminated.set())
    until = time.monotonic() + PATIENCE
    while run.state != FINISHED:
        try:
            for record in execute(run, lambda: terminated.is_set() or (courier is not None and courier.wished())):
                if courier is not None:
                    courier.follow(record)
            break
        except lock.Held as error:
            if time.monotonic() > until:
                return Outcome(socket.gethostname(), FAILED, explain(error))
            time.sleep(1)
        except Exception as error:  # the folder says the same; who handed the run over hears it, too
            if courier is not None:
                courier.send()
            return Outcome(socket.gethostname(), FAILED, explain(error))
    if courier is not None:
        courier.send()
    return _outcome(run)


def _outcome(run: Run) -> Outcome:
    status = run.status
    return Outcome(socket.gethostname(), str(status["state"]), str(status.get("sentence") or ""))
