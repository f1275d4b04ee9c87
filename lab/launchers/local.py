"""The queue of this machine, one run per device at a time; two small networks share a processor."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from lab.launchers._base import PAUSE, Launcher
from lab.launchers.background.queue import Queue
from lab.runs.folder import FINISHED, RUNNING, Run, working


class Local(Launcher):
    """The queue of the folder of runs: a detached process that trains one run per device, after the waiting ones.

    Example (`run` is that of `lab.launchers`):
        >>> launcher = lab.launchers.create("local")
        >>> launcher.outlives
        True
    """

    def __post_init__(self) -> None:
        self._runs: list[Run] = []

    def submit(self, runs: Sequence[Run]) -> None:
        for run in runs:
            queue = Queue(run.path.parent)
            if run.name not in queue.names and not working(run) and run.state != FINISHED:
                queue.add(run)
        for root in {run.path.parent for run in runs}:
            Queue(root).ensure_worker()
        self._runs += runs

    def ended(self) -> Iterator[Run | None]:
        while self._runs:
            over = [run for run in self._runs if self._is_over(run)]
            for run in over:
                # first: a caller that breaks off gets the others the next time
                self._runs.remove(run)
                yield run
            if self._runs and not over:
                yield None
                time.sleep(PAUSE)

    def _is_over(self, run: Run) -> bool:
        queue = Queue(run.path.parent)
        if run.name in queue.names:
            if queue.abandoned:
                queue.ensure_worker()  # its process died, and this process waits for the runs
            return False
        # A run that was removed from the queue, or whose folder was moved, will not be trained.
        return run.state != RUNNING and not working(run)
