"""Parquet files whose rows hold an image and a label, as Hugging Face data sets are published, here or elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from lab.core import tables
from lab.core.formats import counted
from lab.core.knobs import knob
from lab.data.images.reading import ImageError
from lab.data.streams.index import ImageIndex, IndexedImage, built
from lab.data.streams.streamed_set import StreamedSet, said_by

RULES = 2
"""Version of the rules by which a cell is a class; an index that older rules made is built again."""


class ParquetImages(StreamedSet):
    """Rows with the bytes of an image, plain or as `datasets` keeps them ({bytes, path}), and a label.

    Labels are texts or whole numbers, read as in every table; numbers get the names that `datasets` wrote beside them.
    Rows without a label are left out and counted, which is where it wrote -1. The first time the column of labels is
    read, and which row of which group each image is, is kept among the caches (`LAB_CACHE`). An image costs the reading
    of its row group, of which each worker keeps the last: write small groups (100 rows) where batches are drawn at
    random. Classes are shared out by seed. Credentials are as for `tar_shards`.

    Raises:
        ValueError: no Parquet file can be listed there, one is damaged, or a column is missing.
        ImportError: the library for such addresses is missing.
    """

    image: str = knob("Column of the images.", default="image")
    label: str = knob("Column of the classes.", default="label")

    def _indexed(self) -> ImageIndex:
        files, states = self._files(".parquet")
        self._group: tuple[tuple[int, int], Any] | None = None
        identity = [self.knobs.root, states, self.knobs.image, self.knobs.label, RULES]
        return built("parquet", identity, files, lambda problems: self._images(files, problems))

    def _images(self, files: list[str], problems: list[str]) -> Iterator[IndexedImage]:
        for number, path in enumerate(files):
            file = self._opened(path)
            for column in (self.knobs.image, self.knobs.label):
                if column not in file.schema_arrow.names:
                    raise ValueError(
                        f"{path} has no column {column}; it has {', '.join(file.schema_arrow.names)}."
                    )
            names = _class_names(file.schema_arrow, self.knobs.label)
            shard = PurePosixPath(path).name
            without = 0
            for group in range(file.num_row_groups):
                try:
                    labels = file.read_row_group(group, columns=[self.knobs.label])
                except Exception as error:  # each store has its own
                    raise ValueError(
                        f"{path} is damaged and cannot be read: {said_by(error)}."
                    ) from None
                for row, class_name in enumerate(
                    _class_names_of(labels, self.knobs.label, names, path)
                ):
                    if class_name:
                        yield IndexedImage(number, group, row, class_name, f"{shard}/{group}/{row}")
                    else:
                        without += 1
            if without:
                verb = "is" if without == 1 else "are"
                problems.append(
                    f"{counted(without, 'row')} of {path} without a class {verb} left out."
                )

    def _opened(self, path: str) -> Any:
        import pyarrow.parquet

        try:
            return pyarrow.parquet.ParquetFile(path, filesystem=self.system)
        except Exception as error:  # each store has its own
            raise ValueError(f"{path} cannot be read as Parquet: {said_by(error)}.") from None

    def _encoded(self, i: int) -> bytes:
        file_number = int(self.index.file[i])
        group = int(self.index.place[i])
        if self._group is None or self._group[0] != (file_number, group):
            try:
                file = self._opened(self.index.files[file_number])
                table = file.read_row_group(group, columns=[self.knobs.image])
            except (ValueError, OSError) as error:
                raise ImageError(f"{self.keys[i]} cannot be read: {error}") from None
            self._group = (file_number, group), table.column(self.knobs.image)
        row = int(self.index.size[i])
        value = self._group[1][row].as_py()
        data = value.get("bytes") if isinstance(value, dict) else value
        if not isinstance(data, bytes):
            raise ImageError(f"{self.keys[i]} holds no bytes of an image.")
        return data


def _class_names_of(labels: Any, column: str, names: list[str], path: str) -> list[str]:
    """Return the name of each row's class; "" where it has none, for which `datasets` writes -1.

    Args:
        labels: an Arrow table with their column. names: of numbered classes, or none.

    Raises:
        ValueError: a number is not among the names, or several names may have become one.
    """
    values = tables.arrow_columns(labels)[column]
    numbered = names and all(value is None or isinstance(value, int) for value in values)
    if not numbered:
        return tables.label_names(values, f"labels in {path}")
    for value in values:
        if value is not None and value >= len(names):
            raise ValueError(
                f"{path} has the label {value}, but names {len(names)} classes only, from 0."
            )
    return ["" if value is None or value < 0 else names[value] for value in values]


def _class_names(schema: Any, label: str) -> list[str]:
    """Return the names of numbered classes, as `datasets` writes them into the schema; empty if it has none."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        return list(features[label]["names"])
    except (KeyError, ValueError, TypeError):
        return []
