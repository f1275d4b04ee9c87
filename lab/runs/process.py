"""Who works on a run: process number and create time together, since numbers are used again."""

from __future__ import annotations

import os
import socket
from dataclasses import asdict, dataclass
from typing import Any

import psutil

SLACK = 1.0
"""Seconds by which two readings of one create time may differ."""


@dataclass(frozen=True)
class Worker:
    """A process: host, number, create time (seconds since 1970)."""

    host: str
    pid: int
    create_time: float

    @classmethod
    def this(cls) -> Worker:
        return cls(socket.gethostname(), os.getpid(), psutil.Process().create_time())

    @classmethod
    def of(cls, pid: int) -> Worker | None:
        """The process of that number on this host, or None when there is none."""
        try:
            return cls(socket.gethostname(), pid, psutil.Process(pid).create_time())
        except psutil.Error:
            return None

    @classmethod
    def read(cls, values: Any) -> Worker | None:
        """What `as_dict` wrote; None for anything else."""
        try:
            return cls(str(values["host"]), int(values["pid"]), float(values["create_time"]))
        except (TypeError, KeyError, ValueError):
            return None

    def as_dict(self) -> dict:
        return asdict(self)

    @property
    def here(self) -> bool:
        """Whether the process is of this host, so that its life can be checked."""
        return self.host == socket.gethostname()

    @property
    def alive(self) -> bool:
        """Whether this very process still runs here; a finished one that nobody has waited for does not."""
        if not self.here:
            return False
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.create_time) < SLACK
            return same and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        except (psutil.Error, ValueError):  # ValueError: no process can have such a number
            return False
