"""Export to a CSV file with one image per row, for spreadsheets and R."""

import csv
from pathlib import Path

import numpy as np

from lab.core.formats import plain_cell
from lab.exporters._base import Exporter
from lab.exporters._rows import RowsKnobs, rows_of
from lab.runs.folder import Run


class Csv(RowsKnobs, Exporter):
    """Write the columns key, label, class, split, part, then v0, v1, ...; numbers are written with all digits.

    A key or class that a spreadsheet would take for a formula begins with an apostrophe, as in all our CSV files. After
    part come the places on stored maps, as in `parquet`; they are empty if an image is not on the map.

    Example (`run` is that of `lab.exporters`):
        >>> path = lab.exporters.create("csv", splits=("test",)).export(run, root / "run.csv")
        >>> path.read_text().splitlines()[0][:34]
        'key,label,class,split,part,v0,v1,v'
    """

    suffix = ".csv"

    def write(self, run: Run, path: Path) -> None:
        rows = rows_of(run, self.knobs.splits)
        columns: dict[str, list] = {
            "key": [plain_cell(key) for key in rows.keys],
            "label": rows.labels.tolist(),
            "class": [plain_cell(name) for name in rows.classes],
            "split": rows.splits,
            "part": rows.parts,
        }
        for name, places in rows.coordinates.items():
            columns[name] = ["" if np.isnan(place) else str(place) for place in places]

        vector_columns = [f"v{i}" for i in range(rows.vectors.shape[1])]
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([plain_cell(name) for name in (*columns, *vector_columns)])
            for *cells, vector in zip(*columns.values(), rows.vectors, strict=True):
                writer.writerow([*cells, *map(str, vector)])
