"""Tables of names: read from CSV, TSV, Parquet and Arrow files, and what a cell says.

A column of names (labels, keys, paths, splits, attributes) never passes through a number: 01, 1 and 001 are three
names, NA is one, and an empty cell alone says nothing. Blanks around a name do not count.
"""

from __future__ import annotations

import csv
import datetime
import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lab.core.explain import quoted
from lab.core.files import check_fits, checked
from lab.core.formats import FORMULA
from lab.core.number_blocks import line_blocks, read_block
from lab.core.results import as_array, cells_of, check_exact, check_exact_tensor

TEXT = (".csv", ".tsv", ".txt")
ARROW = (".parquet", ".pq", ".arrow", ".feather")
"""Endings of the files that hold tables: text, and columns of typed values."""

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "vertical bar": "|"}
SNIFFED = 100
"""Rows at the beginning of a file that tell what separates its cells."""

csv.field_size_limit(1 << 24)  # a cell may hold a long vector


@dataclass
class TextTable:
    """A table of a text file. columns: name to n texts. numbers: float32 [n d], the columns that `Choose` named."""

    columns: dict[str, list[str]] = field(default_factory=dict)
    numbers: Any = None


Choose = Callable[[list[str]], tuple[list[str] | None, list[str]]]
"""From the first line: names for the columns where that line holds none, else None; and which columns are numbers."""


def read(path: Path) -> dict[str, Any]:
    """Return the columns of a table, name to n values: texts from a text file, typed values from others.

    `names` makes texts of them.

    Raises:
        ValueError: it is no table that is read; one sentence.
    """
    if path.suffix.lower() in ARROW:
        return arrow_columns(read_arrow(path))
    return dict(read_text(path).columns)


def read_arrow(path: Path) -> Any:
    """Return a Parquet, Arrow or Feather file as an Arrow table, by memory map.

    Raises:
        ValueError: it is damaged or of another kind.
    """
    import pyarrow as pa
    import pyarrow.parquet

    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            check_fits(path, _bytes_of_parquet(pyarrow.parquet.read_metadata(checked(path))))
            return pyarrow.parquet.read_table(path, memory_map=True)
        source = pa.memory_map(str(checked(path)))
        try:
            return pa.ipc.open_file(source).read_all()
        except pa.ArrowInvalid:
            return pa.ipc.open_stream(source).read_all()
    except (pa.ArrowException, OSError) as error:
        reason = (
            ""
            if isinstance(error, OSError)
            else f" ({' '.join(str(error).split())[:300].rstrip('.')})"
        )
        raise ValueError(
            f"{path} cannot be read, it is damaged or of another kind{reason}."
        ) from None


def _bytes_of_parquet(about: Any) -> int:
    """Bytes that a Parquet file takes in memory at least: equal values in a row take none in the file."""
    total = 0
    for group in range(about.num_row_groups):
        for place in range(about.num_columns):
            column = about.row_group(group).column(place)
            numbers = (
                4 * column.num_values
                if column.physical_type != "BOOLEAN"
                else column.num_values // 8
            )
            total += max(numbers, column.total_uncompressed_size)
    return total


def arrow_columns(table: Any) -> dict[str, Any]:
    """Return the columns of an Arrow table: floating-point ones as arrays, which know how exact they are.

    Raises:
        ValueError: two columns have one name, or a text is damaged.
    """
    import pyarrow as pa

    _check_names(table.column_names, "The table")
    columns: dict[str, Any] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            columns[name] = (
                column.to_numpy() if pa.types.is_floating(column.type) else column.to_pylist()
            )
        except UnicodeDecodeError:
            raise ValueError(
                f"The column {quoted(name)} of the table holds text that is not UTF-8."
            ) from None
    return columns


def read_text(path: Path, choose: Choose | None = None) -> TextTable:
    """Read a CSV file, each cell as text without the blanks around it.

    Commas, semicolons, tabs or vertical bars separate the cells.

    Args:
        choose: which columns hold numbers; by default none.

    Raises:
        ValueError: it is no UTF-8 text or no well-formed table, a row is longer or shorter than the first line, or a
            number is none; names the line.
    """
    try:
        with checked(path).open(newline="", encoding="utf-8-sig") as lines:
            return _rows_of(path, lines, choose)
    except UnicodeDecodeError:
        raise ValueError(_encoding_sentence(path)) from None
    except csv.Error as error:
        raise ValueError(f"{path} is not well-formed CSV: {error}.") from None


