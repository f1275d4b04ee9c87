"""Slurm, through submitit: an array of jobs, put back into the queue when the time limit comes near."""

from __future__ import annotations

import re
import secrets
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lab.core import ownership
from lab.core.explain import need
from lab.core.installed import children
from lab.core.knobs import knob
from lab.launchers._base import PAUSE, Launcher
from lab.launchers._needs import needs_of
from lab.launchers.background import detached
from lab.runs import lock, stop_request
from lab.runs.folder import (
    ENDED,
    FAILED,
    FINISHED,
    INTERRUPTED,
    QUEUED,
    RUNNING,
    SENT,
    STOPPED,
    Run,
    working,
)
from lab.runs.process import Worker
from lab.runs.writer import Writer

if TYPE_CHECKING:
    from submitit.helpers import DelayedSubmission

FOLDER = ".slurm"
"""Folder of submitit's files about its jobs, in the folder of runs."""

GRACE = 60.0
"""Seconds that a training has to save itself when the time limit comes near."""

LOOK = 0.1
"""Seconds between two polls of the process of a training."""

LIMITS = 100_000
"""How often a job may reach its time limit and go back into the queue; submitit's default is three times."""


@dataclass(frozen=True)
class _Job:
    """A run that was handed over. before: time of its last status before, to tell an old end from a new one."""

    run: Run
    job: Any
    before: float


class Slurm(Launcher):
    """One array of Slurm jobs, through submitit; the folder of runs must be shared with the nodes.

    Some minutes before its time is up a job saves a checkpoint, goes back into the queue and continues from there.
    submitit keeps its files in `.slurm`, in the folder of runs.

    Example (`run` is that of `lab.launchers`):
        >>> launcher = lab.launchers.create("slurm", partition="gpu", minutes=240)
        >>> launcher.outlives
        True
    """

    partition: str | None = knob(
        "Partition of the cluster. None: the cluster's default.", default=None
    )
    minutes: int = knob(
        "Time limit of a job; one that needs longer is put back and goes on.",
        default=720,
        ge=1,
        le=10_000_000,
        unit="minutes",
    )
    gpus: int = knob("GPUs of a job whose run may use one.", default=1, ge=0, le=64)
    at_once: int = knob(
        "How many jobs of the array may be at work at the same time.", default=64, ge=1, le=100_000
    )
    memory: float | None = knob(
        "Memory of a job. None: forecast.", default=None, gt=0, le=100_000, unit="GB"
    )
    cluster: Literal["slurm", "local", "debug"] = knob(
        "What takes the jobs: Slurm, or for a trial this machine (local) or this very process (debug).",
        default="slurm",
    )

    def __post_init__(self) -> None:
        self._jobs: list[_Job] = []

    def submit(self, runs: Sequence[Run]) -> None:
        need("The launcher slurm", "slurm", "submitit")
        import submitit

        runs = [run for run in runs if run.state != FINISHED and not self._found_again(run)]
        if not runs:
            return
        needs = [needs_of(run.config, bool(self.knobs.gpus), self.knobs.memory) for run in runs]
        # submitit reads pickles in its folder, so the folder is a new one that nobody can have filled before.
        kept = secrets.token_hex(8)
        folder = runs[0].path.parent / FOLDER / kept
        try:
            executor = submitit.AutoExecutor(
                folder=folder, cluster=self.knobs.cluster, slurm_max_num_timeout=LIMITS
            )
        except RuntimeError as error:  # no sbatch here
            raise ValueError(f"{error}. Submit from a machine of the cluster.") from None
        # One array of jobs, each as large as the largest run needs.
        options = {"slurm_partition": self.knobs.partition} if self.knobs.partition else {}
        executor.update_parameters(
            name="rankscope",
            timeout_min=self.knobs.minutes,
            cpus_per_task=max(needed.cpus for needed in needs),
            gpus_per_node=self.knobs.gpus if any(needed.gpus for needed in needs) else 0,
            mem_gb=max(needed.memory for needed in needs) / 1e9,
            slurm_array_parallelism=self.knobs.at_once,
            **options,
        )
        # Sign the runs over before they are submitted; one that was stopped meanwhile is taken back.
        for run in runs:
            detached.hand_over(run, self.place, Worker.this(), self.outlives)
            if stop_request.pending(run):
                detached.taken_back(run)
        runs = [run for run in runs if run.written_state == QUEUED]
        if not runs:
            return
        before = [run.status["updated"] for run in runs]
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        jobs = executor.map_array(SlurmJob(), [str(run.path.resolve()) for run in runs])
        for run, job in zip(runs, jobs, strict=True):
            detached.sign(run, self.place, Worker.this(), self.outlives, f"{kept}/{job.job_id}")
        self._jobs += map(_Job, runs, jobs, before)

    def _found_again(self, run: Run) -> bool:
        """Take over a run whose job waits or runs, after the command that handed it over was interrupted."""
        snapshot = run.snapshot()
        if (
            snapshot.place != self.place
            or snapshot.job is None
            or snapshot.state not in (QUEUED, RUNNING)
        ):
            return False
        if self.knobs.cluster != "slurm":
            return False  # its process is gone, and with it the job
        kept, _, number = snapshot.job.rpartition("/")
        if not ownership.is_own(run.path, SENT) or not re.fullmatch("([0-9a-f]{16})?", kept):
            return False  # another account names a job, and a folder whose pickles would be read
        import submitit

        job = submitit.SlurmJob(run.path.parent / FOLDER / kept, number)
        if job.done():
            return False
        detached.sign(run, self.place, Worker.this(), self.outlives, snapshot.job)
        self._jobs.append(_Job(run, job, snapshot.status["updated"]))
        return True

    def ended(self) -> Iterator[Run | None]:
        while self._jobs:
            over = [handed for handed in self._jobs if handed.job.done()]
            for handed in over:
                # one at a time: a caller that breaks off gets the others the next time
                self._jobs.remove(handed)
                _settle(handed)
                yield handed.run
            if self._jobs and not over:
                self._take_back()
                yield None
                time.sleep(PAUSE)

    def _take_back(self) -> None:
        """Cancel the jobs of runs that were asked to stop and have not begun."""
        for handed in self._jobs:
            run = handed.run
            if run.written_state in (QUEUED, STOPPED) and stop_request.pending(run):
                handed.job.cancel(check=False)
                detached.taken_back(run)


