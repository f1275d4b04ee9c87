"""Export to a Parquet file with one image per row, for pandas, polars, DuckDB and Spark."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lab.exporters._base import Exporter
from lab.exporters._rows import RowsKnobs, rows_of
from lab.runs.folder import Run


class Parquet(RowsKnobs, Exporter):
    """Write the columns key, label, class, split, part and vector; the metadata `rankscope` is JSON about the run.

    If the Map page has stored a UMAP or t-SNE map of a split with the run, its places are the columns umap_x, umap_y,
    tsne_x, tsne_y; they are null if an image is not on the map.

    Example (`run` is that of `lab.exporters`):
        >>> import pyarrow.parquet
        >>> path = lab.exporters.create("parquet").export(run, root / "run.parquet")
        >>> pyarrow.parquet.read_table(path).column_names
        ['key', 'label', 'class', 'split', 'part', 'vector']
    """

    suffix = ".parquet"

    def write(self, run: Run, path: Path) -> None:
        rows = rows_of(run, self.knobs.splits)
        width = rows.vectors.shape[1]
        columns = {
            "key": rows.keys,
            "label": rows.labels,
            "class": rows.classes,
            "split": rows.splits,
            "part": rows.parts,
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(rows.vectors.reshape(-1)), width),
        }
        for name, places in rows.coordinates.items():
            columns[name] = pa.array(places, from_pandas=True)
        table = pa.table(columns).replace_schema_metadata({"rankscope": json.dumps(rows.about)})
        pq.write_table(table, path)
