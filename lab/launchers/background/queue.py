"""A queue of runs that outlives tabs, servers and workers: one file, one run per device; it continues after an error.

Two small networks, which take a thread each, share a processor of two cores or more.

The file `.queue.json` in the folder of runs holds the names of the waiting runs, in order, and the process that starts
them. `advance` starts every run that can start; `work` does so until nothing waits, in a detached process that
`ensure_worker` starts if none is alive.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock

from lab.core import ownership, stored
from lab.core.explain import explain
from lab.core.files import check_allowed, write_json
from lab.core.formats import counted
from lab.launchers.background.detached import launch, reconcile, start
from lab.runs import stop_request
from lab.runs.boundary import check_elsewhere
from lab.runs.folder import FAILED, FINISHED, QUEUED, SENT, Run, working
from lab.runs.process import Worker
from lab.runs.schemas import QueueFile
from lab.runs.store import list_runs
from lab.runs.threads import SMALL, usable_cores
from lab.runs.writer import Writer

ABREAST = 2
"""Small networks that a processor trains at a time."""
PAUSE = 1.0
"""Seconds between two polls of the queue's worker."""
GO = "run `lab runs queue go`"
"""The command that restarts a queue."""


class Queue:
    """The waiting runs below one folder. Every method reads and writes the file under a lock."""

    def __init__(self, root: Path | str):
        self.root = Path(root)
        self._file = self.root / ".queue.json"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the waiting runs, next first; runs whose folder is gone are left out."""
        waiting = self._read()["waiting"]
        return tuple(name for name in waiting if (self.root / name / "config.yaml").is_file())

    @property
    def paused(self) -> bool:
        """Whether waiting runs are held back."""
        return self._read()["paused"]

    @property
    def worker(self) -> Worker | None:
        """The process that advances the queue, if one lives here."""
        worker = Worker.read(self._read()["worker"])
        return worker if worker is not None and worker.alive else None

    @property
    def abandoned(self) -> bool:
        """Whether runs wait that no process will start: the queue's process died, for instance with the machine. A
        process of another machine, which cannot be seen from here, counts as alive."""
        return (
            bool(self.names) and not self.paused and self.worker is None and self._elsewhere is None
        )

    @property
    def _elsewhere(self) -> Worker | None:
        worker = Worker.read(self._read()["worker"])
        return worker if worker is not None and not worker.here else None

    @property
    def sentence(self) -> str:
        """A sentence why no process of this machine starts the waiting runs, and what to do; "" if one does, or if
        nothing waits."""
        waiting = counted(len(self.names), "run waits", "runs wait")
        elsewhere = self._elsewhere
        if self.paused:
            return f"The queue is paused ({waiting}): press Continue the queue in the dashboard, or {GO}."
        if self.abandoned:
            sentence = (
                f"The process that runs the queue has stopped, perhaps because the machine restarted ({waiting}): "
                f"press Restart the queue in the dashboard, or {GO}."
            )
            return f"{sentence} `lab app` does so when it starts." if self.is_own else sentence
        if self.names and elsewhere is not None:
            return (
                f"Process {elsewhere.pid} of {elsewhere.host} runs the queue and cannot be seen from here ({waiting}). "
                f"If it has ended, {GO} on this machine."
            )
        return ""

    def add(self, run: Run, device: str | None = None, position: int | None = None) -> None:
        """Add a run, last or at a position from 0; `device` changes its configuration first.

        Raises:
            ValueError: the run is of another folder, waits already, is at work or is finished, or needs a program.
        """
        if run.path.resolve().parent != self.root.resolve():
            raise ValueError(
                f"Run {run.name} is not in {self.root}, so it cannot be added to that folder's queue."
            )
        with suppress(OSError):
            check_elsewhere(run.config.program)
        snapshot = run.snapshot()
        if snapshot.place and snapshot.under_way:
            raise ValueError(
                f"Run {run.name} is in the hands of {snapshot.place.words}; stop it there first."
            )
        if working(run) or snapshot.state == FINISHED:
            raise ValueError(
                f"Run {run.name} is {snapshot.state}; a queue takes runs with something left to do."
            )
        with self._changing() as state:
            waiting = state["waiting"]
            if run.name in waiting:
                raise ValueError(f"Run {run.name} is already in the queue.")
            if device is not None:
                run.reconfigure(run.config.changed("training.device", device))
            with Writer(run) as writer:
                for name in ("launch.json", SENT, stop_request.FILE):  # of a process that has ended
                    (run.path / name).unlink(missing_ok=True)
                writer.status(QUEUED, phase="waiting", sentence="", eta_seconds=None)
            waiting.insert(len(waiting) if position is None else position, run.name)

    def remove(self, name: str) -> None:
        """Remove a run from the queue; its folder stays.

        Raises:
            ValueError: it does not wait.
        """
        with self._changing() as state:
            _take_out(state["waiting"], name)

    def move(self, name: str, position: int) -> None:
        """Move a run to another position, 0 being the next to start.

        Raises:
            ValueError: it does not wait, or the position is negative.
        """
        if position < 0:
            raise ValueError(
                f"A position in the queue is 0, the next to start, or more; got {position}."
            )
        with self._changing() as state:
            _take_out(state["waiting"], name)
            state["waiting"].insert(min(position, len(state["waiting"])), name)

    @contextmanager
    def renaming(self, name: str, other: str | None) -> Iterator[None]:
        """Keep a waiting run in the queue under its new name while the block renames its folder; None removes it."""
        with self._changing() as state:
            yield
            renamed = [other if waiting == name else waiting for waiting in state["waiting"]]
            state["waiting"] = [waiting for waiting in renamed if waiting is not None]

    def pause(self, paused: bool = True) -> None:
        """Pause or continue the queue; running runs are not affected."""
        with self._changing() as state:
            state["paused"] = paused

    def advance(self) -> tuple[Run, ...]:
        """Start the next runs of every device that has room; returns the runs that were started.

        A run that cannot be started (its folder is damaged, the system refuses) fails with that sentence, and the
        others start all the same.
        """
        started = []
        with self._changing() as state:
            if state["paused"]:
                return ()
            cores = usable_cores()
            busy: Counter[str] = Counter()
            for run in self.active():
                busy[slot(run)] += _cores_taken(run, cores)
            for name in list(state["waiting"]):
                try:
                    run = Run(self.root / name)
                    # else a worker had started it and was killed then
                    if not working(run) and run.state != FINISHED:
                        device = slot(run)
                        taken = _cores_taken(run, cores)
                        if busy[device] and busy[device] + taken > min(cores, ABREAST):
                            continue
                        launch(run)
                        busy[device] += taken
                        started.append(run)
                except (ValueError, OSError) as error:
                    sentence = f"The queue could not start this run: {explain(error)}"
                    with suppress(ValueError, OSError), Writer(Run(self.root / name)) as writer:
                        writer.log(sentence)
                        writer.status(FAILED, phase="failed", sentence=sentence)
                state["waiting"].remove(name)
        return tuple(started)

    def active(self) -> tuple[Run, ...]:
        """Runs of the folder that a process on this host works on, started by the queue or not."""
        return tuple(run for run in list_runs(self.root) if working(run))

    def ensure_worker(self) -> None:
        """Start the queue's own detached process unless it lives."""
        with self._changing() as state:
            if self.worker is None:
                words = ["-m", "lab", "runs", "queue", "work", "--runs", str(self.root.resolve())]
                state["worker"] = start(words, self.root / ".queue.log").as_dict()

    def work(self) -> Iterator[Run]:
        """Advance the queue until nothing waits; yields every run that was started.

        Raises:
            ValueError: another process does this already.
        """
        with self._changing() as state:
            if self.worker not in (None, Worker.this()):
                raise ValueError(
                    f"The queue of {self.root} is already run by process {state['worker']['pid']}."
                )
            state["worker"] = Worker.this().as_dict()
        reconcile(self.root)
        while not self._retired():
            with suppress(OSError):  # a full disk: the runs wait until there is room
                yield from self.advance()
            if self.names:
                time.sleep(PAUSE)

    def _retired(self) -> bool:
        """Give up the post if nothing waits, under the lock: adding a run after that starts another worker."""
        with self._changing() as state:
            is_empty = not self.names
            if is_empty:
                state["worker"] = None
            return is_empty

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Any]]:
        check_allowed()
        self.root.mkdir(parents=True, exist_ok=True)
        with FileLock(self.root / ".queue.lock"):
            state = self._read()
            yield state
            if state != self._read():
                write_json(self._file, {**state, "mark": ownership.mark_of(self._words(state))})

    @property
    def is_own(self) -> bool:
        """Whether this account wrote the queue. A folder of runs from another account can hold a queue, too."""
        return ownership.is_mark_of(self._read().get("mark"), self._words(self._read()))

    def _words(self, state: dict[str, Any]) -> str:
        return json.dumps([str(self.root.resolve()), state["waiting"], state["paused"]])

    def _read(self) -> dict[str, Any]:
        return {
            "waiting": [],
            "paused": False,
            "worker": None,
            **stored.find(self._file, QueueFile),
        }


def _take_out(waiting: list[str], name: str) -> None:
    if name not in waiting:
        raise ValueError(
            f"Run {name!r} is not in the queue, which holds: {', '.join(waiting) or 'none'}."
        )
    waiting.remove(name)


def _cores_taken(run: Run, cores: int) -> int:
    """Return how many of a processor's cores a run takes while it works: one for a small network, else all."""
    encoder = (run.config_dict.get("encoder") or {}).get("name")
    if encoder in SMALL and slot(run) == "cpu":
        return 1
    return max(cores, ABREAST)


def slot(run: Run) -> str:
    """Return the device that a run occupies while it works: `cpu` or `cuda:N`."""
    device = (run.config_dict.get("training") or {}).get("device", "auto")
    if device == "auto":
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
    return "cuda:0" if device == "cuda" else device