def names(values: Any, what: str, exact: bool = True) -> list[str]:
    """Return a column as texts; "" for None, NaN, NaT and NA, which say nothing.

    A floating-point column of whole numbers that has gaps was a column of whole numbers before pandas met the gaps, so
    it is written without points.

    Args:
        values: list, array, tensor or data frame's column [n].
        what: the column, for the error.
        exact: refuse floating-point numbers that are too large to be told from their neighbours.

    Raises:
        ValueError: with `exact`, different names may have become one number.
    """
    if exact:
        check_exact_tensor(values, what)
    values = column(values)
    kind = values.dtype if isinstance(values, np.ndarray) else None
    cells = _cells(values)
    numbers: list[Any] = [
        one for one in cells if isinstance(one, float | np.floating) and one == one
    ]
    if not numbers:
        return [text_of(one) for one in cells]
    if exact:
        eps = (
            np.finfo(kind).eps
            if kind is not None and kind.kind == "f"
            else np.finfo(np.float64).eps
        )
        check_exact(np.array(numbers, np.float64), float(eps), what)
    gaps = any(not text_of(one) for one in cells)
    if gaps and all(float(one).is_integer() for one in numbers):
        cells = [
            int(one) if isinstance(one, float | np.floating) and one == one else one
            for one in cells
        ]
    return [text_of(one) for one in cells]


def label_names(values: Any, what: str) -> list[str]:
    """Return a column of labels as `names` does; a negative number, but not the text "-1", says nothing, too."""
    check_exact_tensor(values, what)
    cells = column(values)
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "f":
        cells = np.where(cells < 0, np.nan, cells)
    elif not isinstance(cells, np.ndarray) or cells.dtype.kind in "iO":
        cells = [
            None if isinstance(one, int | float | np.number) and one < 0 else one for one in cells
        ]
    return names(cells, what)


def negative_sentence(class_names: Iterable[str]) -> str:
    """Say that a negative number written as text is a class, where one of the classes is called so; else empty."""
    if any(name.startswith("-") and name[1:].isdecimal() for name in class_names):
        return "a negative number written as text is a class; leave the cell empty for no class"
    return ""


def alike_sentence(class_names: Iterable[str]) -> str:
    """Name two classes that a reader may take for one, as they differ in capitals, in blanks or in how a letter is
    stored alone; empty where there are none.

    Example:
        >>> from lab.core.tables import alike_sentence
        >>> alike_sentence(["Bags", "lamps", "bags"])
        "'Bags' and 'bags' are two classes that differ in capitals, blanks or the form of letters alone"
    """
    first: dict[str, str] = {}
    for name in class_names:
        letters = [
            one for one in unicodedata.normalize("NFKC", name) if unicodedata.category(one) != "Cf"
        ]
        other = first.setdefault(" ".join("".join(letters).split()).casefold(), name)
        if other != name:
            here, there = _shown(other), _shown(name)
            return f"{here} and {there} are two classes that differ in capitals, blanks or the form of letters alone"
    return ""


def _shown(name: str) -> str:
    """A name in quotes; one of other letters than those of ASCII also by their numbers."""
    return repr(name) if name.isascii() else f"'{name}' ({ascii(name)[1:-1]})"


def column(values: Any) -> Any:
    """Return a column as an array where its numbers are of one type, which says how exact they are; else as a list."""
    values = cells_of(values)
    if hasattr(values, "detach"):
        values = as_array(values, "values")
    # a column of pandas
    if hasattr(values, "to_numpy") and isinstance(getattr(values, "dtype", None), np.dtype):
        values = values.to_numpy()
    if isinstance(values, np.ndarray):
        return values
    return values.tolist() if hasattr(values, "tolist") else list(values)


def text_of(value: Any) -> str:
    """Return a cell as text: "" for what says nothing, a day without its midnight."""
    # NaN and NaT differ from themselves
    if value is None or type(value).__name__ == "NAType" or value != value:
        return ""  # and pandas' NA does not say whether it does
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="backslashreplace")
    if (
        isinstance(value, datetime.datetime)
        and value.time() == datetime.time()
        and value.tzinfo is None
    ):
        # Pandas' have nanoseconds, which `time` leaves out.
        value = value if getattr(value, "nanosecond", 0) else value.date()
    return str(value).strip()


