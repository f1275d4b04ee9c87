"""The outcome of a protocol: rows of estimates, as a table, as Markdown and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
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
    """One line of a table. setting: the values that distinguish it, by name; scores: estimates by column."""

    setting: Setting
    scores: Mapping[str, Estimate]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a protocol.

    over: what the measurements behind an estimate differ in, for instance "seeds".
    notes: sentences that a reader needs to understand the numbers.
    shown: columns of tables; empty: all. JSON always has all columns.
    """

    protocol: str
    source: str
    over: str
    knobs: Mapping[str, Any]
    rows: tuple[OutcomeRow, ...]
    notes: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()

    def table(self) -> list[dict[str, Any]]:
        """Return one dictionary a row, all with the same keys: settings, then scores as text (None: not measured)."""
        settings = _all_keys(row.setting for row in self.rows)
        columns = self.shown or _all_keys(row.scores for row in self.rows)
        lines = []
        for row in self.rows:
            line: dict[str, Any] = {key: row.setting.get(key) for key in settings}
            for column in columns:
                line[column] = str(row.scores[column]) if column in row.scores else None
            lines.append(line)
        return lines

    def as_markdown(self) -> str:
        """Return the table, followed by the sentences that explain it, as Markdown."""
        lines = [f"# {self.protocol}", "", f"Source: {self.source}.", ""]

        rows = self.table()
        if rows:
            escaped = []
            for row in rows:
                escaped.append([cell and str(cell).replace("|", "\\|") for cell in row.values()])
            lines += [markdown_table(list(rows[0]), escaped), ""]

        lines += [f"- {sentence}" for sentence in self.sentences()]
        return "\n".join(lines) + "\n"

    def sentences(self) -> list[str]:
        """Return the notes, and how many measurements stand behind each number."""
        counts: set[int] = set()
        for row in self.rows:
            counts.update(estimate.count for estimate in row.scores.values())

        notes = list(self.notes)
        if counts and max(counts) > 1:
            if len(counts) > 1:
                n = f"{min(counts)} to {max(counts)}"
            else:
                n = str(max(counts))
            notes.append(
                f"Means over {n} {self.over}; behind ± half the 95 % confidence interval, by Student's t."
            )
        return notes

    def as_json(self) -> dict[str, Any]:
        return finite(asdict(self))

    def write(self, folder: Path, name: str) -> Path:
        """Write NAME.json and NAME.md; return the path of the latter."""
        write_json(folder / f"{name}.json", self.as_json())
        write_text(folder / f"{name}.md", self.as_markdown())
        return folder / f"{name}.md"

    @classmethod
    def read(cls, stored: Mapping[str, Any], name: str = "The outcome") -> Outcome:
        """Return the outcome that was written by `as_json`.

        Args:
            name: name of the outcome in messages, for instance its file.

        Raises:
            ValueError: it is not an outcome; the message names the field.
        """
        fields = check(stored, OutcomeFile, name)
        rows = []
        for row in fields["rows"]:
            scores = {column: Estimate.read(values) for column, values in row["scores"].items()}
            rows.append(OutcomeRow(row["setting"], scores))
        return cls(
            protocol=fields["protocol"],
            source=fields["source"],
            over=fields["over"],
            knobs=fields["knobs"],
            rows=tuple(rows),
            notes=tuple(fields["notes"]),
            shown=tuple(fields["shown"]),
        )


def merge(outcomes: Sequence[Outcome], over: str) -> Outcome:
    """Merge outcomes of the same protocol and settings: each estimate is over the means of the parts.

    Raises:
        ValueError: their rows or columns differ.
    """
    first = outcomes[0]
    if len(outcomes) == 1:
        return first

    columns = [set(row.scores) for row in first.rows]
    for outcome in outcomes:
        if [set(row.scores) for row in outcome.rows] != columns:
            raise ValueError(
                f"What {first.protocol} measured of the {over} differs in rows or columns; move the folder measured "
                "away, and all of it is measured again."
            )

    merged = []
    # the same setting in every outcome
    for rows in zip(*(outcome.rows for outcome in outcomes), strict=True):
        means = []
        for row in rows:
            means.append({column: row.scores[column].mean for column in rows[0].scores})
        merged.append(summarise(rows[0].setting, *means))

    notes: dict[str, None] = {}  # each note once, in the order of the outcomes
    for outcome in outcomes:
        notes |= dict.fromkeys(outcome.notes)
    return replace(first, over=over, rows=tuple(merged), notes=tuple(notes))


def summarise(setting: Setting, *measurements: Mapping[str, float | None]) -> OutcomeRow:
    """Return a row of estimates over one or several measurements, each of them values by column; None counts as NaN."""
    columns: dict[str, list[float]] = {}
    for values in measurements:
        for column, value in values.items():
            columns.setdefault(column, []).append(math.nan if value is None else value)
    return OutcomeRow(setting, {column: Estimate.of(values) for column, values in columns.items()})


def _all_keys(mappings: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the keys of all mappings, each once, in the order of their first appearance."""
    keys: dict[str, None] = {}
    for mapping in mappings:
        keys |= dict.fromkeys(mapping)
    return list(keys)
