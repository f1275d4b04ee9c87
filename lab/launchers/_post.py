"""How a run comes back, while it trains, from a node that does not see its folder.

The node leaves what has changed with an actor on the head of the cluster, at every checkpoint and as a sign of life.
The process that sent the run fetches it every second and writes the folder. So a run whose node dies, or that is
stopped, goes on from the last checkpoint that arrived.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.core.records import Record, Saved
from lab.launchers._parcels import Packer, Parcel
from lab.runs.launching.wishes import EVERY

SIGN = 10.0
"""Seconds between two signs of life at least, of which each holds the files that changed since the last, whole."""

SHARE = 20
"""How many times as long as sending took the training goes on before the next sign of life, for a minute at most."""


class Post:
    """What nodes have left and nobody has fetched, and which runs were asked to stop. An actor of the cluster.

    Example:
        >>> post = Post()
        >>> post.leave("run", Parcel(frozenset({"log.txt"}), {"log.txt": b"begun"}))
        >>> post.fetch(frozenset({"run"}))["run"].contents, post.wished("run"), post.fetch(frozenset())
        ({'log.txt': b'begun'}, True, {})
    """

    def __init__(self) -> None:
        self._parcels: dict[str, Parcel] = {}
        self._wishes: frozenset[str] = frozenset()

    def leave(self, key: str, parcel: Parcel) -> None:
        """Keep a parcel, with what is left of those before."""
        self._parcels[key] = parcel.after(self._parcels.get(key))

    def fetch(self, wishes: frozenset[str]) -> dict[str, Parcel]:
        """All that was left since the last time. wishes: keys of the runs that somebody has asked to stop."""
        parcels, self._parcels, self._wishes = self._parcels, {}, wishes
        return parcels

    def wished(self, key: str) -> bool:
        """Whether somebody has asked this run to stop."""
        return key in self._wishes


@dataclass(frozen=True)
class Line:
    """The post as a node reaches it: calls a method of the actor and waits for what it returns."""

    actor: Any

    def __call__(self, method: str, *values: Any) -> Any:
        import ray

        return ray.get(getattr(self.actor, method).remote(*values))


@dataclass(frozen=True)
class Delivery:
    """What a node needs to train a run whose folder it does not see.

    parcel: the folder. key: of the run at this attempt, so that nothing of an earlier one is taken for it. call: asks
    the post, by the name of a method.
    """

    parcel: Parcel
    key: str
    call: Callable[..., Any]


class Courier:
    """Leaves with the post what a run has made in a folder of the node.

    Args:
        clock: seconds; for tests.
    """

    def __init__(self, folder: Path, delivery: Delivery, clock: Callable[[], float] = time.monotonic):
        self._packer, self._delivery, self._clock = Packer(folder, known=True), delivery, clock
        self._next = self._asked = clock()
        self._wished = False

    def follow(self, record: Record) -> None:
        """Send what changed, if the record is of a checkpoint or it is time for a sign of life."""
        if isinstance(record, Saved) or self._clock() >= self._next:
            self.send()

    def send(self) -> None:
        """Send what changed, and wait until it has arrived."""
        began = self._clock()
        self._delivery.call("leave", self._delivery.key, self._packer.parcel())
        self._packer.arrived()
        now = self._clock()
        self._next = now + min(max(SIGN, SHARE * (now - began)), 60.0)

    def wished(self) -> bool:
        """Whether somebody has asked the run to stop; asks the post once a second."""
        if not self._wished and self._clock() - self._asked >= EVERY:
            self._asked = self._clock()
            self._wished = bool(self._delivery.call("wished", self._delivery.key))
        return self._wished
