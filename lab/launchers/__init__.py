"""Launchers, one file each: where runs are trained. `names()`, `create(name, **knobs)`, `at(address)`, `add(cls)`.
`of(place)` is the one that a run was sent to; `send(runs, to)` hands runs over and does not wait for them.

The queue of this machine needs nothing; a Ray cluster and Slurm are extras. All train the same run folders by the same
code, so a run that one of them was stopped at can go on at another.

Example (`run` is a run of `lab.runs`, waiting):
    >>> import lab
    >>> lab.launchers.names()
    ('local', 'ray', 'slurm')
    >>> lab.launchers.from_address("ray://head:10001").knobs.address
    'ray://head:10001'
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.core.knobs import knob
    from lab.launchers._base import Launcher
    from lab.runs import Run
    from lab.runs.process import Sent, Worker

__all__ = ["Launcher", "add", "create", "from_address", "from_sent", "get", "knob", "names", "send"]

_catalog: "Catalog[Launcher]" = Catalog(__name__, __path__, "launcher", base="lab.launchers._base:Launcher")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
if TYPE_CHECKING:
    from lab.launchers import _entries
    from lab.launchers._entries import *

    __all__ += _entries.__all__  # type: ignore[attr-defined]  # for pyright
else:
    __getattr__, __dir__ = _catalog.public()


def from_address(address: str, /, **knobs: Any) -> "Launcher":
    """The launcher that an address names: `local`, `slurm`, `ray`, or `ray://HOST:PORT` for a cluster elsewhere.

    Raises:
        ValueError: there is no such launcher, a knob is out of range, or the address is given twice.
    """
    name, colon, _ = address.partition("://")
    if colon and "address" in knobs:
        raise ValueError(f"The address is given twice, {address} and {knobs['address']}; leave one out.")
    return create(name, **({"address": address} if colon else {}), **knobs)


def from_sent(place: "Sent") -> "Launcher":
    """The launcher of a place, with its knobs as they were.

    Raises:
        ValueError: there is no such launcher, or a knob is unknown or out of range.

    Example:
        >>> from lab.runs.process import Sent
        >>> lab.launchers.from_sent(Sent("slurm", knobs={"minutes": 90})).place.knobs["minutes"]
        90
    """
    return create(place.launcher, **({"address": place.address} if place.address else {}), **place.knobs)


def send(runs: "Sequence[Run]", to: "Sent") -> "Worker":
    """Hand runs of one folder to a cluster and return at once: a process of its own, which outlives this one, sees them
    through. What the launcher cannot do then stands in the runs.

    Raises:
        ValueError: there is no such launcher, or a run is at work. OSError: the process or its log cannot be made.
    """
    import json

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
