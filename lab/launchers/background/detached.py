"""Run a training in a detached process of this machine, or record that a cluster has it.

A detached process has a session of its own and is identified by lock, process number and start time. Its output goes to
the run's log.txt, never to a pipe that somebody would have to read. It outlives the process that started it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil

from lab.core import ownership
from lab.core.files import appending, check_allowed, write_json
from lab.core.installed import children
from lab.runs import lock, stop_request
from lab.runs.folder import INTERRUPTED, QUEUED, RUNNING, SENT, STOPPED, Run, launched_lives
from lab.runs.process import Sent, Worker
from lab.runs.store import list_runs
from lab.runs.writer import Writer

GRACE = 30.0
"""Seconds that a run has to save itself when it is asked to stop."""
NICENESS = 10
"""Niceness of background work: with too few cores, pages that people wait for come first."""


def start(words: list[str], log: Path, environment: dict[str, str] | None = None) -> Worker:
    """Start `python WORDS` in a session of its own, so that it outlives this process, and at a low priority.

    Raises:
        OSError: the process or its log cannot be made.
    """
    with appending(log) as file:
        process = subprocess.Popen(
            children.python(*words),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
            env=children.environment(environment),
        )
    with suppress(OSError, psutil.Error):  # it may have ended; and not every system has priorities
        psutil.Process(process.pid).nice(NICENESS)
        # Linux may divide the cores among sessions first, and niceness then counts only within a session.
        Path(f"/proc/{process.pid}/autogroup").write_text(str(NICENESS))
    return Worker.of(process.pid)


def launch(run: Run, environment: dict[str, str] | None = None) -> Worker:
    """Start, or resume, a run in the background and return its process at once.

    Args:
        environment: variables to add to this process's.

    Raises:
        ValueError: a process is at work on it already.
        OSError: the process or its log cannot be made.
    """
    with suppress(lock.Held), Writer(run):  # of two simultaneous calls only one launches it
        if not launched_lives(run):
            (run.path / SENT).unlink(missing_ok=True)  # from here on it belongs to this machine
            words = ["-m", "lab", "train", "--resume", str(run.path.resolve())]
            worker = start(words, run.path / "log.txt", environment)
            write_json(run.path / "launch.json", run.signed(worker))
            return worker
    process = run.snapshot().process
    which = f", as process {process.pid}" if process else ""
    raise ValueError(f"Run {run.name} is already running{which}.")


def stop(run: Run, grace: float = GRACE) -> str:
    """Ask the run to stop, wait up to `grace` seconds, then kill it. Returns `stopped`, `killed` or `not running`.

    A run on another machine, or on a cluster, which would restart a killed run, is asked by a file in its folder and is
    not waited for: `asked`. If it waits there, and its sender has ended or is on another machine, the folder says at
    once that it was taken back.

    Raises:
        ValueError: its process belongs to another account.
    """
    check_allowed()
    snapshot = run.snapshot()
    if snapshot.under_way:
        back = snapshot.written_state == QUEUED and not snapshot.seen_through and taken_back(run)
        stop_request.write(run)  # for a job that may still begin
        return "stopped" if back else "asked"
    worker = snapshot.process
    if worker is None:
        if snapshot.state != RUNNING or snapshot.worker is None or snapshot.worker.here:
            return "not running"
        stop_request.write(run)
        return "asked"
    check_own(run)
    try:
        os.kill(worker.pid, signal.SIGTERM)
    except PermissionError:
        raise ValueError(
            f"Run {run.name} is being trained by another account, as process {worker.pid}; only that one can stop it."
        ) from None
    deadline = time.monotonic() + grace
    while worker.alive:
        if time.monotonic() > deadline:
            was_killed = kill(run)
            return "killed" if was_killed else "stopped"
        time.sleep(0.05)
    return "stopped"


def check_own(run: Run) -> None:
    """Refuse to end a process that another account's file names.

    Raises:
        ValueError: a process works on the run here, and this account did not write that.
    """
    worker = run.snapshot().process
    if worker is not None and not run.may_end(worker):
        raise ValueError(
            f"Run {run.name} names process {worker.pid}, and this account did not write that, so it is left alone. If "
            f"it trains this run, end it by its number: kill {worker.pid}."
        )


def kill(run: Run) -> bool:
    """End the run's process and its whole group, at once; False if there is none on this host.

    The run resumes from its last checkpoint.

    Raises:
        ValueError: this account did not write that the process works on the run.
    """
    check_allowed()
    worker = run.snapshot().process
    if worker is None:
        return False
    check_own(run)
    with suppress(psutil.NoSuchProcess, ProcessLookupError):
        leader = psutil.Process(worker.pid)
        members = [*leader.children(recursive=True), leader]
        # then those of its group whose parents have died, too
        if os.getpgid(worker.pid) == worker.pid:
            os.killpg(worker.pid, signal.SIGKILL)
        for member in members:
            with suppress(psutil.NoSuchProcess):
                member.kill()
        psutil.wait_procs(members, timeout=10)
    with suppress(ChildProcessError):
        os.waitpid(worker.pid, os.WNOHANG)  # a child of this process: its number is free again
    if run.written_state in (RUNNING, QUEUED):
        sentence = "Killed; it resumes from its last checkpoint."
        # another process may have resumed it already
        with (
            suppress(lock.Held),
            Writer(run) as writer,
        ):
            writer.status(STOPPED, phase="stopped", sentence=sentence, eta_seconds=None)
    return True


def reconcile(root: Path | str) -> tuple[Run, ...]:
    """Write `interrupted` into every run below `root` whose process has gone without a word; returns these runs."""
    orphans = []
    for run in list_runs(root):
        snapshot = run.snapshot()
        is_orphan = snapshot.state == INTERRUPTED and snapshot.written_state in (RUNNING, QUEUED)
        if is_orphan and not snapshot.under_way:  # else the cluster restarts it
            sentence = snapshot.status["sentence"]
            with suppress(lock.Held), Writer(run) as writer:
                writer.status(INTERRUPTED, phase="interrupted", sentence=sentence, eta_seconds=None)
                orphans.append(run)
    return tuple(orphans)


def hand_over(run: Run, to: Sent, worker: Worker, outlives: bool) -> None:
    """Record which process sends a run where, and that the run waits.

    Args:
        outlives: whether the run goes on when that process ends.

    Raises:
        OSError: the folder cannot be written.
    """
    # the page wrote it first, and a stop may have been requested since
    again = run.snapshot().sender == worker
    sign(run, to, worker, outlives)
    # of a process whose node is gone and that does not know it yet
    with (
        suppress(lock.Held),
        Writer(run) as writer,
    ):
        if not again:
            stop_request.clear(run)
        (run.path / "launch.json").unlink(missing_ok=True)
        writer.status(QUEUED, phase="waiting", sentence="", eta_seconds=None)


def sign(run: Run, to: Sent, worker: Worker, outlives: bool, job: str | None = None) -> None:
    """Record which process waits for the run, and where; the run stays as it is. job: its name on the cluster."""
    write_json(
        run.path / SENT, {**run.signed(worker), **to.as_dict(), "outlives": outlives, "job": job}
    )
    ownership.sign(run.path, SENT)


def taken_back(run: Run) -> bool:
    """Record that a run was asked to stop while it waited for its turn, or for a node after its own had died.

    Returns whether it was recorded: not while another process holds the folder's lock.
    """
    written = False
    sentence = (
        "it goes on from its last checkpoint"
        if run.checkpoint("last")
        else "nothing of it was trained"
    )
    with suppress(lock.Held), Writer(run, gone=True) as writer:
        writer.status(
            STOPPED, phase="stopped", sentence=f"Taken back; {sentence}.", eta_seconds=None
        )
        written = True
    stop_request.clear(run)
    return written
