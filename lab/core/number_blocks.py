"""Blocks of lines of a CSV file that pyarrow reads, with the same cells and numbers as Python's reader gives.

`read_block` returns None wherever the two might differ; the caller then reads that block with Python's reader, which
also words every refusal.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

BLOCK = 1 << 24
"""Characters of a block, about."""

LONGEST_LINE = 1 << 20
"""Characters of the longest line that pyarrow reads here."""

SEPARATORS = ",;\t"

_QUOTED = re.compile(r'"(?<![^,;\t\r\n]")(?:[^"\r\n]|"")*"(?![^,;\t\r\n])')
"""A quoted cell, from separator to separator, within one line."""


def line_blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the lines of a file in lists of about `BLOCK` characters."""
    block: list[str] = []
    size = 0
    for line in lines:
        block.append(line)
        size += len(line)
        if size >= BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


def read_block(
    lines: Sequence[str], delimiter: str, width: int, numeric: Sequence[int]
) -> tuple[list[list[str]], np.ndarray] | None:
    """Read lines as rows of `width` cells.

    Args:
        numeric: the columns that hold numbers.

    Returns:
        The other columns as texts as they stand, n each, and the numbers, float32 [n d]. None if a row has another
        number of cells, there is none, a number is none or not finite, or the two readers might not agree.
    """
    import pyarrow as pa
    import pyarrow.csv

    text = "".join(lines)
    if (
        width < 2
        or delimiter not in SEPARATORS
        or max(map(len, lines)) > LONGEST_LINE
        or not _is_plain(text)
    ):
        return None
    names = [str(place) for place in range(width)]
    types = dict.fromkeys(names, pa.string())
    for place in numeric:
        types[names[place]] = pa.float64()
    try:
        table = pyarrow.csv.read_csv(
            io.BytesIO(text.encode()),
            pyarrow.csv.ReadOptions(column_names=names, block_size=2 * LONGEST_LINE),
            pyarrow.csv.ParseOptions(delimiter=delimiter),
            pyarrow.csv.ConvertOptions(
                column_types=types, null_values=[], strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        return None
    if not len(table):
        return None
    by_column = np.empty((len(numeric), len(table)), np.float32)
    with np.errstate(over="ignore"):
        for at, place in enumerate(numeric):
            by_column[at] = table.column(place).to_numpy()
    if not np.isfinite(by_column).all():
        return None
    others = [place for place in range(width) if place not in set(numeric)]
    return [table.column(place).to_pylist() for place in others], np.ascontiguousarray(by_column.T)


def _is_plain(text: str) -> bool:
    """Whether every quote opens or closes a cell of one line, and nothing looks like the mark of an encoding."""
    if text.startswith("\ufeff"):
        return False
    return '"' not in text or '"' not in _QUOTED.sub("", text)
