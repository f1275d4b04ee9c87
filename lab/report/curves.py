"""Curves of runs over their steps, read on from where the last look ended: watching a long run costs what is new."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from lab.core.files import checked
from lab.core.formats import GB
from lab.evaluation import evaluate
from lab.runs.building.batches import frame
from lab.runs.folder import Run, stored_record
from lab.training.stopwatch import summed
from lab.verdict import Finding, History, findings

COLUMNS = ("loss", "lr", "gradient_norm", "images_per_second", "memory_bytes")
"""What is kept of every step; everything is kept of the rarer records."""

TITLES = {
    "lr": "learning rate",
    "gradient_norm": "gradient norm",
    "images_per_second": "images a second",
    "memory_bytes": "memory, GB",
}
"""What people call a quantity, where that is not its name."""

StepValues = tuple[list[int], list[float | None]]
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
    checkups: list[dict[str, Any]] = field(default_factory=list)
    spent: dict[str, float] = field(default_factory=dict)
    _offset: int = 0
    _inode: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def read_on(self) -> Journal:
        """Take in what was written since the last look; begins anew when the file was replaced or cut."""
        with self._lock:
            try:
                with open(checked(self.path), "rb") as file:
                    stat = os.fstat(file.fileno())
                    # it was replaced or cut
                    if stat.st_ino != self._inode or stat.st_size < self._offset:
                        self._forget()
                        self._inode = stat.st_ino
                    file.seek(self._offset)
                    whole, end, _ = file.read().rpartition(b"\n")
            except (FileNotFoundError, ValueError):  # no file, or a pipe in its place
                return self
            self._offset += len(whole) + len(end)
            for line in whole.splitlines():
                self._take(line)
        return self

    def _forget(self) -> None:
        """Drop all records; the file is read from its beginning then."""
        self.steps = []
        self.columns = {}
        self.validated = []
        self.notes = []
        self.checkups = []
        self.spent = {}
        self._offset = 0

    def _take(self, line: bytes) -> None:
        """Add the record on one line of the file."""
        record = stored_record(line)
        if record is None:  # a torn or foreign line says nothing
            return
        kind = record["kind"]
        step = record.get("step", 0)
        measured = record.get("values", {})
        if kind == "stepped":
            self.steps.append(step)
            for name in COLUMNS:
                self.columns.setdefault(name, []).append(record.get(name))
            spent = {
                part: taken for part, taken in record.get("spent", {}).items() if taken is not None
            }
            self.spent = summed([self.spent, spent])
        elif kind == "validated":
            self.validated.append(record | {"step": step, "values": measured})
        elif kind == "checkup":
            self.checkups.append({"step": step, "about": record["about"], "values": measured})
        elif kind == "note":
            self.notes.append(record["sentence"])

    def curve(self, name: str) -> StepValues:
        """Steps and values of a column of the steps or of the validations, thinned to about `POINTS`."""
        with self._lock:
            if name not in self.columns:
                measured = [record for record in self.validated if name in record["values"]]
                steps = [int(record["step"]) for record in measured]
                return steps, [record["values"][name] for record in measured]
            every = max(1, len(self.steps) // POINTS)
            steps = self.steps[::every]
            values = self.columns[name][::every]
            if self.steps and steps[-1] != self.steps[-1]:  # the last step is always drawn
                steps.append(self.steps[-1])
                values.append(self.columns[name][-1])
            return steps, values

    def tells(self, name: str) -> bool:
        """Whether there is anything to draw: a loop of somebody's making need not tell of everything."""
        return any(value is not None for value in self.curve(name)[1])

    @property
    def names(self) -> list[str]:
        """Every curve there is: validation metrics first, then what each step says."""
        measured = [name for record in self.validated for name in record["values"]]
        return [*dict.fromkeys(measured), *self.columns]


def journal(folder: Path) -> Journal:
    """The journal of a run folder, read up to now; the same object for all who ask."""
    return _known(folder / "metrics.jsonl").read_on()


