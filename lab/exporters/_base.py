"""What every exporter is: knobs, a suffix, and a way to write a run; a failure leaves nothing behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from lab.core.catalog import name_of
from lab.core.files import making, replacing
from lab.core.knobs import Knobs
from lab.runs.folder import Run


class Exporter:
    """Base of every exporter: writes a run as another tool reads it.

    suffix: the end of the file's name; empty for an exporter that writes a folder.
    """

    suffix: ClassVar[str] = ""
    Knobs: type[Knobs] = Knobs

    def __init__(self, **knobs: Any):
        self.knobs: Any = type(self).Knobs(**knobs)

    def write(self, run: Run, path: Path) -> None:
        """Write the file `path`, or into the empty folder `path` where there is no suffix.

        Raises:
            ValueError: the run lacks what is to be written.
        """
        raise NotImplementedError(f"{type(self).__name__} must define write.")

    def export(self, run: Run, path: Path | str | None = None) -> Path:
        """Write a run, by default beside where one stands, named after the run; returns where.

        Raises:
            ValueError: something stands there already, or what `write` raises; then nothing was written.
        """
        path = Path(path or f"{run.name}{self.suffix or '-' + name_of(type(self))}")
        if path.exists():
            raise ValueError(f"{path} is there already; remove it, or name another place with --output.")
        with (replacing if self.suffix else making)(path) as unfinished:
            self.write(run, unfinished)
        return path
