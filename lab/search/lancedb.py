"""Approximate search by LanceDB, an engine whose tables lie on a disk or in an object store."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from lab.core.knobs import knob
from lab.core.results import EmbeddingSet
from lab.search._candidates import CandidateIndex, CodeKnobs
from lab.search._items import BLOCK

MISSING = "LanceDB is not installed: pip install 'rankscope[lancedb]'."

WORTH = 10_000
"""Rows below which LanceDB compares a query with all of them: no index is made."""

TABLE = "gallery"


class Lancedb(CandidateIndex):
    """LanceDB keeps vectors and a compressed inverted file in a table; what it lists is ranked exactly.

    The table lies in `folder`, on a disk or in an object store, and is found again there as long as gallery and knobs
    are the same. For a store, LanceDB reads the usual variables of the environment (AWS_ACCESS_KEY_ID,
    AWS_SECRET_ACCESS_KEY, AWS_REGION; GOOGLE_APPLICATION_CREDENTIALS); nothing of them is kept. Galleries below 10,000
    rows are searched without an index, exactly.

    Example:
        >>> import lab
        >>> lab.search.create("lancedb", probes=32).knobs.probes
        32
    """

    thorough: Mapping[str, int] = {}

    class Knobs(CodeKnobs):
        """The knobs of every index, and those of LanceDB's."""

        folder: str | None = knob(
            None, "Folder, s3:// or gs:// address of the table; without one it is deleted with the index.", path=True
        )

    def __init__(self, device: str | torch.device = "auto", **knobs: Any):
        super().__init__("cpu", **knobs)

    def _make(self, gallery: EmbeddingSet) -> None:
        os.environ.setdefault("LANCE_LOG", "error")  # else it warns of every table that is not there yet
        try:
            import lancedb
            from lancedb.index import IvfPq
        except ImportError:
            raise ImportError(MISSING) from None
        folder = self.knobs.folder
        if folder is None:
            self._own = tempfile.TemporaryDirectory(prefix="rankscope-")
            folder = self._own.name
        elif "://" not in folder:
            folder = os.path.expanduser(folder)
        about = json.dumps(self.described(gallery), sort_keys=True)
        self.table = self._found(lancedb.connect(folder), about, folder)
        self.lists = self.list_count()
        if len(gallery) >= WORTH and not self.table.list_indices():
            codes = IvfPq(distance_type="l2", num_partitions=self.lists, num_sub_vectors=self.code_parts())
            self.table.create_index("vector", config=codes)

    def _found(self, database: Any, about: str, folder: str) -> Any:
        """The table of this gallery, made unless it is there.

        Raises:
            ValueError: there is one of another gallery.
        """
        import pyarrow as pa

        try:
            table = database.open_table(TABLE)
        except (ValueError, FileNotFoundError):  # there is none yet
            table = None
        if table is not None:
            stored = (table.schema.metadata or {}).get(b"rankscope")
            if stored != about.encode() or table.count_rows() != len(self.rows):
                raise ValueError(
                    f"{folder} holds a table of another gallery or with other knobs; name another folder, or delete it."
                )
            return table
        vector = pa.list_(pa.float32(), self.rows.vectors.shape[1])
        schema = pa.schema([("vector", vector), ("row", pa.int64())], metadata={"rankscope": about})
        batches = pa.RecordBatchReader.from_batches(schema, self._batches(schema))
        return database.create_table(TABLE, batches, schema=schema)

    def _batches(self, schema: Any) -> Iterator[Any]:
        import pyarrow as pa

        for start in range(0, len(self.rows), BLOCK):
            rows = np.ascontiguousarray(self.rows.rows(slice(start, start + BLOCK)), np.float32)
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
            numbers = pa.array(np.arange(start, start + len(rows)))
            yield pa.record_batch([vectors, numbers], schema=schema)

    def _candidates(self, rows: np.ndarray, depth: int) -> np.ndarray:
        request = self.table.search(list(rows), vector_column_name="vector").distance_type("l2").limit(depth)
        request = request.nprobes(min(self.knobs.probes, self.lists)).select(["row", "_distance"])
        answer = request.to_arrow()
        owner = answer["query_index"].to_numpy() if len(rows) > 1 else np.zeros(len(answer), np.int64)
        candidates = np.full((len(rows), depth), -1)
        order = np.argsort(owner, kind="stable")
        counts = np.bincount(owner, minlength=len(rows))
        place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        candidates[owner[order], place] = answer["row"].to_numpy()[order]
        return candidates

    def _compared(self, rows: np.ndarray) -> np.ndarray:
        """LanceDB does not tell: by the mean length of its lists."""
        size, probes = len(self.rows), min(self.knobs.probes, self.lists)
        return np.full(len(rows), size if size < WORTH else self.lists + round(size * probes / self.lists))
