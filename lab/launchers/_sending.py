"""Make a launcher from an address or from a run's record, and send runs to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lab.launchers._catalog import create, get

if TYPE_CHECKING:
    from lab.launchers._base import Launcher
    from lab.runs.folder import Run
    from lab.runs.process import Sent, Worker


def from_address(address: str, /, **knobs: Any) -> Launcher:
    """Return the launcher of an address: `local`, `slurm`, `ray`, or `ray://HOST:PORT` for a remote cluster.

    Raises:
        ValueError: there is no such launcher, a knob is out of range, or the address is given twice.
    """
    name, colon, _ = address.partition("://")
    if colon and "address" in knobs:
        raise ValueError(
            f"The address is given twice, {address} and {knobs['address']}; leave one out."
        )
    if colon:
        knobs["address"] = address
    return create(name, **knobs)


def from_sent(place: Sent) -> Launcher:
    """Return the launcher that a run was sent to, with the same settings.

    Raises:
        ValueError: there is no such launcher, or a knob is unknown or out of range.

    Example:
        >>> from lab.runs.process import Sent
        >>> lab.launchers.from_sent(Sent("slurm", knobs={"minutes": 90})).place.knobs["minutes"]
        90
    """
    knobs = dict(place.knobs)
    if place.address:
        knobs["address"] = place.address
    return create(place.launcher, **knobs)


def send(runs: Sequence[Run], to: Sent) -> Worker:
    """Hand runs of one folder to a cluster and return at once: a separate process, which outlives this one, waits for
    them. An error of the launcher is written into the runs.

    Raises:
        ValueError: there is no such launcher, or a run is at work. OSError: the process or its log cannot be made.
    """
    from lab.launchers.background import detached
    from lab.runs.folder import working

    outlives = get(to.launcher).outlives
    for run in runs:
        if working(run) or run.snapshot().under_way:
            raise ValueError(f"Run {run.name} is {run.state}, so it cannot be sent; stop it first.")
    words = [
        "-m",
        "lab.launchers",
        json.dumps(to.as_dict()),
        *(str(run.path.resolve()) for run in runs),
    ]
    worker = detached.start(words, runs[0].path.parent / ".sent.log")
    for run in runs:
        detached.hand_over(run, to, worker, outlives)
    return worker
