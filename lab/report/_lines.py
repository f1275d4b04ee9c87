"""From run folders to the lines of a table: seeds together, published rows beside."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import lab.papers.tables
import lab.verdict
from lab.core.estimates import LEVEL, Estimate
from lab.report import _facts, _fairness, _losses
from lab.report._facts import ReportLine
from lab.runs.config import flat
from lab.runs.folder import Run

if TYPE_CHECKING:
    import pandas as pd

HOW = (
    "seed", "device", "workers", "graph_memory", "stream", "checkpoint_every", "keep_batches", "keep_frames",
)  # fmt: skip
"""Knobs of training that do not set one experiment apart from another."""

PLACE = "run"
"""In a setting: the folder of a run that was made elsewhere by a method that nobody named."""

NAMED = 4
"""Knobs that a line's name tells, at most."""


@dataclass(frozen=True)
class Report:
    """A table and what one has to know to read it.

    lines: own ones first. columns: of the scores. split: measured.
    """

    lines: tuple[ReportLine, ...]
    columns: tuple[str, ...]
    split: str

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence for each thing that makes lines hard to compare."""
        return _fairness.warnings(self.lines, self.split)

    @property
    def notes(self) -> tuple[str, ...]:
        """How to read the numbers."""
        measured = [line for line in self.lines if not line.published]
        notes = [f"Scores of split {self.split}, in percent."]
        if any(len(line.runs) > 1 for line in measured):
            notes.append(
                f"Mean ± half of the {100 * LEVEL:g} % confidence interval (Student's t) over n seeds."
            )
        alone = [line.name for line in measured if len(line.runs) == 1]
        if alone:
            notes.append(f"One seed, hence no interval: {', '.join(alone)}.")
        rate = _losses.one_rate(measured)
        if rate:
            notes.append(rate)
        if any(line.spread for line in self.lines):
            notes.append(
                "Published ± sd: the standard deviation over the paper's trials, not an interval."
            )
        titles = dict(lab.papers.tables.TITLES.values())
        papers = [line.source.partition(",")[0] for line in self.lines if line.published]
        for paper in dict.fromkeys(papers):
            notes.append(f"{paper}: {titles[paper]}; published, not measured here.")
        of_lines = [f"{line.label}: {line.note}" for line in self.lines if line.note]
        return (*notes, *dict.fromkeys(of_lines))

    def records(self) -> list[dict[str, Any]]:
        """One dict a line: what it is, and for each column its mean, half its interval (None: none) and n; besides the
        `deviation` over a paper's trials, where there is such a thing."""
        records = []
        for line in self.lines:
            scores = {}
            for column, estimate in line.scores.items():
                scores[column] = {"mean": estimate.mean, "half": estimate.half, "n": estimate.count}
                if column in line.spread:
                    scores[column]["deviation"] = line.spread[column]
            records.append(
                {
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
            )
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
                row[column] = estimate.get("mean", math.nan)
                row[f"{column} ±"] = estimate.get("half", math.nan)
            rows.append(row)
        return pandas.DataFrame(rows)


def report(
    runs: Sequence[Run],
    split: str | None = None,
    columns: Sequence[str] | None = None,
    published: bool = False,
    any_loss: bool = False,
) -> Report:
    """Gather runs into lines, one for each setting, over its seeds.

    Args:
        split: whose scores; by default test, or validation where that is what all runs have.
        columns: which scores; by default all that the runs have.
        published: add what papers report for these losses on these data sets. any_loss: for all others, too.

    Raises:
        ValueError: no runs, a run without scores of the split, one twice, or a column that none of them has.
    """
    if not runs:
        raise ValueError("A report needs at least one run.")
    _refuse_twice(runs)
    split = split or _common_split(runs)
    _refuse_unmeasured(runs, split)
    every = [column for run in runs for column in _values(run, split)]
    known = tuple(dict.fromkeys(every))
    unknown = [column for column in columns or () if column not in known]
    if unknown:
        raise ValueError(f"No run has a score {', '.join(unknown)}; there are {', '.join(known)}.")
    shown = tuple(columns or known)
    lines = _measured_lines(runs, split, shown)
    if published or any_loss:
        lines += _published(lines, runs, shown, any_loss)
    return Report(tuple(lines), shown, split)


def _values(run: Run, split: str) -> dict[str, float | None]:
    """Column to the score of a run; empty where the split was not measured."""
    return (run.scores(split) or {}).get("values") or {}


def _refuse_twice(runs: Sequence[Run]) -> None:
    """Refuse a folder that is named more than once."""
    folders = [run.path.resolve() for run in runs]
    for run, folder in zip(runs, folders, strict=True):
        if folders.count(folder) > 1:
            raise ValueError(f"Run {run.name} is named twice; name each run once.")


def _refuse_unmeasured(runs: Sequence[Run], split: str) -> None:
    """Refuse runs without scores of a split."""
    lacking = [run for run in runs if not _values(run, split)]
    if not lacking:
        return
    first = lacking[0]
    others = [name for name in first.splits if first.scores(name)]
    names = ", ".join(run.name for run in lacking)
    verb = "has" if len(lacking) == 1 else "have"
    sentence = f"{names} {verb} no scores of split {split}; "
    if others and split not in first.splits:  # a recorded loop has a validation split alone
        raise ValueError(f"{sentence}there are those of {', '.join(others)}: --split {others[0]}.")
    raise ValueError(f"{sentence}run: lab evaluate {first.path} --split {split}.")


def _common_split(runs: Sequence[Run]) -> str:
    """The split of the scores: test, unless all runs have scores of validation and not all have those of test."""
    for split in ("test", "validation"):
        if all(_values(run, split) for run in runs):
            return split
    return "test"


def setting(run: Run, split: str = "test") -> dict[str, Any]:
    """Dotted knob to value of what sets an experiment apart: all but its seed, its machine and where its data lie.

    A run that was made elsewhere goes by its method, and one without a method by its own name: it is like no other.
    """
    config = run.config_of(split)
    values = flattened(config.as_dict())
    if values.get("data.corrections") is not None:
        values["data.corrections"] = _facts.corrections_of(run)
    if config.imported:
        values["loss.name"] = config.method or run.name
        for knob in ("loss.what", "loss.method"):
            values.pop(knob, None)
        if not config.method:
            values[PLACE] = str(run.path.resolve())
    elif config.loss.outside:  # somebody's own, by what it is called
        values["loss.name"] = values.pop("loss.what")
    return values


def flattened(config: Mapping[str, Any]) -> dict[str, Any]:
    """`setting` of a configuration as it stands in a run's file."""
    hidden = {"loss.seed"}
    hidden.update(f"training.{knob}" for knob in HOW)
    hidden.update(f"data.{knob}" for knob in _facts.PLACES)
    return {
        key: value for key, value in flat(dict(config)).items() if key not in hidden and value != []
    }


def together(settings: Sequence[dict[str, Any]]) -> list[list[int]]:
    """Positions of equal settings, in the order of the first of each."""
    groups: list[list[int]] = []
    for at, one in enumerate(settings):
        for group in groups:
            if settings[group[0]] == one:
                group.append(at)
                break
        else:
            groups.append([at])
    return groups


def _measured_lines(runs: Sequence[Run], split: str, columns: tuple[str, ...]) -> list[ReportLine]:
    """One line for each setting, over its runs."""
    settings = [setting(run, split) for run in runs]
    groups = together(settings)
    firsts = [settings[group[0]] for group in groups]
    lines = []
    for first, group in zip(firsts, groups, strict=True):
        mine = sorted([runs[at] for at in group], key=_seed)
        facts = _facts.of_run(mine[0], split)
        line = ReportLine(
            name=name_of_setting(first, firsts),
            data=_joined(facts.data, facts.protocol.get("test_size")),
            facts=facts,
            scores=_estimates(mine, split, columns),
            source="own",
            runs=tuple(run.name for run in mine),
            seeds=tuple(run.config.seed for run in mine if run.config.seed is not None),
            note=_joined(_losses.remark(mine[0].config), _faults(mine), _warnings(mine, split)),
            loss=first["loss.name"],
            measured=tuple(str((run.scores(split) or {}).get("images", "")) for run in mine),
            vectors=tuple(run.vectors_stamp(split) for run in mine),
        )
        lines.append(line)
    return lines


def _seed(run: Run) -> int:
    """What runs of one setting are ordered by; runs without a seed come first."""
    return -1 if run.config.seed is None else run.config.seed


def _estimates(runs: Sequence[Run], split: str, columns: Sequence[str]) -> dict[str, Estimate]:
    """The mean of each score over runs that all have it. A score that is null was never measured, for want of a query
    that counts."""
    estimates = {}
    for column in columns:
        values = [_values(run, split).get(column) for run in runs]
        measured = [value for value in values if value is not None]
        if len(measured) == len(runs):
            estimates[column] = Estimate.of(measured)
    return estimates


def _joined(*parts: str | None) -> str:
    """The parts that say something, with spaces between."""
    return " ".join(part for part in parts if part)


def _warnings(runs: Sequence[Run], split: str) -> str:
    """What a reader of the scores of these runs has to know."""
    told = []
    for run in runs:
        told += [f"{run.name}: {words}" for words in run.score_warnings(split)]
    return " ".join(told)


def _faults(runs: Sequence[Run]) -> str:
    """What is wrong with each of these runs, the likeliest cause alone; nothing where nothing is."""
    told = []
    for run in runs:
        faults = [one for one in lab.verdict.diagnose(run) if not one.note]
        if faults:
            told.append(f"Verdict of {run.name}, {faults[0].name}: {faults[0].sentence}")
    return " ".join(told)


def name_of_setting(one: dict[str, Any], others: Sequence[dict[str, Any]]) -> str:
    """The loss, and the knobs in which settings with the same loss on the same data differ."""
    loss = one["loss.name"]
    rivals = [
        other
        for other in others
        if other["loss.name"] == loss and other["data.name"] == one["data.name"]
    ]
    keys = dict.fromkeys(key for rival in rivals for key in rival)
    differing = []
    for key in keys:
        if key != PLACE and any(rival.get(key) != one.get(key) for rival in rivals):
            differing.append(key)
    if not differing:
        return loss
    lasts = [key.rpartition(".")[2] for key in differing]
    settings = []
    for key, last in zip(differing[:NAMED], lasts, strict=False):
        if key == "data.corrections" and key in one:
            settings.append(_facts.corrections_in_words(one[key]) or "uncorrected")
            continue
        alone = lasts.count(last) == 1 and last not in ("name", "on")  # clear without its section
        settings.append(f"{last if alone else key} {_value(one.get(key))}")
    if len(differing) > NAMED:
        settings.append("...")
    return f"{loss} ({', '.join(settings)})"


def _value(value: Any) -> str:
    """A value as config.yaml writes it, lists in brackets."""
    if isinstance(value, list | tuple):
        return "[" + " ".join(map(_value, value)) + "]"
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _published(
    measured: list[ReportLine], runs: Sequence[Run], columns: tuple[str, ...], any_loss: bool
) -> list[ReportLine]:
    losses = None if any_loss else {run.config.loss.name for run in runs}
    data = {line.facts.data for line in measured}
    tested = {line.data for line in measured}
    lines = []
    for row in lab.papers.tables.rows(data=data, loss=losses):
        part = _joined(row.data, row.part)
        scores = {
            column: Estimate.of([row.values[column]]) for column in columns if column in row.values
        }
        if scores and part in tested:
            spread = {column: value for column, value in row.spread.items() if column in scores}
            facts = _facts.of_row(row)
            lines.append(
                ReportLine(
                    row.method, part, facts, scores, row.told_source, note=row.note, spread=spread
                )
            )
    return lines
