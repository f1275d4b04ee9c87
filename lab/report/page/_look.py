"""The page's style, lines and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")

DASHES = ("", "7 4", "2 3", "9 3 2 3", "12 4", "4 2")
"""How lines are broken, so that colour is never alone."""


def line(number: int) -> str:
    """Attributes of the line of the number-th run."""
    return f'fill="none" stroke="var(--c{number % 6})" stroke-width="2" stroke-dasharray="{DASHES[number % 6]}"'


def key(names: Iterable[str]) -> str:
    """Which line is whose."""
    swatch = '<svg viewBox="0 0 36 8" aria-hidden="true"><path d="M0 4H36" {}/></svg>'
    items = (f"<li>{swatch.format(line(number))}{escape(name)}</li>" for number, name in enumerate(names))
    return f'<ul class="key">{"".join(items)}</ul>'


def table(caption: str, head: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """A table with row and column headings; None is a dash."""
    lines = [_row(head, "th"), *(_row(row, "td") for row in rows)]
    body = f"<thead>{lines[0]}</thead><tbody>{''.join(lines[1:])}</tbody>"
    text = escape(caption)  # outside of what scrolls sideways, so that a small screen shows all of it
    return f'<p class="told">{text}</p><div class="wide" tabindex="0"><table aria-label="{text}">{body}</table></div>'


def _row(cells: Sequence[Any], others: str) -> str:
    """The first cell is a heading, the others are headings (th) or not (td)."""
    heading = f'th scope="{"col" if others == "th" else "row"}"'
    made = []
    for place, cell in enumerate(cells):
        tag = heading if place == 0 or others == "th" else others
        made.append(f"<{tag}>{escape('-' if cell is None else str(cell))}</{tag[:2]}>")
    return f"<tr>{''.join(made)}</tr>"
