"""The process that works on a run, and the cluster that a run was handed to."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import psutil


@dataclass(frozen=True)
class Worker:
    """A process: host, number, and the start in seconds since 1970, since numbers are used again."""

    host: str
    pid: int
    create_time: float

    @classmethod
    def this(cls) -> Worker:
        return cls.of(os.getpid())

    @classmethod
    def of(cls, pid: int) -> Worker:
        """Return the process of that number on this host; one that is gone already is not alive."""
        try:
            return cls(socket.gethostname(), pid, psutil.Process(pid).create_time())
        except psutil.Error:
            return cls(socket.gethostname(), pid, 0.0)

    @classmethod
    def read(cls, values: Mapping[str, Any] | None) -> Worker | None:
        """Return the process that `as_dict` wrote, as the schema `Process` reads it; None if there is none."""
        return cls(values["host"], values["pid"], values["create_time"]) if values else None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def here(self) -> bool:
        """Whether the process is on this host, so that it can be checked."""
        return self.host == socket.gethostname()

    @property
    def alive(self) -> bool:
        """Whether this very process still runs here; a zombie does not."""
        try:
            process = psutil.Process(self.pid)
            ended = process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
            return self.here and not ended and abs(process.create_time() - self.create_time) < 1.0
        except (psutil.Error, ValueError):
            return False


@dataclass(frozen=True)
class Sent:
    """The cluster that a run was handed to.

    launcher: as `lab.launchers` names it. address: of the cluster, None where the launcher knows of one alone.
    knobs: the launcher's others, such as Slurm's partition; two places are equal without them.
    """

    launcher: str
    address: str | None = None
    knobs: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def as_dict(self) -> dict[str, Any]:
        return {"launcher": self.launcher, "address": self.address, "knobs": dict(self.knobs)}

    @property
    def words(self) -> str:
        """The cluster as a sentence names it."""
        if self.launcher != "ray":
            return self.launcher.capitalize()
        if self.address in (None, "auto"):
            return "Ray on this machine"
        return f"the Ray cluster at {self.address}"
