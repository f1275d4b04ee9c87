"""Base class of exporters of training curves, and a function that exports them while a training runs."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from lab.core.explain import explain
from lab.core.records import Note, Record
from lab.exporters._base import Exporter
from lab.runs.folder import Run

STEPPED = ("loss", "lr", "gradient_norm", "images_per_second", "memory_bytes")
"""Numbers of a training step; each is a curve `training/NAME`."""


class CurveLog:
    """Base class of logs, which write the curves of one run; `CurveExporter.open` makes a log.

    place: path or address of the curves, for messages.
    """

    place: str = ""
    step: int = 0

    def take(self, record: Mapping[str, Any]) -> None:
        """Write the numbers of a record of metrics.jsonl, under `training/` or under the name of a split."""
        self.step = record.get("step") or self.step  # the record of the last evaluation has no step
        values = record.get("values") or {}
        kind = record["kind"]
        if kind == "stepped":
            prefix = "training"
            values = {name: record.get(name) for name in STEPPED}
        elif kind == "validated":
            prefix = "validation"
        elif (
            kind == "evaluated" and record["split"] != "validation"
        ):  # that curve ends with the best or last step
            prefix = record["split"]
        else:
            return

        numbers = {}
        for name, value in values.items():
            if value is not None:
                numbers[f"{prefix}/{name}"] = float(value)
        self.scalars(self.step, numbers, record.get("at", 0.0))

    def scalars(self, step: int, values: Mapping[str, float], at: float) -> None:
        """Write numbers of one step; `at` is the time in seconds since 1970."""
        raise NotImplementedError(f"{type(self).__name__} must define scalars.")

    def close(self) -> None:
        """Finish the log."""


class CurveExporter(Exporter):
    """Base class of exporters that write curves, of a finished run or of a running training."""

    @abstractmethod
    def open(self, run: Run, place: str | None = None) -> CurveLog:
        """Begin a log at `place`, by default at the library's usual place for a running training."""

    def export(self, run: Run, path: Path | str | None = None) -> Any:
        """Write a run's curves; return their path or address."""
        self.check_installed()
        log = self.open(run, None if path is None else str(path))
        self.copy_records(run, log)
        log.close()
        return log.place

    def copy_records(self, run: Run, log: CurveLog) -> None:
        """Write all records that a run has so far."""
        for record in run.metrics():
            log.take(record)


def following(
    run: Run, exporters: Sequence[CurveExporter], records: Iterable[Record]
) -> Iterator[Record]:
    """Yield the same records, while each exporter writes its curves.

    If an exporter fails, a note says so and the training continues, since the run's folder has all records. A training
    that is resumed begins a new log, with all earlier records.
    """
    logs: dict[CurveExporter, CurveLog | None] = dict.fromkeys(exporters)
    try:
        for record in records:
            for exporter, log in list(logs.items()):
                try:
                    # only now has the run removed the records after its last checkpoint
                    if log is None:
                        log = exporter.open(run)
                        exporter.copy_records(run, log)
                        logs[exporter] = log
                    else:
                        log.take(record.as_json())
                except Exception as error:
                    del logs[exporter]
                    sentence = (
                        f"{type(exporter).__name__} is not written any more: {explain(error)}"
                    )
                    yield Note(
                        f"{sentence} The training goes on; write it afterwards with lab export {run.path}."
                    )
            yield record
    finally:
        for log in logs.values():
            if log is not None:
                with suppress(Exception):  # a server may be gone; the run's folder has all records
                    log.close()
