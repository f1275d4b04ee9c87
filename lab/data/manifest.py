"""Your own CSV or Parquet file, a row an image: path, label, and maybe split, query_gallery, super_class."""

from __future__ import annotations

from pathlib import Path

from lab.core import tables
from lab.core.formats import counted
from lab.core.knobs import knob
from lab.data._base import ImageRecords, ImageSet, SplitKnobs
from lab.data._table import Table, leave_out_unreadable, personal
from lab.data.images.folders import SPLITS, classes_sentence
from lab.data.images.paths import key_of, place_finder

COLUMNS = ("path", "label", "split", "query_gallery", "super_class")
"""Columns with a meaning, in any capitals."""

NAMES = ("path", "label", "super_class")
"""Columns in which two different names must stay different."""

_ROLES = ("query", "gallery")


class Manifest(SplitKnobs, ImageSet):
    """Your own images, listed in a file.

    Its columns, in any order:

    _path: of the image, absolute or below `root`.
    label: the class; every cell is a name, so that 01 and 1 are two classes, without the blanks around it. A row whose
        cell is empty has no class: nothing is trained on its image.
    split (optional): train, validation or test; `query` and `gallery` are those parts of test.
    query_gallery (optional): query or gallery, for splits that search one part in the other.
    super_class (optional): name of the super-class, for the hierarchical sampler.
    Any other column becomes an attribute.

    A file is one image under every spelling of its path (`1.png`, `./1.png`, its absolute path, a link to it): rows
    that repeat one are left out.

    Without a split column the classes are shared out by seed, no class is in two splits, and an image without a class
    is in none. Unreadable images are named in `problems` and left out.

    Raises:
        ValueError: no such file, a column is missing, a value is not one of the above, or no image can be read; names
            the row.
    """

    _path: str = knob(
        "CSV, Parquet or Arrow file with the columns path and label.", path=True, alias="path"
    )
    _root: str | None = knob(
        "Folder that paths are relative to; by default the file's own folder.",
        default=None,
        path=True,
        alias="root",
    )
    test: float = knob(
        "Fraction of the classes that are kept for testing, if there is no column split.",
        default=0.5,
        ge=0,
        lt=1,
    )
    validation: float = knob(
        "Fraction of the training classes that are kept for validation, if no row says validation.",
        default=0.2,
        ge=0,
        lt=1,
    )

    def _read(self) -> ImageRecords:
        file = Path(self.knobs.path).expanduser()
        self.root = file.parent
        if self.knobs.root:
            self.root = Path(self.knobs.root).expanduser()
        if not file.is_file():
            raise ValueError(
                f"There is no file {file}; give a CSV or Parquet file with the columns path and label."
            )
        columns = {}
        stored = tables.read(file)
        for written, values in stored.items():
            small = written.casefold()  # spreadsheets write Split
            name = small if small in COLUMNS and small not in stored else written
            if name in columns:
                raise ValueError(
                    f"{file} has two columns {name!r} that differ in capitals alone; rename one of them."
                )
            what = f"values of {name} in {file}"
            if name == "label":
                columns[name] = tables.label_names(values, what)
            else:
                columns[name] = tables.names(values, what, exact=name in NAMES)
        table = _table(columns, file, self.root)
        leave_out_unreadable(table, self.root)
        return personal(self, table)

    @property
    def classes_sentence(self) -> str:
        sentence = classes_sentence(self.class_names, self.labels, "the names of the column label:")
        negative = tables.negative_sentence(self.class_names)
        return f"{sentence} In it, {negative}." if negative else sentence


def _table(columns: dict[str, list[str]], file: Path, root: Path) -> Table:
    for name in ("path", "label"):
        if name not in columns:
            raise ValueError(
                f"{file} has no column {name!r}; its columns: {', '.join(columns) or 'none'}."
            )
    if not columns["path"]:
        raise ValueError(f"{file} has no rows.")
    _check_filled(columns, file)
    table = Table(
        key=[key_of(path, root) for path in columns.pop("path")],
        label=columns.pop("label"),
        split=_legal(columns.pop("split", None), (*SPLITS, *_ROLES), "split", file),
        role=_legal(columns.pop("query_gallery", None), (*_ROLES, ""), "query_gallery", file),
        super_class=columns.pop("super_class", None),
        attributes=columns,
    )
    if table.role and not table.split:
        raise ValueError(
            f"{file} has a column query_gallery but no column split; say which rows are train and test."
        )
    if table.split:
        roles = [value if value in _ROLES else "" for value in table.split]
        if any(roles) and table.role:
            raise ValueError(
                f"{file} says query or gallery in the column split and in a column query_gallery; use one."
            )
        if any(roles):
            table.role = roles
        table.split = ["test" if value in _ROLES else SPLITS[value] for value in table.split]
    _leave_out_repeats(table, file, root)
    return table


def _check_filled(columns: dict[str, list[str]], file: Path) -> None:
    """Check that each row has a path, each row with a label its super-class, and some row a label.

    Raises:
        ValueError: a cell is empty; names the row.
    """
    if not any(columns["label"]):
        raise ValueError(
            f"{file}: every cell of the column label is empty, so no image has a class and nothing can be trained; "
            "`lab embed` takes a folder of images without classes."
        )
    for row, path in enumerate(columns["path"], start=1):
        if not path:
            raise ValueError(f"{file}, row {row}: path is empty.")
        if (
            columns["label"][row - 1]
            and "super_class" in columns
            and not columns["super_class"][row - 1]
        ):
            raise ValueError(f"{file}, row {row}: super_class is empty.")


def _legal(
    values: list[str] | None, legal: tuple[str, ...], name: str, file: Path
) -> list[str] | None:
    """Return the values in small letters.

    Raises:
        ValueError: a value is not legal; names the row.
    """
    for row, value in enumerate(values or (), start=1):
        if value.lower() not in legal:
            raise ValueError(
                f"{file}, row {row}: {name} is {value!r}, not one of {', '.join(filter(None, legal))}."
            )
    return values and [value.lower() for value in values]


def _leave_out_repeats(table: Table, file: Path, root: Path) -> None:
    """Keep each image once, whatever its path is spelt like; links are followed.

    Raises:
        ValueError: an image has two labels, splits, roles or super-classes.
    """
    place_of = place_finder()
    places = [place_of(root / key) for key in table.key]
    columns = {
        "label": table.label,
        "split": table.split,
        "role": table.role,
        "super_class": table.super_class,
    }
    given = {name: values for name, values in columns.items() if values}
    first: dict[str, int] = {}
    repeats = []
    for row, place in enumerate(places):
        earlier = first.setdefault(place, row)
        for column, values in given.items():
            if values[earlier] != values[row]:
                name = " ".join(table.key[row].split())
                raise ValueError(
                    f"{file}, row {row + 1}: {name} has {_in_words(column, values[row])}, but "
                    f"{_in_words(column, values[earlier])} in row {earlier + 1}."
                )
        if earlier < row:
            repeats.append(f"row {row + 1} repeats row {earlier + 1}, {table.key[row]}")
    if repeats:
        verbs = ("names", "is") if len(repeats) == 1 else ("name", "are")
        table.problems.append(
            f"{counted(len(repeats), 'row')} of {file.name} {verbs[0]} an image that is listed before, and {verbs[1]} "
            f"left out, for instance {repeats[0]}."
        )
    table.keep([first[place] == row for row, place in enumerate(places)])


def _in_words(column: str, value: str) -> str:
    return (
        f"the {column.replace('_', '-')} {value!r}" if value else f"no {column.replace('_', '-')}"
    )
