"""A CSV file with one image a row, for spreadsheets and R."""

from __future__ import annotations

import csv
from pathlib import Path

from lab.exporters._base import Exporter
from lab.exporters._rows import RowsKnobs, rows_of
from lab.runs.folder import Run


class Csv(Exporter):
    """Columns key, label, class, split, part, then v0, v1, ...; numbers are written so that they read back the same.

    Example (`run` is that of `lab.exporters`):
        >>> path = lab.exporters.create("csv", splits=("test",)).export(run, root / "run.csv")
        >>> path.read_text().splitlines()[0][:34]
        'key,label,class,split,part,v0,v1,v'
    """

    suffix = ".csv"

    class Knobs(RowsKnobs):
        pass

    def write(self, run: Run, path: Path) -> None:
        rows = rows_of(run, self.knobs.splits)
        about = zip(rows.keys, rows.labels.tolist(), rows.classes, rows.splits, rows.parts, strict=True)
        with open(path, "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(["key", "label", "class", "split", "part", *(f"v{i}" for i in range(rows.vectors.shape[1]))])
            out.writerows([*row, *map(str, vector)] for row, vector in zip(about, rows.vectors, strict=True))
