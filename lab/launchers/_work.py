"""What a process elsewhere does with a run that was handed to it: train it where its folder is, or send a folder back.

Imports of `lab.runs.execute` bring torch, so this file is imported by those who train and by nobody else.
"""

from __future__ import annotations

import io
import os
import signal
import socket
import tarfile
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from lab.core.explain import explain
from lab.runs import lock
from lab.runs.config import RunConfig, parse_yaml
from lab.runs.execute import create, execute
from lab.runs.folder import FAILED, FINISHED, Run

PATIENCE = 60.0
"""Seconds to wait for a folder whose former process is about to end: its node is gone, and it may not know yet."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended elsewhere.

    host: where it was trained. state, sentence: as in its status. folder: the folder as a tar file, where the one
    that was asked for cannot be seen from there.
    """

    host: str
    state: str
    sentence: str
    folder: bytes | None = None


def train_here(path: str, configuration: str, threads: int) -> Outcome:
    """Train a run to its end, from its last checkpoint where it has one.

    Args:
        path: the run's folder, as its owner sees it.
        configuration: its YAML, for a machine that does not see the folder; the run then begins anew.
        threads: of torch.
    """
    torch.set_num_threads(threads)
    folder = Path(path)
    if (folder / "config.yaml").is_file():
        return _trained(Run(folder))
    with tempfile.TemporaryDirectory(prefix="rankscope-") as elsewhere:
        try:
            run = create(RunConfig.of(parse_yaml(configuration, path)), elsewhere, folder.name)
        except (ValueError, ImportError, OSError) as error:
            return Outcome(socket.gethostname(), FAILED, explain(error))
        outcome = _trained(run)
        return Outcome(outcome.host, outcome.state, outcome.sentence, packed(run.path))


def _trained(run: Run) -> Outcome:
    """Train, hearing SIGTERM, which a scheduler sends before it ends a job; `execute` hears of wishes by itself."""
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
                return Outcome(socket.gethostname(), FAILED, explain(error))
            time.sleep(1)
        except Exception as error:  # the folder says the same; who handed the run over hears it, too
            return Outcome(socket.gethostname(), FAILED, explain(error))
    status = run.status
    return Outcome(socket.gethostname(), str(status["state"]), str(status.get("sentence") or ""))


def packed(folder: Path) -> bytes:
    """A run's folder as a tar file of ordinary files, without its lock."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", dereference=True) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.name != lock.FILE:
                archive.add(file, arcname=str(file.relative_to(folder)), recursive=False)
    return whole.getvalue()


def unpack(whole: bytes, folder: Path) -> None:
    """Put what `packed` made over a run's folder, file by file; status.json last, so that it never runs ahead.

    Raises:
        ValueError: something in it is no ordinary file, or would lie outside the folder; nothing is written then.
        lab.runs.lock.Held: another process writes the folder.
    """
    with lock.take(folder), tarfile.open(fileobj=io.BytesIO(whole)) as archive:
        members = sorted(archive.getmembers(), key=lambda member: member.name == "status.json")
        for member in members:
            if not member.isreg() or not (folder / member.name).resolve().is_relative_to(folder.resolve()):
                raise ValueError(f"What came back for run {folder.name} holds {member.name!r}, no file of its folder.")
        for member in members:
            content = archive.extractfile(member)
            assert content is not None, "it is an ordinary file"
            target = folder / member.name
            target.parent.mkdir(parents=True, exist_ok=True)
            unfinished = target.with_name(f".{target.name}.tmp")
            unfinished.write_bytes(content.read())
            os.replace(unfinished, target)