def _cells(values: Any) -> list[Any]:
    """The values of `column` one by one; dates of numpy as dates, where it would give numbers."""
    if not isinstance(values, np.ndarray):
        return list(values)
    if values.dtype.kind == "M":
        known = ~np.isnat(values)
        dates = values.astype("datetime64[us]")
        exact = (dates[known] == values[known]).all()  # Python's dates know no nanoseconds
        return dates.tolist() if exact else [str(one) if one == one else None for one in values]
    return list(values) if values.dtype.kind == "f" else values.tolist()


def _rows_of(path: Path, lines: Any, choose: Choose | None) -> TextTable:
    delimiter = _delimiter(path, lines)
    checked_lines = _checked_lines(path, lines)
    reader = csv.reader(checked_lines, delimiter=delimiter, strict=True)
    first = [name.strip() for name in next(reader, [])]
    if not any(first):
        raise ValueError(f"{path} is empty; its first line names its columns.")
    given, numeric = choose(first) if choose is not None else (None, [])
    header = given or _named(first)
    _check_names(header, str(path))
    rows = _Rows(path, header, delimiter, [header.index(name) for name in numeric])
    if given:
        rows.add(first, reader.line_num)
    if len(header) > 1 and rows.numeric:
        rows.read_blocks(checked_lines, reader.line_num)
    else:
        rows.read(reader)
    table = {}
    for at, column in zip(rows.others, rows.columns, strict=True):
        # a spreadsheet leaves empty columns without a name behind the last
        if first[at] or any(column):
            table[header[at]] = _unescaped(column)
    return TextTable(table, np.concatenate(rows.numbers) if rows.numbers else None)


class _Rows:
    """The rows of a file, as columns of texts and one table of numbers."""

    def __init__(self, path: Path, header: list[str], delimiter: str, numeric: list[int]):
        """`numeric` are the places of the columns that hold numbers."""
        self.path, self.header, self.delimiter, self.numeric = path, header, delimiter, numeric
        self.others = [at for at in range(len(header)) if at not in set(numeric)]
        self.columns: list[list[str]] = [[] for _ in self.others]
        self.numbers: list[np.ndarray] = []

    def read(self, reader: Any) -> None:
        """Take all rows of a reader of csv."""
        for row in _whole_rows(self.path, reader, reader, self.header, self.delimiter):
            self.add(row, reader.line_num)

    def read_blocks(self, lines: Iterator[str], before: int) -> None:
        """Take all rows of some lines, several at once where possible. before: lines of the file before them."""
        for block in line_blocks(lines):
            found = read_block(block, self.delimiter, len(self.header), self.numeric)
            if found is None:
                before += self._read_singly(block, lines, before)
                continue
            before += len(block)
            for column, texts in zip(self.columns, found[0], strict=True):
                column += [text.strip() for text in texts]
            self.numbers.append(found[1])

    def _read_singly(self, block: list[str], lines: Iterator[str], before: int) -> int:
        """Take the rows that begin in a block, one by one; return how many lines they fill."""
        reader = csv.reader(itertools.chain(block, lines), delimiter=self.delimiter, strict=True)
        rows = _rows_before(reader, len(block))
        for row in _whole_rows(self.path, rows, reader, self.header, self.delimiter, before):
            self.add(row, before + reader.line_num)
        return int(reader.line_num)

    def add(self, row: list[str], line: int) -> None:
        """Take one row.

        Raises:
            ValueError: a cell is no number where one is needed.
        """
        for column, at in zip(self.columns, self.others, strict=True):
            column.append(row[at].strip())
        if self.numeric:
            self.numbers.append(_numbers(self.path, line, row, self.numeric, self.header)[None])


def _rows_before(reader: Any, line: int) -> Iterator[list[str]]:
    """The rows that begin before a line; the last may end behind it."""
    while reader.line_num < line:
        row = next(reader, None)
        if row is None:
            return
        yield row


