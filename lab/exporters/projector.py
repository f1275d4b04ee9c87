"""Two TSV files that the embedding projector of TensorFlow reads, in the browser or in TensorBoard."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lab.exporters._base import Exporter
from lab.exporters._rows import RowsKnobs, rows_of
from lab.runs.folder import Run


class Projector(Exporter):
    """A folder with `tensors.tsv`, one vector a line, and `metadata.tsv`, which says what each line is.

    Example (`run` is that of `lab.exporters`):
        >>> path = lab.exporters.create("projector").export(run, root / "run-projector")
        >>> (path / "metadata.tsv").read_text().splitlines()[0].split()
        ['key', 'class', 'split', 'part']
    """

    class Knobs(RowsKnobs):
        pass

    def write(self, run: Run, path: Path) -> None:
        rows = rows_of(run, self.knobs.splits)
        about = zip(rows.keys, rows.classes, rows.splits, rows.parts, strict=True)
        _write(path / "tensors.tsv", (map(str, vector) for vector in rows.vectors))
        _write(path / "metadata.tsv", [("key", "class", "split", "part"), *about])


def _write(path: Path, lines: Iterable[Iterable[str]]) -> None:
    # The format knows no quotes: a tab or a line's end within a name would begin another column or row.
    with open(path, "w", encoding="utf-8") as file:
        file.writelines("\t".join(" ".join(word.split()) for word in line) + "\n" for line in lines)
