"""A queue of runs that outlives tabs, servers and workers: one file, one run a device at a time, on after an error.

The file `.queue.json` in the folder of runs holds the names that wait, in order. Whoever calls `advance` starts what
can start; `work` does so until nothing is left, in a detached process that `ensure_worker` starts when none lives.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.core.explain import explain
from lab.core.files import write_json
from lab.runs.folder import FAILED, FINISHED, QUEUED, Run
from lab.runs.launching.detached import launch, reconcile, working
from lab.runs.process import Worker
from lab.runs.writer import Writer

PAUSE = 1.0
"""Seconds between two looks of the queue's worker."""


class Queue:
    """The waiting runs below one folder. Every method reads and writes the file under a lock."""

    def __init__(self, root: Path | str):
        self.root = Path(root)
        self._file = self.root / ".queue.json"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the waiting runs, next first; those whose folder has gone are passed over."""
        return tuple(name for name in self._read()["waiting"] if (self.root / name / "config.yaml").is_file())

    @property
    def paused(self) -> bool:
        """Whether waiting runs are held back."""
        return self._read()["paused"]

    @property
    def worker(self) -> Worker | None:
        """The detached process that advances the queue, if one lives."""
        worker = Worker.read(self._read()["worker"])
        return worker if worker is not None and worker.alive else None

    def add(self, run: Run, device: str | None = None, position: int | None = None) -> None:
        """Let a run wait, last or at a position from 0; `device` changes its configuration first.

        Raises:
            ValueError: the run is of another folder, waits already, is at work or is finished.
        """
        if run.path.resolve().parent != self.root.resolve():
            raise ValueError(f"Run {run.name} is not in {self.root}, so it cannot wait in that queue.")
        if working(run) or run.state == FINISHED:
            raise ValueError(f"Run {run.name} is {run.state}; only runs with something left to do can wait.")
        with self._changing() as state:
            if run.name in state["waiting"]:
                raise ValueError(f"Run {run.name} waits already.")
            if device is not None:
                run.reconfigure(run.config.changed("training.device", device))
            (run.path / "launch.json").unlink(missing_ok=True)  # of a process that has ended
            Writer(run).status(QUEUED, phase="waiting", sentence="", eta_seconds=None)
            waiting = state["waiting"]
            waiting.insert(len(waiting) if position is None else position, run.name)

    def remove(self, name: str) -> None:
        """Take a run out of the queue; its folder stays.

        Raises:
            ValueError: it does not wait.
        """
        with self._changing() as state:
            state["waiting"].pop(self._place(state, name))

    def move(self, name: str, position: int) -> None:
        """Let a run wait at another position, 0 being the next to start.

        Raises:
            ValueError: it does not wait.
        """
        with self._changing() as state:
            waiting = state["waiting"]
            waiting.insert(position, waiting.pop(self._place(state, name)))

    def pause(self, paused: bool = True) -> None:
        """Hold back, or let go on, what waits; runs at work are left alone."""
        with self._changing() as state:
            state["paused"] = paused

    def advance(self) -> tuple[Run, ...]:
        """Start the next run of every device that is free; returns the runs that were started.

        A run that cannot be started (its folder is damaged, the system refuses) fails with that sentence, so that one
        failure never holds up the others.
        """
        started = []
        with self._changing() as state:
            if state["paused"]:
                return ()
            busy = {slot(run) for run in self.active()}
            for name in list(state["waiting"]):
                try:
                    run = Run(self.root / name)
                    where = slot(run)
                    if where in busy:
                        continue
                    state["waiting"].remove(name)
                    launch(run)
                except (ValueError, OSError) as error:
                    if name in state["waiting"]:
                        state["waiting"].remove(name)
                    _fail(self.root / name, f"The queue could not start this run: {explain(error)}")
                    continue
                busy.add(where)
                started.append(run)
        return tuple(started)

    def active(self) -> tuple[Run, ...]:
        """Runs of the folder that a process on this host works on, started by the queue or not."""
        import lab.runs

        return tuple(run for run in lab.runs.list(self.root) if working(run))

    def ensure_worker(self) -> Worker | None:
        """Start the queue's own detached process unless it lives."""
        with self._changing() as state:
            worker = Worker.read(state["worker"])
            if worker is not None and worker.alive:
                return worker
            with open(self.root / ".queue.log", "ab") as log:
                process = subprocess.Popen(
                    [sys.executable, "-m", "lab", "queue", "work", "--runs", str(self.root.resolve())],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    env=dict(os.environ),
                )
            worker = Worker.of(process.pid)
            state["worker"] = None if worker is None else worker.as_dict()
            return worker

    def work(self) -> Iterator[Run]:
        """Advance the queue until nothing waits; yields every run that was started.

        Raises:
            ValueError: another process does this already.
        """
        with self._changing() as state:
            other = Worker.read(state["worker"])
            if other is not None and other.alive and other.pid != os.getpid():
                raise ValueError(f"The queue of {self.root} is worked on by process {other.pid} already.")
            state["worker"] = Worker.this().as_dict()
        reconcile(self.root)
        while not self._retired():
            try:
                yield from self.advance()
            except OSError:  # a full disk: what waits goes on waiting until there is room
                time.sleep(PAUSE)
            if self.names:
                time.sleep(PAUSE)

    def _retired(self) -> bool:
        """Leave the post if nothing waits, in one stroke: whoever adds a run after that starts another worker."""
        if self.names:
            return False
        with self._changing() as state:
            if self.names:
                return False
            state["worker"] = None
            return True

    @property
    def abandoned(self) -> bool:
        """Whether runs wait that nobody will start: the queue's process died, for instance with the machine."""
        return bool(self.names) and not self.paused and self.worker is None

    @contextmanager
    def _changing(self) -> Iterator[dict]:
        from filelock import FileLock

        self.root.mkdir(parents=True, exist_ok=True)
        with FileLock(self.root / ".queue.lock"):
            state = self._read()
            yield state
            if state != self._read():
                write_json(self._file, state)

    def _read(self) -> dict:
        import json

        fresh = {"waiting": [], "paused": False, "worker": None}
        try:
            read = json.loads(self._file.read_text(encoding="utf-8"))
            return {key: read.get(key, value) for key, value in fresh.items()}
        except (OSError, ValueError, AttributeError):
            return fresh

    def _place(self, state: dict, name: str) -> int:
        if name not in state["waiting"]:
            raise ValueError(f"Run {name!r} does not wait; waiting: {', '.join(state['waiting']) or 'none'}.")
        return state["waiting"].index(name)


def slot(run: Run) -> str:
    """The device that a run occupies while it works: `cpu` or `cuda:N`."""
    training = run.config_dict.get("training")
    wanted = (training or {}).get("device", "auto") if isinstance(training, dict) else "auto"
    if wanted == "auto":
        import torch

        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    return "cuda:0" if wanted == "cuda" else wanted


def _fail(folder: Path, sentence: str) -> None:
    """Say in a run's folder why it was not started, as far as the folder lets one."""
    try:
        writer = Writer(Run(folder))
        writer.log(sentence)
        writer.status(FAILED, phase="failed", sentence=sentence)
    except (ValueError, OSError):
        return
