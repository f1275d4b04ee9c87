"""Base class of exporters: knobs, a file suffix, and a method that writes a run; a failure leaves no file behind."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from lab.core.catalog import name_of
from lab.core.explain import need
from lab.core.files import check_allowed, making, remove_left_overs, replacing
from lab.core.knobs import HasKnobs
from lab.core.knobs import knob as knob
from lab.core.results import EmbeddingSet
from lab.runs.folder import Run


class Exporter(HasKnobs):
    """Base class of all exporters, which write a run in the format of another tool.

    suffix: end of the file's name; empty for an exporter that writes a folder.
    needs: modules of other libraries that it imports. extra: extra of Rankscope that installs them.
    """

    suffix: ClassVar[str] = ""
    needs: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = ""

    def check_installed(self) -> None:
        """Refuse an export for which a library is missing.

        Raises:
            ValueError: a library is missing; the message says how to install it.
        """
        if self.extra:
            need(f"An export to {name_of(type(self))}", self.extra, *self.needs)

    def write(self, run: Run, path: Path) -> None:
        """Write the file `path`, or into the empty folder `path` if the exporter has no suffix.

        Raises:
            ValueError: the run lacks the data to write.
        """
        raise NotImplementedError(f"{type(self).__name__} must define write.")

    def export(self, run: Run | EmbeddingSet, path: Path | str | None = None) -> Path:
        """Write a run, by default into the current folder under the run's name; return the path.

        Vectors (`lab.EmbeddingSet`) are written as the run that `lab.runs.from_embeddings` makes of them.

        Raises:
            ValueError: a library is missing, the path exists already, or `write` raises; no file is written then.
        """
        if not isinstance(run, Run):
            check_allowed()
            from lab.integrations.importing.run import from_embeddings

            with TemporaryDirectory() as folder:
                return self.export(from_embeddings(run, runs=folder, measure=False), path)
        check_allowed()
        self.check_installed()
        ending = self.suffix or f"-{name_of(type(self))}"
        path = Path(path or f"{run.name}{ending}")
        if path.exists():
            raise ValueError(
                f"{path} is there already; name another place with --output, or move it away."
            )
        remove_left_overs(path)
        create = replacing if self.suffix else making  # a file, or a folder
        with create(path) as unfinished:
            self.write(run, unfinished)
        return path
