"""The papers' numbers as a page."""

from __future__ import annotations

from itertools import groupby

from lab.papers import tables

COLUMNS = (
    "method",
    "encoder",
    "width",
    "scores in percent",
    "source",
    "measured how",
    "trained here by",
    "note",
)


def page() -> str:
    """All published rows, by data set; none of them was measured by this program."""
    rows = sorted(tables.rows(), key=lambda row: (row.data, row.part))
    parts = [
        "# Published tables\n\nNumbers that papers report, none of them measured by this program. "
        "[Claims](claims.md) has what was measured here.\n"
    ]
    for (data, part), group in groupby(rows, key=lambda row: (row.data, row.part)):
        parts += [
            f"## {data}{', ' + part if part else ''}\n",
            _line(COLUMNS),
            _line(["---"] * len(COLUMNS)),
        ]
        for row in group:
            width = row.dim or "not told"
            # each on one line
            scores = ", ".join(score.replace(" ", "&nbsp;") for score in row.scores.split(", "))
            last = (
                row.told_source,
                row.measured,
                f"`{row.command}`" if row.command else "",
                row.note,
            )
            parts.append(_line((row.method, row.encoder, width, scores, *last)))
        parts.append("")
    return "\n".join(parts)


def _line(cells) -> str:
    return (
        "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
    )