def _delimiter(path: Path, lines: Any) -> str:
    """What separates the cells; `lines` then stand before the first line to read.

    That which cuts the first rows into as many cells each, of several the one that gives the most.
    """
    start = lines.readline()
    if told := re.fullmatch(r'"?sep=(.)"?\s*', start):  # as Excel writes it
        return told[1]
    sample = [start, *itertools.islice(lines, SNIFFED)]
    lines.seek(0)
    usual = "\t" if path.suffix.lower() == ".tsv" else ","
    best, most = usual, (False, 2)
    for one in DELIMITERS.values():
        try:
            rows = [row for row in csv.reader(sample, delimiter=one) if row]
        except csv.Error:
            continue
        whole = rows[:-1] if len(sample) > SNIFFED else rows  # the last may go on behind the sample
        widths = {len(row) for row in whole}
        found = (len(widths) == 1, len(rows[0]) if rows else 0)
        if found[1] > 1 and found >= most:
            best, most = one, found
    return best


def _checked_lines(path: Path, lines: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if "\0" in line:
            raise ValueError(
                f"{path}, line {number} holds a zero byte, so it is no text in UTF-8, or UTF-16 without its mark; save "
                f"it as CSV in UTF-8{_converted('UTF-16', path)}."
            )
        yield line


def _whole_rows(
    path: Path,
    rows: Iterable[list[str]],
    reader: Any,
    header: list[str],
    delimiter: str,
    before: int = 0,
) -> Iterator[list[str]]:
    """Rows of as many cells as the header has; in a table of one column a blank line is an empty cell, unless only
    blank lines follow. before: lines of the file before those of the reader."""
    blank = 0
    for row in rows:
        if len(row) < 2 and not "".join(row).strip() and not (row and len(header) == 1):
            blank += 1
            continue
        if len(header) == 1:
            yield from ([""] for _ in range(blank))
        blank = 0
        if len(row) != len(header):
            others = [
                word
                for word, sign in DELIMITERS.items()
                if sign != delimiter and sign in "".join(row)
            ]
            hint = (
                f"; if {others[0]}s separate the cells, they must in every line" if others else ""
            )
            raise ValueError(
                f"{path}, line {before + reader.line_num}: {len(row)} values for {len(header)} columns. A cell that "
                f"holds {delimiter!r} needs quotes around it{hint}."
            )
        yield row


def _numbers(
    path: Path, line: int, row: list[str], where: list[int], header: list[str]
) -> np.ndarray:
    """The numbers of a row, float32 [d]."""
    cells = [row[at] for at in where]
    try:
        if "_" in "".join(cells):  # Python's numbers may hold it
            raise ValueError
        return np.array([float(cell) for cell in cells], np.float32)
    except ValueError:
        bad = next(at for at in where if not _is_number(row[at]))
        comma = (
            "; write decimals with a point" if re.fullmatch(r"\s*-?\d+,\d+\s*", row[bad]) else ""
        )
        raise ValueError(
            f"{path}, line {line}: column {header[bad]} holds {row[bad]!r} where a number is needed{comma}."
        ) from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _named(first: list[str]) -> list[str]:
    """The header; a column without a name is called by its place."""
    return [name or f"column {place}" for place, name in enumerate(first, start=1)]


def _check_names(header: Sequence[str], what: str) -> None:
    seen: set[str] = set()
    for name in header:
        if name in seen:
            raise ValueError(f"{what} has two columns of one name, {name!r}; rename one of them.")
        seen.add(name)


def _unescaped(column: list[str]) -> list[str]:
    """A column without the apostrophes that keep spreadsheets from taking cells for formulas. A column that holds a
    cell like a formula was not written so, and stays as it is."""
    formulas = {text for text in column if FORMULA.match(text)}
    if not all(text.startswith("'") for text in formulas):
        return column
    return [text[1:] if text in formulas else text for text in column]


def _encoding_sentence(path: Path) -> str:
    """What to do with a text file that is not UTF-8."""
    content = path.read_bytes()
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return f"{path} is text in UTF-16; tables are read in UTF-8: save it as CSV UTF-8{_converted('UTF-16', path)}."
    place = 0
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        place = error.start
    line = content.count(b"\n", 0, place) + 1
    return (
        f"{path} is not UTF-8 text (line {line}, byte 0x{content[place]:02x}), perhaps Latin-1 or Windows-1252; tables "
        f"are read in UTF-8: save it as CSV UTF-8{_converted('WINDOWS-1252', path)}."
    )


def _converted(encoding: str, path: Path) -> str:
    return f", or convert it: iconv -f {encoding} -t UTF-8 {path.name} > utf8{path.suffix}"