class SlurmJob:
    """A job: the training in a separate process. submitit calls `checkpoint` when the time limit comes near."""

    def __init__(self) -> None:
        self._process: subprocess.Popen | None = None

    def __call__(self, path: str) -> int:
        run = Run(Path(path))
        if stop_request.pending(run):  # it was asked to stop before it began
            detached.taken_back(run)
            return 0
        command = children.python("-m", "lab", "train", "--resume", path, "--quiet")
        self._process = subprocess.Popen(command, env=children.environment())
        # not `wait`, in which `checkpoint`, called by a signal, could not wait too
        while self._process.poll() is None:
            time.sleep(LOOK)
        return self._process.returncode

    def checkpoint(self, path: str) -> DelayedSubmission | None:
        """Return the job that goes back into the queue, once the run has saved itself; None if it ended or was stopped.

        It goes back after a kill, too, from the checkpoint before.
        """
        from submitit.helpers import DelayedSubmission

        run = Run(Path(path))
        to_stop = stop_request.pending(run)
        if self._process is not None:
            self._process.terminate()
            until = time.monotonic() + GRACE
            while self._process.poll() is None and time.monotonic() < until:
                time.sleep(LOOK)
                to_stop = to_stop or stop_request.pending(run)  # which the training takes away
            self._process.kill()
            self._process.wait()
        if to_stop or stop_request.pending(run) or run.state not in (STOPPED, INTERRUPTED, QUEUED):
            return None
        # it goes back even if this cannot be written
        with (
            suppress(lock.Held, OSError),
            Writer(run) as writer,
        ):
            writer.status(
                QUEUED,
                phase="waiting",
                sentence="Its time was up; it waits for Slurm.",
                eta_seconds=None,
            )
        return DelayedSubmission(SlurmJob(), path)

    def __getstate__(self) -> dict[str, Any]:
        return {"_process": None}  # a process cannot be pickled


def _settle(handed: _Job) -> None:
    """Write into a run whose job ended without a word what became of the job."""
    run = handed.run
    job = handed.job
    if working(run) or (run.state in ENDED and run.status["updated"] != handed.before):
        return
    reason = str(job.exception() or "no reason is known").strip().splitlines()[-1][:300].rstrip(".")
    sentence = f"Its job {job.job_id} ended without training it: {reason}. See {job.paths.stderr}."
    with suppress(lock.Held), Writer(run, gone=True) as writer:
        writer.status(FAILED, phase="failed", sentence=sentence)
