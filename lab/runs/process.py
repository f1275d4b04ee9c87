"""Who works on a run: process number and moment of its start together, since numbers are used again."""

from __future__ import annotations

import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

SLACK = 1.0
"""Seconds by which two readings of one start may differ."""


@dataclass(frozen=True)
class Worker:
    """A process: host, number, start, boot.

    create_time: seconds since the machine started where the system tells them (Linux), else since 1970. The first
        stay what they are when the clock is set.
    boot: names the machine's start, where the system does.
    """

    host: str
    pid: int
    create_time: float
    boot: str = ""

    @classmethod
    def this(cls) -> Worker:
        return cls.of(os.getpid())

    @classmethod
    def of(cls, pid: int) -> Worker | None:
        """The process of that number on this host, or None when there is none."""
        try:
            return cls(socket.gethostname(), pid, _started(pid), _boot())
        except psutil.Error:
            return None

    @classmethod
    def read(cls, values: Any) -> Worker | None:
        """What `as_dict` wrote; None for anything else."""
        try:
            boot = str(values.get("boot", ""))
            return cls(str(values["host"]), int(values["pid"]), float(values["create_time"]), boot)
        except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
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
        if not self.here or self.boot != _boot():
            return False
        try:
            same = abs(_started(self.pid) - self.create_time) < SLACK
            return same and psutil.Process(self.pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        except (psutil.Error, ValueError, OverflowError):  # the last two: no process can have such a number
            return False


def _started(pid: int) -> float:
    """Seconds from the machine's start to that of a process. psutil adds the time of the boot, which setting the
    clock moves."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return psutil.Process(pid).create_time()


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
