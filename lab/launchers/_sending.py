"""A launcher from what a person types or a run remembers, and runs handed to it."""

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
    """The launcher that an address names: `local`, `slurm`, `ray`, or `ray://HOST:PORT` for a cluster elsewhere.

    Raises:
        ValueError: there is no such launcher, a knob is out of range, or the address is given twice.
    """
    name, colon, _ = address.partition("://")
    if colon and "address" in knobs:
        raise ValueError(f"The address is given twice, {address} and {knobs['address']}; leave one out.")
    return create(name, **({"address": address} if colon else {}), **knobs)


def from_sent(place: Sent) -> Launcher:
    """The launcher of a place, with its knobs as they were.

    Raises:
        ValueError: there is no such launcher, or a knob is unknown or out of range.

    Example:
        >>> from lab.runs.process import Sent
        >>> lab.launchers.from_sent(Sent("slurm", knobs={"minutes": 90})).place.knobs["minutes"]
        90
    """
    return create(place.launcher, **({"address": place.address} if place.address else {}), **place.knobs)


def send(runs: Sequence[Run], to: Sent) -> Worker:
    """Hand runs of one folder to a cluster and return at once: a process of its own, which outlives this one, sees them
    through. What the launcher cannot do then stands in the runs.

    Raises:
        ValueError: there is no such launcher, or a run is at work. OSError: the process or its log cannot be made.
    """
    from lab.launchers.background import detached
    from lab.runs.folder import working

    outlives = get(to.launcher).outlives
    for run in runs:
        if working(run) or run.snapshot().under_way:
            raise ValueError(f"Run {run.name} is {run.state}, so it cannot be sent; stop it first.")
    words = ["-m", "lab.launchers", json.dumps(to.as_dict()), *(str(run.path.resolve()) for run in runs)]
    worker = detached.start(words, runs[0].path.parent / ".sent.log")
    for run in runs:
        detached.hand_over(run, to, worker, outlives)
    return worker
