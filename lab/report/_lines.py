"""From run folders to the lines of a table: seeds together, published rows beside."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import lab.papers.tables
from lab.core.estimates import LEVEL, Estimate
from lab.report import _facts, _fairness
from lab.report._facts import ReportLine
from lab.runs.config import RunConfig
from lab.runs.folder import Run

if TYPE_CHECKING:
    import pandas as pd

HOW = (
    "seed", "device", "workers", "graph_memory", "stream", "checkpoint_every", "keep_batches", "keep_frames",
)  # fmt: skip
"""Knobs of training that do not set one experiment apart from another."""

NAMED = 4
"""Knobs that a line's name tells, at most."""


@dataclass(frozen=True)
class Report:
    """A table and what one has to know to read it.

    lines: own ones first. columns: of the scores. split: measured. level: confidence of the intervals.
    over: name of the line whose errors the others are said to reduce, None for no such numbers.
    """

    lines: tuple[ReportLine, ...]
    columns: tuple[str, ...]
    split: str
    level: float
    over: str | None = None

    def error_reduction(self, line: ReportLine, column: str) -> float | None:
        """Share of the errors of the line `over`, on the same data, that this one does away with; None for itself, or
        where one of the two has no such score."""
        reference = next(
            (one for one in self.lines if self.over in (one.name, one.label) and one.data == line.data), None
        )
        if reference is None or reference is line or column not in reference.scores or column not in line.scores:
            return None
        return lab.papers.tables.error_reduction(line.scores[column].mean, reference.scores[column].mean)

    @cached_property
    def deviations(self) -> dict[tuple[int, str], str]:
        """Position of a line and column to why this number does not belong with the others of its column."""
        return _fairness.deviations(self.lines, self.columns)

    @property
    def marks(self) -> dict[str, str]:
        """Each such reason to its letter: a, b, ... z, aa."""
        reasons = dict.fromkeys(self.deviations.values())
        return {reason: ascii_lowercase[at % 26] * (1 + at // 26) for at, reason in enumerate(reasons)}

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for each thing that makes lines hard to compare."""
        return _fairness.warnings(self.lines, self.split)

    @property
    def notes(self) -> tuple[str, ...]:
        """How to read the numbers."""
        measured = [line for line in self.lines if not line.published]
        notes = [f"Scores of split {self.split}, in percent."]
        if self.over is not None:
            notes.append(
                f"In brackets: the percentage of the errors of {self.over} that is gone, as in the RS@k paper."
            )
        if any(len(line.runs) > 1 for line in measured):
            notes.append(f"Mean ± half of the {100 * self.level:g} % confidence interval (Student's t) over n seeds.")
        if alone := [line.name for line in measured if len(line.runs) == 1]:
            notes.append(f"One seed, hence no interval: {', '.join(alone)}.")
        if any(line.spread for line in self.lines):
            notes.append("Published ± sd: the standard deviation over the paper's trials, not an interval.")
        notes += [f"({letter}) Measured with {why}." for why, letter in self.marks.items()]
        papers = dict.fromkeys(line.source.partition(",")[0] for line in self.lines if line.published)
        titles = dict(lab.papers.tables.TITLES.values())
        notes += [f"{paper}: {titles[paper]}; published, not measured here." for paper in papers]
        return (*notes, *dict.fromkeys(f"{line.label}: {line.note}" for line in self.lines if line.note))

    def records(self) -> list[dict[str, Any]]:
        """One dict a line: what it is, and for each column its mean, half its interval (None: none) and n; besides what
        sets it `apart`, and the `deviation` over a paper's trials, where there is such a thing."""
        records = []
        for at, line in enumerate(self.lines):
            scores = {
                column: {"mean": estimate.mean, "half": estimate.half, "n": estimate.count}
                | ({"apart": self.deviations[at, column]} if (at, column) in self.deviations else {})
                | ({"deviation": line.spread[column]} if column in line.spread else {})
                for column, estimate in line.scores.items()
            }
            record: dict[str, Any] = {
                "name": line.name,
                "source": line.source,
                "data": line.data,
                "encoder": line.facts.encoder,
                "dim": line.facts.dim,
                "size": line.facts.size,
                "runs": list(line.runs),
                "seeds": list(line.seeds),
                "scores": scores,
            }
            if self.over is not None:
                reductions = {column: self.error_reduction(line, column) for column in self.columns}
                record["error_reduction"] = {c: value for c, value in reductions.items() if value is not None}
            records.append(record)
        return records

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame: facts, then `COLUMN`, `COLUMN ±` and `n`; published lines have n 0."""
        import pandas

        rows = []
        for line, record in zip(self.lines, self.records(), strict=True):
            scores = record.pop("scores")
            row = {**record, "n": len(line.runs)}
            for column in self.columns:
                estimate = scores.get(column, {})
                row |= {column: estimate.get("mean", math.nan), f"{column} ±": estimate.get("half", math.nan)}
            rows.append(row)
        return pandas.DataFrame(rows)


def report(
    runs: Sequence[Run],
    split: str = "test",
    columns: Sequence[str] | None = None,
    published: bool = False,
    any_loss: bool = False,
    level: float = LEVEL,
    over: str | None = None,
) -> Report:
    """Gather runs into lines, one for each setting, over its seeds.

    Args:
        split: whose scores.
        columns: which scores; by default all that the runs have.
        published: add what papers report for these losses on these data sets; with `any_loss` for all others, too.
        level: confidence of the intervals.
        over: name of a line, for how many of its errors each other one does away with.

    Raises:
        ValueError: no runs, a run without scores of the split, one twice, or a column that none of them has.
    """
    if not runs:
        raise ValueError("A report needs at least one run.")
    names = [run.name for run in runs]
    if twice := next((run for run in runs if sum(run.path.resolve() == r.path.resolve() for r in runs) > 1), None):
        raise ValueError(f"Run {twice.name} is named twice; name each run once.")
    lacking = [run.name for run in runs if not (run.scores(split) or {}).get("values")]
    if lacking:
        first = runs[names.index(lacking[0])]
        others = [name for name in first.splits if first.scores(name)]
        sentence = f"{', '.join(lacking)} {'has' if len(lacking) == 1 else 'have'} no scores of split {split}; "
        if others and split not in first.splits:  # a recorded loop has a validation split alone
            raise ValueError(f"{sentence}there are those of {', '.join(others)}: --split {others[0]}.")
        raise ValueError(f"{sentence}run: lab evaluate {first.path} --split {split}.")
    known = tuple(dict.fromkeys(column for run in runs for column in (run.scores(split) or {})["values"]))
    if unknown := [column for column in columns or () if column not in known]:
        raise ValueError(f"No run has a score {', '.join(unknown)}; there are {', '.join(known)}.")
    shown = tuple(columns or known)
    measured = _measured_lines(runs, split, shown, level)
    lines = (*measured, *(_published(measured, runs, shown, any_loss) if published else ()))
    if over is not None and not any(over in (line.name, line.label) for line in lines):
        raise ValueError(
            f"There is no line {over!r} to reduce the errors of; there are {', '.join(line.label for line in lines)}."
        )
    return Report(lines, shown, split, level, over)


def setting(config: RunConfig) -> dict[str, Any]:
    """Dotted knob to value of what sets an experiment apart: all but its seed, its machine and where its data lie."""
    return flattened(config.as_dict())


def flattened(config: Mapping[str, Any]) -> dict[str, Any]:
    """`setting` of a configuration as it stands in a run's file; what is no section there says nothing."""
    flat: dict[str, Any] = {}
    for section, chosen in config.items():
        for one in chosen if isinstance(chosen, list) else [chosen]:
            if isinstance(one, dict):
                place = f"{section}.{one.get('name')}" if isinstance(chosen, list) else section
                flat |= {f"{place}.{knob}": value for knob, value in one.items()}
    hidden = {f"training.{knob}" for knob in HOW} | {f"data.{knob}" for knob in _facts.PLACES}
    return {key: value for key, value in flat.items() if key not in hidden}


def together(settings: Sequence[dict[str, Any]]) -> list[list[int]]:
    """Positions of equal settings, in the order of the first of each."""
    groups: list[list[int]] = []
    for at, one in enumerate(settings):
        same = next((group for group in groups if settings[group[0]] == one), None)
        groups.append([at]) if same is None else same.append(at)
    return groups


def _measured_lines(runs: Sequence[Run], split: str, columns: tuple[str, ...], level: float) -> list[ReportLine]:
    settings = [setting(run.config_of(split)) for run in runs]
    groups = together(settings)
    firsts = [settings[group[0]] for group in groups]
    lines = []
    for first, group in zip(firsts, groups, strict=True):
        mine = [runs[at] for at in sorted(group, key=lambda at: runs[at].config.training.knobs.seed)]
        values = [(run.scores(split) or {})["values"] for run in mine]
        facts = _facts.of_run(mine[0], split)
        line = ReportLine(
            name=_name(first, firsts),
            data=" ".join(filter(None, (facts.data, facts.protocol.get("test_size")))),
            facts=facts,
            # A score that is null was never measured, for want of a query that counts.
            scores={
                c: Estimate.of([v[c] for v in values], level)
                for c in columns
                if all(v.get(c) is not None for v in values)
            },
            source="own",
            runs=tuple(run.name for run in mine),
            seeds=tuple(run.config.training.knobs.seed for run in mine),
        )
        lines.append(line)
    return lines


def _name(one: dict[str, Any], others: Sequence[dict[str, Any]]) -> str:
    """The loss, and the knobs in which settings with the same loss on the same data differ."""
    loss = one["loss.name"]
    rivals = [o for o in others if o["loss.name"] == loss and o["data.name"] == one["data.name"]]
    keys = dict.fromkeys(key for rival in rivals for key in rival)
    differing = [key for key in keys if any(rival.get(key) != one.get(key) for rival in rivals)]
    if not differing:
        return loss
    lasts = [key.rpartition(".")[2] for key in differing]
    names = [  # without their section, where that is clear
        last if last != "name" and lasts.count(last) == 1 else key for key, last in zip(differing, lasts, strict=True)
    ]
    settings = [f"{name} {_value(one.get(key))}" for name, key in zip(names[:NAMED], differing, strict=False)]
    return f"{loss} ({', '.join(settings)}{', ...' if len(differing) > NAMED else ''})"


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "[" + " ".join(map(_value, value)) + "]"
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _published(
    measured: list[ReportLine], runs: Sequence[Run], columns: tuple[str, ...], any_loss: bool
) -> list[ReportLine]:
    losses, tested = {run.config.loss.name for run in runs}, {line.data for line in measured}
    lines = []
    for row in lab.papers.tables.rows(data={line.facts.data for line in measured}, loss=None if any_loss else losses):
        part = " ".join(filter(None, (row.data, row.part)))
        scores = {c: Estimate.of([row.values[c]]) for c in columns if c in row.values}
        if scores and part in tested:
            more: dict[str, Any] = {"note": row.note, "spread": {c: s for c, s in row.spread.items() if c in scores}}
            lines.append(ReportLine(row.method, part, _facts.of_row(row), scores, row.told_source, **more))
    return lines
