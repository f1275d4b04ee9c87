"""A CSV file with one image a row, for spreadsheets and R."""

import csv
from pathlib import Path

import numpy as np

from lab.core.formats import plain_cell
from lab.exporters._base import Exporter
from lab.exporters._rows import RowsKnobs, rows_of
from lab.runs.folder import Run


class Csv(RowsKnobs, Exporter):
    """Columns key, label, class, split, part, then v0, v1, ...; numbers are written so that they read back the same.

    A key or class that a spreadsheet would take for a formula begins with an apostrophe, as in every CSV file of ours.
    Behind part stand the places on kept maps, as in `parquet`, empty where an image is not on one.

    Example (`run` is that of `lab.exporters`):
        >>> path = lab.exporters.create("csv", splits=("test",)).export(run, root / "run.csv")
        >>> path.read_text().splitlines()[0][:34]
        'key,label,class,split,part,v0,v1,v'
    """

    suffix = ".csv"

    def write(self, run: Run, path: Path) -> None:
        rows = rows_of(run, self.knobs.splits)
        places, width = rows.coordinates, rows.vectors.shape[1]
        keys, classes = ([plain_cell(name) for name in names] for names in (rows.keys, rows.classes))
        cells = (["" if np.isnan(place) else str(place) for place in column] for column in places.values())
        about = (keys, rows.labels.tolist(), classes, rows.splits, rows.parts, *cells)
        with open(path, "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            columns = ["key", "label", "class", "split", "part", *places, *(f"v{i}" for i in range(width))]
            out.writerow(map(plain_cell, columns))
            for *row, vector in zip(*about, rows.vectors, strict=True):
                out.writerow([*row, *map(str, vector)])
