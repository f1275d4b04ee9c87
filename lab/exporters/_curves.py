"""What exporters of a training's curves share: which numbers these are, and following a training while it runs."""

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


class Log:
    """Takes the curves of one run; `Curves.open` makes one.

    place: where they come to lie, for people.
    """

    place: str = ""
    step: int = 0

    def take(self, record: Mapping[str, Any]) -> None:
        """Write what a record of metrics.jsonl tells, under `training/`, or under the name of a split."""
        self.step = record.get("step") or self.step  # the last evaluation tells none: it is of the last one
        values, kind = record.get("values") or {}, record["kind"]
        if kind == "stepped":
            named = {f"training/{name}": record.get(name) for name in STEPPED}
        elif kind == "validated":
            named = {f"validation/{name}": value for name, value in values.items()}
        elif kind == "evaluated" and record["split"] != "validation":  # whose curve ends with the best or last step
            named = {f"{record['split']}/{name}": value for name, value in values.items()}
        else:
            return
        numbers = {name: float(value) for name, value in named.items() if value is not None}
        self.scalars(self.step, numbers, record.get("at", 0.0))

    def scalars(self, step: int, values: Mapping[str, float], at: float) -> None:
        """Write numbers of one step; `at` is the time in seconds since 1970."""
        raise NotImplementedError

    def close(self) -> None:
        """Finish well."""


class Curves(Exporter):
    """Base of exporters that write curves, of a run that is over or of one that is training."""

    @abstractmethod
    def open(self, run: Run, place: str | None = None) -> Log:
        """Begin a log; `place` is where, by default where the library keeps its own for a run that is training."""

    def export(self, run: Run, path: Path | str | None = None) -> Any:
        """Copy a run's curves; returns where they lie."""
        self.check_installed()
        log = self.copied(run, self.open(run, None if path is None else str(path)))
        log.close()
        return log.place

    def copied(self, run: Run, log: Log) -> Log:
        """Write all that a run has recorded so far."""
        for record in run.metrics():
            log.take(record)
        return log


def following(run: Run, exporters: Sequence[Curves], records: Iterable[Record]) -> Iterator[Record]:
    """The same records, while each exporter writes its curves. What an exporter cannot write is told in a note, and
    the training goes on: its own folder keeps everything.

    A training that is resumed begins a new log, with all that was before.
    """
    logs: dict[Curves, Log | None] = dict.fromkeys(exporters)
    try:
        for record in records:
            for exporter, log in list(logs.items()):
                try:
                    if log is None:  # not before the run has cut off what came after its last checkpoint
                        logs[exporter] = exporter.copied(run, exporter.open(run))
                    else:
                        log.take(record.as_json())
                except Exception as error:
                    del logs[exporter]
                    sentence = f"{type(exporter).__name__} is not written any more: {explain(error)}"
                    yield Note(f"{sentence} The training goes on; write it afterwards with lab export {run.path}.")
            yield record
    finally:
        for log in filter(None, logs.values()):
            with suppress(Exception):  # of a server that went away last; the run's folder keeps everything
                log.close()
