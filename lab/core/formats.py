"""How numbers and times are written for people."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

MB, GB = 10**6, 10**9
"""Bytes. Everything here counts memory and files in these, never in powers of two."""


def size(count: float) -> str:
    """Bytes to three digits: `376 MB`, `8.6 GB`."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB" if count < 1000 else f"{count:,.0f} GB"


def duration(seconds: float) -> str:
    """Seconds as `45 s`, `3 min 20 s`, `22 min` or `2 h 05 min`: no unit that a reader would not act on.

    >>> duration(200.4), duration(1320)
    ('3 min 20 s', '22 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def time_of_day(now: datetime, seconds: float) -> str:
    """The time on the clock in so many seconds, with the day of the week unless it is today.

    >>> night = datetime(2026, 11, 22, 23, 50)
    >>> time_of_day(night, 300), time_of_day(night, 1_200)
    ('23:55', 'Monday 00:10')
    """
    then = now + timedelta(seconds=seconds)
    return f"{then:%H:%M}" if then.date() == now.date() else f"{then:%A %H:%M}"


def zone_of(name: str | None) -> ZoneInfo | None:
    """The time zone that a browser names; None where it names none, or one that this machine does not know."""
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name) if name else None
    except (KeyError, ValueError, OSError):
        return None


def counted(count: int, thing: str, things: str = "") -> str:
    """A number and what it counts, which is one or several.

    >>> counted(1, "file"), counted(1200, "file"), counted(2, "query", "queries")
    ('1 file', '1,200 files', '2 queries')
    """
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


_HIDDEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)


def visible(text: str) -> str:
    r"""A text whose control, direction and zero-width characters are written out, so that none of them acts.

    >>> visible("\u202eevil")
    '\\u202eevil'
    """
    return _HIDDEN.sub(lambda found: ascii(found[0])[1:-1], text)


def finite(value: Any) -> Any:
    """A value as JSON can hold it: NaN and infinity, which JSON lacks, become null."""
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


FORMULA = re.compile(r"[\s']*[=+\-@]")
"""What a spreadsheet takes for a formula, or what already stands behind an apostrophe."""


def plain_cell(text: str) -> str:
    """Return a text as a cell that no spreadsheet takes for a formula or for two rows.

    Before = + - @ stands an apostrophe, which `lab.core.tables` takes off again; line breaks and the like are spaces.

    >>> plain_cell("=1+1"), plain_cell("cat.png")
    ("'=1+1", 'cat.png')
    """
    line = "".join(" " if character < " " else character for character in text)
    return f"'{line}" if FORMULA.match(line) else line


def markdown_table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown; None is a dash.

    >>> print(markdown_table(["loss", "r@1"], [["RS@k", None]]))
    | loss | r@1 |
    | --- | --- |
    | RS@k | - |
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        f"| {' | '.join('-' if cell is None else str(cell) for cell in line)} |" for line in lines
    )


def beside(names: Iterable[str], ours: Iterable[str]) -> dict[str, str]:
    """Return a title for each of a person's column names that stands beside columns of ours.

    A name that we use, too, gets " (column)" behind it, so that neither column hides the other.

    Example:
        >>> beside(["camera", "rank"], ours=["query", "rank"])
        {'camera': 'camera', 'rank': 'rank (column)'}
    """
    titles: dict[str, str] = {}
    names, taken = list(names), set(ours)
    for name in names:
        title = name
        while title in taken or (title != name and title in names):
            title += " (column)"
        titles[name] = title
        taken.add(title)
    return titles
