"""A run's metrics.jsonl, read on from where the last look ended: watching a long run costs what is new."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import streamlit as st

from lab.core.files import checked
from lab.core.formats import GB
from lab.runs.folder import stored_record
from lab.training.stopwatch import summed

COLUMNS = ("loss", "lr", "gradient_norm", "images_per_second", "memory_bytes")
"""What is kept of every step; everything is kept of the rarer records."""

TITLES = {
    "lr": "learning rate",
    "gradient_norm": "gradient norm",
    "images_per_second": "images a second",
    "memory_bytes": "memory, GB",
}
"""What people call a quantity, where that is not its name."""

Points = tuple[list[int], list[float | None]]
"""Steps and values of a curve."""

POINTS = 1500
"""Points that a curve is drawn with; more cannot be told apart on a screen."""


def title(quantity: str) -> str:
    """A quantity as people call it."""
    return TITLES.get(quantity, quantity)


@dataclass
class Journal:
    """The records of one run so far. `steps` and each of `columns` have one entry a training step.

    spent: seconds of all steps by what they went into; empty for runs of version 0.1, which did not say.
    """

    path: Path
    steps: list[int] = field(default_factory=list)
    columns: dict[str, list[float | None]] = field(default_factory=dict)
    validated: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    spent: dict[str, float] = field(default_factory=dict)
    _offset: int = 0
    _inode: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def read_on(self) -> Journal:
        """Take in what was written since the last look; begins anew when the file was replaced or cut."""
        with self._lock:
            try:
                with open(checked(self.path), "rb") as file:
                    self._reset_if_replaced(file)
                    file.seek(self._offset)
                    whole, end, _ = file.read().rpartition(b"\n")
            except (FileNotFoundError, ValueError):  # no file, or a pipe in its place
                return self
            self._offset += len(whole) + len(end)
            for line in whole.splitlines():
                self._take(line)
        return self

    def _reset_if_replaced(self, file: BinaryIO) -> None:
        stat = os.fstat(file.fileno())
        if stat.st_ino != self._inode or stat.st_size < self._offset:
            self._inode, self._offset = stat.st_ino, 0
            self.steps, self.columns = [], {}
            self.validated, self.notes = [], []
            self.spent = {}

    def _take(self, line: bytes) -> None:
        try:
            record = stored_record(line) or {}
            kind = record["kind"]
            step = int(record.get("step") or 0)
            values = {name: record.get(name) for name in COLUMNS}
            measured = dict(record.get("values") or {})
            spent = {str(part): float(taken) for part, taken in dict(record.get("spent") or {}).items()}
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            return  # a torn or foreign line says nothing
        if kind == "stepped":
            self._take_step(step, values)
            self.spent = summed([self.spent, spent])
        elif kind == "validated":
            self.validated.append(record | {"step": step, "values": measured})
        elif kind == "note":
            self.notes.append(str(record.get("sentence", "")))

    def _take_step(self, step: int, values: dict[str, Any]) -> None:
        self.steps.append(step)
        for name, value in values.items():
            self.columns.setdefault(name, [None] * (len(self.steps) - 1)).append(value)
        for column in self.columns.values():
            if len(column) < len(self.steps):
                column.append(None)

    def curve(self, name: str) -> Points:
        """Steps and values of a column of the steps or of the validations, thinned to about `POINTS`."""
        with self._lock:
            return self._curve(name)

    def _curve(self, name: str) -> Points:
        if name in self.columns:
            every = max(1, len(self.steps) // POINTS)
            steps, values = self.steps[::every], self.columns[name][::every]
            if self.steps and steps[-1] != self.steps[-1]:
                steps, values = [*steps, self.steps[-1]], [*values, self.columns[name][-1]]
            return steps, values
        measured = [r for r in self.validated if name in (r.get("values") or {})]
        return [int(r["step"]) for r in measured], [r["values"][name] for r in measured]

    @property
    def names(self) -> list[str]:
        """Every curve there is: validation metrics first, then what each step says."""
        measured = dict.fromkeys(name for r in self.validated for name in (r.get("values") or {}))
        return [*measured, *self.columns]


@st.cache_resource(max_entries=64, show_spinner=False)
def _journal(path: str) -> Journal:
    return Journal(Path(path))


def journal(folder: Path) -> Journal:
    """The journal of a run folder, read up to now; shared by all sessions."""
    return _journal(str(folder / "metrics.jsonl")).read_on()


def scaled(journal: Journal, name: str) -> Points:
    """A curve in the unit that its title names."""
    steps, values = journal.curve(name)
    if name != "memory_bytes":
        return steps, values
    return steps, [None if value is None else value / GB for value in values]
