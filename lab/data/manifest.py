"""Your own CSV or Parquet file, a row an image: path, label, and maybe split, query_gallery, super_class."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from lab.core.knobs import REQUIRED, knob
from lab.data._base import ImageRecords, ImageSet, SplitKnobs
from lab.data._table import Table, assemble, leave_out_unreadable

_SPLITS = {"train": "train", "validation": "validation", "val": "validation", "valid": "validation", "test": "test"}
_ROLES = ("query", "gallery", "")


class Manifest(ImageSet):
    """Your own images, listed in a file.

    Its columns, in any order:

    path: of the image, absolute or below `root`.
    label: name or number of the class.
    split (optional): train, validation or test; `query` and `gallery` are those parts of test.
    query_gallery (optional): query or gallery, for splits that search one part in the other.
    super_class (optional): name of the super-class, for the hierarchical sampler.
    Any other column becomes an attribute.

    Without a split column the classes are shared out by seed, and no class is in two splits. Unreadable images are
    named in `problems` and left out.

    Raises:
        ValueError: no such file, a column is missing, a value is not one of the above, or no image can be read; names
            the row.
    """

    class Knobs(SplitKnobs):
        path: str = knob(REQUIRED, "CSV or Parquet file with the columns path and label.", path=True)
        root: str | None = knob(None, "Folder that paths are relative to; by default the file's own folder.", path=True)
        test: float = knob(
            0.5, "Fraction of the classes that are kept for testing, if there is no column split.", ge=0, lt=1
        )
        validation: float = knob(
            0.2, "Fraction of the training classes that are kept for validation, if no row says validation.", ge=0, lt=1
        )

    def _read(self) -> ImageRecords:
        file = Path(self.knobs.path).expanduser()
        self.root = Path(self.knobs.root).expanduser() if self.knobs.root else file.parent
        if not file.is_file():
            raise ValueError(f"There is no file {file}; give a CSV or Parquet file with the columns path and label.")
        columns = _parquet(file) if file.suffix.lower() in (".parquet", ".pq") else _csv(file)
        table = _table(columns, file)
        leave_out_unreadable(table, self.root)
        labels = np.array(table.label)
        self.class_disjoint = (
            table.split is None
            or not np.isin(labels[np.array(table.split) == "train"], labels[np.array(table.split) == "test"]).any()
        )
        return assemble(table, self.knobs.split_seed, self.knobs.validation, self.knobs.test)


def _csv(file: Path) -> dict[str, list[str]]:
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            rows = csv.reader(lines, strict=True)
            header = [name.strip() for name in next(rows, [])]
            if len(set(header)) < len(header):
                raise ValueError(f"{file} has two columns of one name: {', '.join(header)}.")
            columns: dict[str, list[str]] = {name: [] for name in header}
            for row in rows:
                if not row:
                    continue
                if len(row) != len(header):
                    raise ValueError(f"{file}, line {rows.line_num}: {len(row)} values for {len(header)} columns.")
                for name, value in zip(header, row, strict=True):
                    columns[name].append(value.strip())
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not UTF-8 text: {error}.") from None
    except csv.Error as error:
        raise ValueError(f"{file} is not well-formed CSV: {error}.") from None
    return columns


def _parquet(file: Path) -> dict[str, list[str]]:
    import pyarrow
    import pyarrow.parquet

    try:
        read = pyarrow.parquet.read_table(file)
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{file} is not a Parquet file: {error}.") from None
    return {
        name: ["" if value is None else str(value) for value in column.to_pylist()]
        for name, column in zip(read.column_names, read.columns, strict=True)
    }


def _table(columns: dict[str, list[str]], file: Path) -> Table:
    for name in ("path", "label"):
        if name not in columns:
            raise ValueError(f"{file} has no column {name!r}; its columns: {', '.join(columns) or 'none'}.")
        if "" in columns[name]:
            raise ValueError(f"{file}, row {columns[name].index('') + 1}: {name} is empty.")
    if not columns["path"]:
        raise ValueError(f"{file} has no rows.")
    table = Table(
        key=[path.replace("\\", "/") for path in columns.pop("path")],
        label=columns.pop("label"),
        split=columns.pop("split", None),
        role=columns.pop("query_gallery", None),
        super_class=columns.pop("super_class", None),
    )
    table.attributes = columns
    if table.super_class is not None and "" in table.super_class:
        raise ValueError(
            f"{file}, row {table.super_class.index('') + 1}: super_class is empty; fill or drop the column."
        )
    if table.split is not None:
        _name_splits(table, file)
    if table.role is not None:
        table.role = [role.lower() for role in table.role]
        _refuse_others(table.role, _ROLES, "query_gallery", file)
        if table.split is None:
            raise ValueError(
                f"{file} has a column query_gallery but no column split; say which rows are train and test."
            )
    _leave_out_repeats(table, file)
    return table


def _name_splits(table: Table, file: Path) -> None:
    """Bring the split column to train, validation, test; the short forms query and gallery become roles of test."""
    split = [value.lower() for value in table.split]
    _refuse_others(split, (*_SPLITS, "query", "gallery"), "split", file)
    short = [value if value in ("query", "gallery") else "" for value in split]
    if any(short):
        if table.role is not None:
            raise ValueError(
                f"{file} says query or gallery in the column split and in a column query_gallery; use one."
            )
        table.role = short
    table.split = ["test" if value in ("query", "gallery") else _SPLITS[value] for value in split]


def _refuse_others(values: list[str], legal: tuple[str, ...], name: str, file: Path) -> None:
    for row, value in enumerate(values, start=1):
        if value not in legal:
            raise ValueError(f"{file}, row {row}: {name} is {value!r}, not one of {', '.join(filter(None, legal))}.")


def _leave_out_repeats(table: Table, file: Path) -> None:
    """Each image once.

    Raises:
        ValueError: one image has two labels.
    """
    first: dict[str, int] = {}
    stays = np.ones(len(table), dtype=bool)
    for row, key in enumerate(table.key):
        earlier = first.setdefault(key, row)
        if earlier == row:
            continue
        if table.label[earlier] != table.label[row]:
            raise ValueError(
                f"{file}, row {row + 1}: {' '.join(key.split())} has the label {table.label[row]!r}, but "
                f"{table.label[earlier]!r} in row {earlier + 1}."
            )
        stays[row] = False
        table.problems.append(f"{key} is listed again in row {row + 1}, which is left out.")
    table.keep(stays)
