"""Marks on numbers that were not measured as the others in their column: another search, gallery or protocol."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase

from lab.report._line import Line

UNSEARCHED = ("NMI", "AMI", "F1", "anchor accuracy", "classifier accuracy")
"""Columns that no search has a part in."""


def apart(lines: Sequence[Line], columns: Sequence[str]) -> dict[tuple[int, str], str]:
    """Position of a line and column to what sets the number apart from those above it on the same data, if anything.

    In each thing that can be told the first line that tells it sets the standard. A published line is compared in what
    its paper tells, and in its search.
    """
    reasons = {}
    for column in columns:
        usual: dict[str, dict[str, object]] = {}
        for at, line in enumerate(lines):
            if column not in line.scores:
                continue
            mine, theirs = _measured(line, column), usual.setdefault(line.data, {})
            parts = [f"{k} {mine[k]} instead of {theirs[k]}" for k in mine if k in theirs and mine[k] != theirs[k]]
            if parts:
                reasons[at, column] = ", ".join(parts)
            usual[line.data] = {**mine, **theirs}
    return reasons


def letters(sentences: Sequence[str]) -> dict[str, str]:
    """A letter for each different sentence, in their order: a, b, ... z, aa."""
    different = list(dict.fromkeys(sentences))
    return {reason: ascii_lowercase[at % 26] * (1 + at // 26) for at, reason in enumerate(different)}


def _measured(line: Line, column: str) -> dict[str, object]:
    protocol = dict(line.facts.protocol)
    usual = protocol.pop("search", "exact")
    return protocol if column in UNSEARCHED else {**protocol, "search": line.facts.search.get(column, usual)}
