"""The page of claims: one screen of what held, and every number folded below it."""

from __future__ import annotations

import json
import math
import re
from html import escape
from pathlib import Path
from typing import Any

from lab.core import style, web_page
from lab.figures import measured as trials
from scripts.studies.report import sections
from scripts.studies.sweep import RESULTS

COLOURS = {"shows here": style.SKY, "not seen in a linear head, one split": style.VERMILLION}
ENDS, TICKS = (-5.0, 85.0), (-4, 0, 4, 16, 64)
"""Points of the plot's two edges, and where it says how many; most gains are small, so it shows their roots."""


def page(document: str) -> str:
    """The document of verdicts, with a plot of all claims before it and every study behind it."""
    title, rest = document.split("\n", 1)
    rows = json.loads(trials.EFFECTS.read_text("utf-8"))
    studies = dict(zip((row["study"] for row in rows), sections(RESULTS), strict=True))
    rows.sort(key=lambda row: (row["verdict"], (row["interval"] or [0, 0])[1]), reverse=True)
    ink = 'font-size="10" text-anchor="middle" fill="currentColor"'
    blanks = {
        "TITLE": title, "COUNTED": re.findall(r"(?m)^Of \d+ claims .*$", rest)[0], "DOCUMENT": rest,
        "TICKS": "".join(f'<text x="{_at(points):.1f}%" y="11" {ink}>{points}</text>' for points in TICKS),
        "ROWS": "\n".join(map(_row, rows)), "STUDIES": "\n\n".join(_folded(row, studies[row["study"]]) for row in rows),
    }  # fmt: skip
    return web_page.filled(Path(__file__).with_name("claims.md"), blanks)


def _folded(row: dict[str, Any], text: str) -> str:
    summary = escape(f"{row['says']} {row['verdict']}.")
    return f'<details markdown="1"><summary>{summary}</summary>\n\n{text}\n\n</details>'


def _row(row: dict[str, Any]) -> str:
    """A claim, and its numbers on one line."""
    colour = COLOURS.get(row["verdict"], "currentColor")
    marks = [
        f'<line x1="{_at(0):.1f}%" x2="{_at(0):.1f}%" y2="14" stroke="currentColor" opacity=".4"/>'
    ]
    marks += [
        f'<circle cx="{_at(x):.1f}%" cy="7" r="3" fill="none" stroke="currentColor"/>'
        for x in row["published"]
    ]
    if row["interval"]:
        low, mean, high = map(_at, row["interval"])
        marks.append(
            f'<line x1="{low:.1f}%" x2="{high:.1f}%" y1="7" y2="7" stroke="{colour}" stroke-width="3"/>'
        )
        marks.append(f'<circle cx="{mean:.1f}%" cy="7" r="4" fill="{colour}"/>')
    return (
        f'<a href="#{row["study"]}"><span>{escape(row["says"])}</span>'
        f'<svg width="100%" height="14" role="img" aria-label="{row["verdict"]}">{"".join(marks)}</svg></a>'
    )


def _at(points: float) -> float:
    """Percent of the plot's width."""
    low, here, high = (math.copysign(abs(one) ** 0.5, one) for one in (ENDS[0], points, ENDS[1]))
    return 100 * (here - low) / (high - low)
