"""What every exporter is: knobs, a suffix, and a way to write a run; a failure leaves nothing behind."""

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
    """Base of every exporter: writes a run as another tool reads it.

    suffix: the end of the file's name; empty for an exporter that writes a folder.
    needs: modules of other libraries that it imports. extra: of Rankscope, which brings them.
    """

    suffix: ClassVar[str] = ""
    needs: ClassVar[tuple[str, ...]] = ()
    extra: ClassVar[str] = ""

    def check_installed(self) -> None:
        """Refuse to begin what would fail for want of a library.

        Raises:
            ValueError: names what is missing and the line that installs it.
        """
        if self.extra:
            need(f"An export to {name_of(type(self))}", self.extra, *self.needs)

    def write(self, run: Run, path: Path) -> None:
        """Write the file `path`, or into the empty folder `path` where there is no suffix.

        Raises:
            ValueError: the run lacks what is to be written.
        """
        raise NotImplementedError(f"{type(self).__name__} must define write.")

    def export(self, run: Run | EmbeddingSet, path: Path | str | None = None) -> Path:
        """Write a run, by default beside where one stands, named after the run; returns where.

        Vectors (`lab.EmbeddingSet`) are written as the run that `lab.runs.from_embeddings` makes of them.

        Raises:
            ValueError: a library is missing, something stands there already, or what `write` raises; then nothing was
                written.
        """
        if not isinstance(run, Run):
            check_allowed()
            from lab.integrations.importing.run import from_embeddings

            with TemporaryDirectory() as folder:
                return self.export(from_embeddings(run, runs=folder, measure=False), path)
        check_allowed()
        self.check_installed()
        path = Path(path or f"{run.name}{self.suffix or '-' + name_of(type(self))}")
        if path.exists():
            raise ValueError(f"{path} is there already; name another place with --output, or move it away.")
        remove_left_overs(path)
        with (replacing if self.suffix else making)(path) as unfinished:
            self.write(run, unfinished)
        return path
