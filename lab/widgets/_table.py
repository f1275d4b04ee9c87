"""Small tables of numbers for the pages of a tutorial."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

Rows = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Table:
    """A table that displays itself: as HTML in a notebook, aligned with spaces in a terminal."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __repr__(self) -> str:
        rows = [self.head, *self.rows]
        widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
        lines = []
        for name, *cells in rows:
            columns = [name.ljust(widths[0])]
            for cell, width in zip(cells, widths[1:], strict=True):
                columns.append(cell.rjust(width))
            lines.append("  ".join(columns))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(f"<th scope='col'>{escape(name)}</th>" for name in self.head)
        body = ""
        for name, *cells in self.rows:
            data = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
            body += f"<tr><th scope='row'>{escape(name)}</th>{data}</tr>"
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def table(rows: Rows, digits: int = 3, of: str = "") -> Table:
    """Return a table of a dictionary of dictionaries.

    Args:
        rows: the cells of each row by column, by the name of the row; a missing cell becomes a dash.
        digits: number of digits after the point of real numbers.
        of: kind of the rows, for the head of the first column.

    Raises:
        ValueError: there are no rows.

    Example:
        >>> table({"SmoothAP": {"loss": 0.30637, "pairs": 12}, "SupAP": {"loss": 0.2821}}, digits=2, of="loss function")
        loss function  loss  pairs
        SmoothAP       0.31     12
        SupAP          0.28      -
    """
    if not rows:
        raise ValueError("A table needs at least one row.")
    columns: dict[str, None] = {}  # each column once, in the order of its first appearance
    for cells in rows.values():
        columns |= dict.fromkeys(cells)

    lines = []
    for name, cells in rows.items():
        texts = [_cell(cells.get(column, "-"), digits) for column in columns]
        lines.append((name, *texts))
    return Table((of, *columns), tuple(lines))


def _cell(value: Any, digits: int) -> str:
    """Return a value as the text of a cell."""
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value)
    if value != 0 and abs(value) < 0.5 * 10**-digits:
        return f"{value:.1e}"
    return f"{value:.{digits}f}"
