"""Runs as detached processes: started in a session of their own, found again by lock, process number and start.

The process's output goes to the run's log.txt, never to a pipe that somebody would have to read. It outlives whoever
started it; a restarted dashboard sees it by its files.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil

from lab.core.files import appending, write_json
from lab.install import children
from lab.runs import lock
from lab.runs.folder import INTERRUPTED, QUEUED, RUNNING, SENT, STOPPED, Run
from lab.runs.launching import sent, wishes
from lab.runs.process import Worker
from lab.runs.store import list_runs
from lab.runs.writer import Writer

GRACE = 30.0
"""Seconds that a run has to save itself when it is asked to stop."""

PAUSE = 0.05


def launch(run: Run, environment: dict[str, str] | None = None) -> Worker:
    """Start, or resume, a run in the background and return its process at once.

    Args:
        environment: variables to add to this process's.

    Raises:
        ValueError: a process is at work on it already.
        OSError: the process or its log cannot be made.
    """
    if working(run):
        raise ValueError(f"Run {run.name} is already running{_as_process(run)}.")
    with Writer(run):  # of two that launch it at once, one does
        if run.launched is not None and run.launched.alive:
            raise ValueError(f"Run {run.name} is already running{_as_process(run)}.")
        (run.path / SENT).unlink(missing_ok=True)  # from here on it is this machine's
        with appending(run.path / "log.txt") as log:
            process = subprocess.Popen(
                children.python("-m", "lab", "train", "--resume", str(run.path.resolve())),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=children.environment(environment),
            )
        worker = Worker.of(process.pid) or Worker(Worker.this().host, process.pid, 0.0)
        write_json(run.path / "launch.json", run.signed(worker))
    return worker


def working(run: Run) -> bool:
    """Whether a process of this host is at work on the run, or about to be."""
    if run.launched is not None and run.launched.alive:
        return True
    held = lock.held(run.path)
    worker = run.worker if held is None and run.state == RUNNING else None
    return bool(held) or (worker is not None and worker.alive)


def _as_process(run: Run) -> str:
    worker = _process_of(run)
    return "" if worker is None else f", as process {worker.pid}"


def ask_to_stop(run: Run) -> bool:
    """Ask the run's process to save a checkpoint and end; False when there is none on this host.

    Raises:
        ValueError: it belongs to another account.
    """
    worker = _process_of(run)
    if worker is None:
        return False
    try:
        os.kill(worker.pid, signal.SIGTERM)
    except ProcessLookupError:
        return False
    except PermissionError:
        raise ValueError(
            f"Run {run.name} is being trained by another account, as process {worker.pid}; only that one can stop it."
        ) from None
    return True


def kill(run: Run) -> bool:
    """End the run's process and all of its group, at once; False when there is none on this host.

    The run resumes from its last checkpoint.
    """
    worker = _process_of(run)
    if worker is None:
        return False
    members = _members(worker)
    if not members:
        return False
    for member in members:
        try:
            member.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(members, timeout=10)
    _settle(worker)
    if run.written_state in (RUNNING, QUEUED):
        sentence = "Killed; it resumes from its last checkpoint."
        with suppress(lock.Held), Writer(run) as writer:  # if somebody was quick enough to go on with it, it is theirs
            writer.status(STOPPED, phase="stopped", sentence=sentence, eta_seconds=None)
    return True


def stop(run: Run, grace: float = GRACE) -> str:
    """Ask the run to stop, wait up to `grace` seconds, then kill it. Returns `stopped`, `killed` or `not running`.

    A run at work on another machine, or in the hands of a cluster, which would begin a killed one anew, is asked by a
    file in its folder and is not waited for: `asked`; see `lab.runs.launching.sent.ask_to_stop`.
    """
    if sent.under_way(run):
        return "asked" if sent.ask_to_stop(run) else "stopped"
    worker = _process_of(run)
    if worker is None and run.state == RUNNING and run.worker is not None and not run.worker.here:
        wishes.leave(run)
        return "asked"
    if worker is None or not ask_to_stop(run):
        return "not running"
    deadline = time.monotonic() + grace
    while worker.alive:
        if time.monotonic() > deadline:
            return "killed" if kill(run) else "stopped"
        time.sleep(PAUSE)
    return "stopped"


def reconcile(root: Path | str) -> tuple[Run, ...]:
    """Write `interrupted` into every run below `root` whose process has gone without a word; returns these runs.

    Runs whose process lives need nothing: they are known by their lock.
    """
    orphans = []
    for run in list_runs(root):
        status = run.status
        left = status["state"] == INTERRUPTED and run.written_state in (RUNNING, QUEUED)
        if left and not sent.under_way(run):  # else the cluster begins it again
            with suppress(lock.Held), Writer(run) as writer:
                writer.status(INTERRUPTED, phase="interrupted", sentence=status["sentence"], eta_seconds=None)
                orphans.append(run)
    return tuple(orphans)


def _process_of(run: Run) -> Worker | None:
    """The living process of a run on this host."""
    return next((w for w in (run.launched, run.worker) if w is not None and w.alive), None)


def _members(worker: Worker) -> list[psutil.Process]:
    """The process, all that descend from it, and the rest of the group it leads: children whose parent died."""
    try:
        leader = psutil.Process(worker.pid)
        members = {leader, *leader.children(recursive=True)}
        if os.getpgid(worker.pid) == worker.pid:
            members |= {p for p in psutil.process_iter() if _group(p) == worker.pid}
    except (psutil.NoSuchProcess, ProcessLookupError):
        return []
    return sorted(members, key=lambda process: process.pid == worker.pid)


def _group(process: psutil.Process) -> int | None:
    try:
        return os.getpgid(process.pid)
    except (ProcessLookupError, PermissionError):
        return None


def _settle(worker: Worker) -> None:
    """Collect a killed child of ours, so that its number is free again."""
    try:
        os.waitpid(worker.pid, os.WNOHANG)
    except ChildProcessError:
        return
