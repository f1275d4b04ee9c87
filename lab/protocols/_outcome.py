"""What a protocol found: rows of estimates, as a table, as Markdown and as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from lab.core.estimates import Estimate
from lab.core.files import write_json, write_text
from lab.core.formats import finite, markdown_table
from lab.core.outcome_file import OutcomeFile
from lab.core.stored import check

Setting = Mapping[str, str | int | float]


@dataclass(frozen=True)
class OutcomeRow:
    """One line of a table. setting: what distinguishes it, by name; scores: column to estimate."""

    setting: Setting
    scores: Mapping[str, Estimate]


@dataclass(frozen=True)
class Outcome:
    """What a protocol found.

    over: what the measurements behind an estimate differ in, in words, for instance "seeds".
    notes: what a reader has to know to read the numbers.
    shown: the columns of tables, where not all are; JSON always has all.
    """

    protocol: str
    source: str
    over: str
    knobs: Mapping[str, Any]
    rows: tuple[OutcomeRow, ...]
    notes: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()

    def table(self) -> list[dict[str, Any]]:
        """One dictionary a row, all with the same keys: settings, then scores as text (None where not measured)."""
        settings = list(dict.fromkeys(key for row in self.rows for key in row.setting))
        columns = self.shown or list(dict.fromkeys(key for row in self.rows for key in row.scores))
        return [
            {key: row.setting.get(key) for key in settings}
            | {key: str(row.scores[key]) if key in row.scores else None for key in columns}
            for row in self.rows
        ]

    def as_markdown(self) -> str:
        """The table with the sentences that belong to it."""
        rows = self.table()
        lines = [f"# {self.protocol}", "", f"Source: {self.source}.", ""]
        if rows:
            cells = ([cell and str(cell).replace("|", "\\|") for cell in row.values()] for row in rows)
            lines += [markdown_table(list(rows[0]), cells), ""]
        return "\n".join([*lines, *(f"- {sentence}" for sentence in self.sentences())]) + "\n"

    def sentences(self) -> list[str]:
        """How the numbers are to be read."""
        counts = {one.count for row in self.rows for one in row.scores.values()}
        notes = list(self.notes)
        if counts and max(counts) > 1:
            n = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else str(max(counts))
            notes.append(f"Means over {n} {self.over}; behind ± half the 95 % confidence interval, by Student's t.")
        return notes

    def as_json(self) -> dict[str, Any]:
        return finite(asdict(self))

    def write(self, folder: Path, name: str) -> Path:
        """Write NAME.json and NAME.md; returns the latter."""
        write_json(folder / f"{name}.json", self.as_json())
        write_text(folder / f"{name}.md", self.as_markdown())
        return folder / f"{name}.md"

    @classmethod
    def read(cls, stored: Mapping[str, Any], name: str = "The outcome") -> Outcome:
        """Return the outcome that `as_json` gave.

        Args:
            name: what a message calls it, for instance its file.

        Raises:
            ValueError: it is none; names the field.
        """
        found = check(stored, OutcomeFile, name)
        rows = []
        for row in found["rows"]:
            scores = {column: Estimate.read(one) for column, one in row["scores"].items()}
            rows.append(OutcomeRow(row["setting"], scores))
        return cls(
            protocol=found["protocol"],
            source=found["source"],
            over=found["over"],
            knobs=found["knobs"],
            rows=tuple(rows),
            notes=tuple(found["notes"]),
            shown=tuple(found["shown"]),
        )


def joined(outcomes: Sequence[Outcome], over: str) -> Outcome:
    """One outcome of several of the same protocol and settings: each estimate is over the means of the parts.

    Raises:
        ValueError: their rows or columns differ.
    """
    first = outcomes[0]
    if len(outcomes) == 1:
        return first
    for one in outcomes:
        if [set(row.scores) for row in one.rows] != [set(row.scores) for row in first.rows]:
            raise ValueError(
                f"What {first.protocol} measured of the {over} differs in rows or columns; move the folder measured "
                "away, and all of it is measured again."
            )
    rows = [
        measured(same[0].setting, *({c: row.scores[c].mean for c in same[0].scores} for row in same))
        for same in zip(*(one.rows for one in outcomes), strict=True)
    ]
    notes = tuple(dict.fromkeys(note for one in outcomes for note in one.notes))
    return replace(first, over=over, rows=tuple(rows), notes=notes)


def measured(setting: Setting, *measurements: Mapping[str, float | None]) -> OutcomeRow:
    """A row of estimates over one or several measurements, each a mapping from column to value; None is NaN."""
    columns: dict[str, list[float]] = {}
    for values in measurements:
        for column, value in values.items():
            columns.setdefault(column, []).append(math.nan if value is None else value)
    return OutcomeRow(setting, {column: Estimate.of(values) for column, values in columns.items()})
