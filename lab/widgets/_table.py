"""Numbers as a small table: what a page of a tutorial shows instead of a dictionary."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

Rows = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Table:
    """A table that shows itself: as HTML on a page, aligned with spaces in a terminal."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __repr__(self) -> str:
        lines = [self.head, *self.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.head))]
        return "\n".join(
            "  ".join([name.ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells, widths[1:], strict=True))])
            for name, *cells in lines
        )

    def _repr_html_(self) -> str:
        head = "".join(f"<th scope='col'>{escape(name)}</th>" for name in self.head)
        body = "".join(
            f"<tr><th scope='row'>{escape(name)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
            for name, *cells in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def table(rows: Rows, digits: int = 3, of: str = "") -> Table:
    """A table of a dictionary of dictionaries: a row each, its columns by name.

    Args:
        rows: name of a row to its cells; a cell that a row lacks is a dash.
        digits: after the point, of numbers that are no integers.
        of: what the rows are, for the first column's head.

    Raises:
        ValueError: no rows.

    Example:
        >>> table({"SmoothAP": {"loss": 0.30637, "pairs": 12}, "SupAP": {"loss": 0.2821}}, digits=2, of="loss function")
        loss function  loss  pairs
        SmoothAP       0.31     12
        SupAP          0.28      -
    """
    if not rows:
        raise ValueError("A table needs at least one row.")
    columns = tuple(dict.fromkeys(name for cells in rows.values() for name in cells))
    lines = tuple(
        (name, *(_cell(cells.get(column, "-"), digits) for column in columns)) for name, cells in rows.items()
    )
    return Table((of, *columns), lines)


def _cell(value: Any, digits: int) -> str:
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        tiny = value != 0 and abs(value) < 0.5 * 10**-digits
        return f"{value:.1e}" if tiny else f"{value:.{digits}f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