_known = lru_cache(maxsize=64)(Journal)


def scaled(journal: Journal, name: str) -> StepValues:
    """A curve in the unit that its title names."""
    steps, values = journal.curve(name)
    if name != "memory_bytes":
        return steps, values
    return steps, [None if value is None else value / GB for value in values]


def verdict(run: Run) -> list[Finding]:
    """What is wrong with a run so far, by its journal, which is read on."""
    kept = journal(run.path)
    return findings(History.of(run, kept.steps, kept.columns, kept.validated, kept.checkups))


FIRST = ("MAP@R", "loss")
"""Quantities of several runs until somebody chooses."""


@dataclass(frozen=True)
class CurveChart:
    """One chart. quantity: what its look goes by. curves: name in the legend to steps and values."""

    title: str
    quantity: str
    curves: dict[str, StepValues]


def quantities(journals: Sequence[Journal]) -> list[str]:
    """All that any of these runs tells of, validation scores first."""
    names: list[str] = []
    for one in journals:
        names += [name for name in one.names if one.tells(name)]
    return sorted(dict.fromkeys(names), key=lambda name: name in COLUMNS)


def of_one(journal: Journal, chosen: Sequence[str]) -> list[CurveChart]:
    """The charts of one run: its validation scores share one, as they share a scale; every other quantity has its own.

    chosen: quantities, all of them where there are none.
    """
    known = quantities([journal])
    names = [name for name in known if name in chosen] or known
    scores = {name: journal.curve(name) for name in names if name not in COLUMNS}
    charts = []
    if scores:
        charts.append(CurveChart("validation", "validation", scores))
    for name in names:
        if name in COLUMNS:
            charts.append(CurveChart(title(name), name, {title(name): scaled(journal, name)}))
    return charts


def of_several(journals: Mapping[str, Journal], chosen: Sequence[str]) -> list[CurveChart]:
    """A chart for each quantity with a line for each run that tells of it.

    chosen: quantities; where there are none, the first of `FIRST`, or of what there is.
    """
    known = quantities(list(journals.values()))
    names = [name for name in chosen if name in known]
    if not names:
        names = [name for name in FIRST if name in known] or known[:2]
    charts = []
    for name in names:
        curves = {run: scaled(one, name) for run, one in journals.items() if one.tells(name)}
        charts.append(CurveChart(title(name), name, curves))
    return charts


GAP_WORDS = {
    "DG": "gap",
    "DG bound (eq. 8)": "bound (eq. 8)",
    "DG bound (eq. 9)": "bound (eq. 9)",
    "DG premise": "share of queries to which the bounds apply",
}
"""Columns of the metric decomposability_gap in words."""
LARGEST = 5_000
"""Images of a frame that the gap is measured on: larger validation sets give a seeded sample."""


def gaps(run: Run) -> dict[str, StepValues]:
    """What is measured of the decomposability gap, in words, to steps and values, over the stored validations."""
    curves: dict[str, StepValues] = {}
    for step, path in run.frames().items():
        measured = {}
        with suppress(FileNotFoundError):  # a training at work removes some of them
            measured = _gap(path, path.stat().st_mtime, run.config.similarity)
        for name, value in measured.items():
            steps, values = curves.setdefault(GAP_WORDS.get(name, name), ([], []))
            steps.append(step)
            values.append(value)
    return curves


@lru_cache(maxsize=2_000)
def _gap(path: Path, changed: float, similarity: str) -> dict[str, float]:
    """The values of one stored validation. changed: when its file was written, so that it is measured once."""
    embedded = frame(path)
    if len(embedded) > LARGEST:
        drawn = np.random.default_rng(0).choice(len(embedded), LARGEST, replace=False)
        embedded = embedded.take(np.sort(drawn))
    measured = evaluate(
        embedded.vectors,
        embedded.labels,
        "decomposability_gap",
        k=1,
        similarity=similarity,
        device="cpu",
    )
    return measured.values
