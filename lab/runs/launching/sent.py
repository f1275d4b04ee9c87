"""Runs that were handed to a cluster: to which one, and by which process of this machine, which sees them through."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from lab.core import sealed
from lab.runs import lock
from lab.runs.folder import QUEUED, RUNNING, SENT, STOPPED, Run, read_json
from lab.runs.launching import wishes
from lab.runs.process import Worker
from lab.runs.writer import Writer


@dataclass(frozen=True)
class Sent:
    """Where a run was handed over to.

    launcher: as `lab.launchers` names it. address: of the cluster, None where the launcher knows of one alone.
    """

    launcher: str
    address: str | None = None

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
    told = {"launcher": to.launcher, "address": to.address, "outlives": outlives}
    again = run.sender == worker  # the page said so first, and somebody may have asked to stop since
    sealed.write(run.path / SENT, {**run.signed(worker), **told})
    with suppress(lock.Held), Writer(run) as writer:  # of a process whose node is gone and that does not know it yet
        if not again:
            wishes.clear(run)
        (run.path / "launch.json").unlink(missing_ok=True)
        writer.status(QUEUED, phase="waiting", sentence="", eta_seconds=None)


def place_of(run: Run) -> Sent | None:
    """Where a run was last handed over to; None for one that was not, or came back to this machine's queue."""
    told = read_json(run.path / SENT) or {}
    address = told.get("address")
    return Sent(str(told["launcher"]), address and str(address)) if told.get("launcher") else None


def under_way(run: Run) -> bool:
    """Whether a process of this machine sees the run through elsewhere, be it at work or waiting for its turn."""
    sender = run.sender
    return sender is not None and sender.alive and run.written_state in (QUEUED, RUNNING)


def taken_back(run: Run) -> None:
    """Say of a run that was asked to stop before it had told of any work that it did."""
    sentence = "Taken back; nothing of it had come back from the cluster."
    with suppress(lock.Held), Writer(run) as writer:
        writer.status(STOPPED, phase="stopped", sentence=sentence, eta_seconds=None)
    wishes.clear(run)
