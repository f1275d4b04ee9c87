"""Runs that were handed to a cluster: to which one, and by which process of this machine, which sees them through."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from lab.core.files import write_json
from lab.runs import lock
from lab.runs.folder import QUEUED, RUNNING, SENT, STOPPED, Run, read_json
from lab.runs.launching import wishes
from lab.runs.process import Worker
from lab.runs.writer import Writer


@dataclass(frozen=True)
class Sent:
    """Where a run was handed over to.

    launcher: as `lab.launchers` names it. address: of the cluster, None where the launcher knows of one alone.
    knobs: the launcher's others, such as Slurm's partition; empty for its defaults. They say how, not where, and two
        are equal without them.
    """

    launcher: str
    address: str | None = None
    knobs: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def read(cls, values: Any) -> Self | None:
        """What `as_dict` wrote; None for anything else."""
        if not isinstance(values, Mapping) or not values.get("launcher"):
            return None
        address, knobs = values.get("address"), values.get("knobs")
        return cls(str(values["launcher"]), address and str(address), knobs if isinstance(knobs, dict) else {})

    def as_dict(self) -> dict[str, Any]:
        return {"launcher": self.launcher, "address": self.address, "knobs": dict(self.knobs)}

    @property
    def words(self) -> str:
        """As a sentence names it."""
        if self.launcher != "ray":
            return self.launcher.capitalize()
        return f"the Ray cluster at {self.address}" if self.address not in (None, "auto") else "Ray on this machine"


def hand_over(run: Run, to: Sent, worker: Worker, outlives: bool) -> None:
    """Write down who sends a run where, and that it waits.

    Args:
        outlives: whether the run goes on when that process ends.

    Raises:
        OSError: the folder cannot be written.
    """
    again = run.sender == worker  # the page said so first, and somebody may have asked to stop since
    sign(run, to, worker, outlives)
    with suppress(lock.Held), Writer(run) as writer:  # of a process whose node is gone and that does not know it yet
        if not again:
            wishes.clear(run)
        (run.path / "launch.json").unlink(missing_ok=True)
        writer.status(QUEUED, phase="waiting", sentence="", eta_seconds=None)


def sign(run: Run, to: Sent, worker: Worker, outlives: bool, job: str | None = None) -> None:
    """Write down who sees the run through, and where; the run stays as it is.

    Args:
        job: what the cluster calls it, where the run can be found there again.

    Raises:
        OSError: the folder cannot be written.
    """
    write_json(run.path / SENT, {**run.signed(worker), **to.as_dict(), "outlives": outlives, "job": job})


def job_of(run: Run) -> str | None:
    """What the cluster calls the run, if that is known."""
    job = (read_json(run.path / SENT) or {}).get("job")
    return job and str(job)


def place_of(run: Run) -> Sent | None:
    """Where a run was last handed over to; None for one that was not, or came back to this machine's queue."""
    return Sent.read(read_json(run.path / SENT))


def waits(run: Run) -> bool:
    """Whether the run waits for its turn in the hands of a cluster, as far as can be told from this machine."""
    return run.state == QUEUED and run.sender is not None


def seen_through(run: Run) -> bool:
    """Whether a process of this machine sees the run through elsewhere, be it at work or waiting for its turn."""
    sender = run.sender
    return sender is not None and sender.alive and run.written_state in (QUEUED, RUNNING)


def under_way(run: Run) -> bool:
    """Whether the run is in the hands of a cluster: seen through by this machine, or waiting, whoever sent it."""
    return seen_through(run) or waits(run)


def ask_to_stop(run: Run) -> bool:
    """Ask by a file in the run's folder; whether somebody will hear of it, or has to be waited for.

    Whoever sees the run through looks for the file every second, and a node before it begins. Of a run that waits while
    its sender has ended, or has not heard when it was asked before, the folder says at once that it was taken back.
    """
    ended = run.sender is not None and run.sender.here and not run.sender.alive
    unheard = waits(run) and (ended or (not seen_through(run) and wishes.left(run)))
    back = unheard and taken_back(run)
    wishes.leave(run)  # for a job that may begin yet
    return not back


def taken_back(run: Run) -> bool:
    """Say of a run that was asked to stop while it waited for its turn, or for a node after its own had died.

    Returns whether it was said: not while another process has the folder.
    """
    written = False
    begun = run.checkpoint("last") is not None
    sentence = "it goes on from its last checkpoint" if begun else "nothing of it had come back from the cluster"
    with suppress(lock.Held), Writer(run, gone=True) as writer:
        writer.status(STOPPED, phase="stopped", sentence=f"Taken back; {sentence}.", eta_seconds=None)
        written = True
    wishes.clear(run)
    return written
