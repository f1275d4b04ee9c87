"""Runs as rows of a table that can be filtered and averaged over seeds, and what papers published beside them."""

from __future__ import annotations

import datetime
import operator
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import lab.papers.tables
import lab.report
from lab.runs import Run, management

FACTS = ("run", "state", "progress", "scores of", "loss", "encoder", "data", "seed", "group", "tags", "note", "started")


def row(run: Run, config: dict[str, Any], names: dict[str, str], split: str) -> dict[str, Any]:
    """One line of the table. `names`: what the configuration chose in loss, encoder and data."""
    status, remarks, scores = run.status, management.notes(run), (run.scores(split) or {}).get("values")
    steps = status.get("steps") or 0
    try:
        started = datetime.datetime.fromtimestamp(run.meta["started"])
    except (KeyError, TypeError, ValueError, OverflowError, OSError):  # not there, or damaged
        started = None
    return {
        "run": run.name,
        "state": status["state"],
        "progress": min(1.0, (status.get("step") or 0) / steps) if steps > 0 else None,
        "scores of": run.origin(split, "scores").words if scores else None,
        **names,
        "seed": (config.get("training") or {}).get("seed", 0),
        **(scores or {}),
        **{name: remarks[name] for name in ("group", "tags", "note")},
        "started": started,
    }


def columns(rows: Iterable[dict[str, Any]]) -> list[str]:
    """The score columns of some rows, in the order they came."""
    return list(dict.fromkeys(name for one in rows for name in one if name not in FACTS))


def shown(scores: Sequence[str]) -> list[str]:
    """Every column but the name, in the order in which people read them."""
    return ["state", "progress", "loss", *scores, "scores of", *FACTS[FACTS.index("encoder") :]]


NEWEST = "newest first"


def ordered(rows: Sequence[dict[str, Any]], by: str) -> list[dict[str, Any]]:
    """Rows newest first, as they come; by a fact from a to z; or by a score, highest first and those without last."""
    if by == NEWEST:
        return list(rows)
    if by in FACTS:
        return sorted(rows, key=lambda one: str(one[by]))
    return sorted(rows, key=lambda one: (one.get(by) is None, -(one.get(by) or 0)))


COMPARED = re.compile(r"([^\s<>=]+)(<=|>=|<|>)(-?[\d.]+)")
ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def matches(one: dict[str, Any], words: str) -> bool:
    """Whether every word stands somewhere in a row's facts, and every comparison (`r@1>0.5`) holds for its columns."""
    text = " ".join(str(one.get(name, "")) for name in FACTS).lower()
    values = {column.lower(): value for column, value in one.items() if isinstance(value, int | float)}

    def holds(name: str, order: str, limit: str) -> bool:
        try:
            return name in values and ORDER[order](values[name], float(limit))
        except ValueError:  # 0.1.2
            return False

    each = ((word, COMPARED.fullmatch(word)) for word in words.lower().split())
    return all(holds(*comparison.groups()) if comparison else word in text for word, comparison in each)


def unknown_columns(rows: Iterable[dict[str, Any]], words: str) -> list[str]:
    """The columns that a filter compares and that no row has."""
    known = {column.lower() for one in rows for column in one}
    compared = (COMPARED.fullmatch(word) for word in words.lower().split())
    return [comparison[1] for comparison in compared if comparison and comparison[1] not in known]


def over_seeds(runs: Sequence[Run], rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean and standard deviation of the scores of runs that differ in nothing but their seed.

    The deviation is that of a sample (n - 1); groups of one run have none.
    """
    lines = []
    for members in _together(runs):
        first = rows[members[0]]
        line = {name: first[name] for name in ("loss", "encoder", "data")}
        line |= {"runs": len(members), "seeds": sorted(rows[m]["seed"] for m in members)}
        for name in columns(rows[m] for m in members):
            values = [rows[m][name] for m in members if rows[m].get(name) is not None]
            line[name] = float(np.mean(values))
            line[f"{name} ±"] = float(np.std(values, ddof=1)) if len(values) > 1 else None
        lines.append(line)
    return lines


def seed_groups(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs that differ in nothing but their seed together."""
    return [[runs[at] for at in members] for members in _together(runs)]


def _together(runs: Sequence[Run]) -> list[list[int]]:
    return lab.report.together([lab.report.setting(run.config) for run in runs])


def published(data: Iterable[str]) -> list[dict[str, Any]]:
    """What papers report on these data sets, as shares like our own scores; never measured here.

    `measured` says which numbers were searched or measured otherwise, as the letters of `lab report` do; `COLUMN sd` is
    the standard deviation over the paper's trials.
    """
    lines = []
    for one in lab.papers.tables.rows(data=set(data)):
        scores: dict[str, float] = {}
        for column, score in one.values.items():
            scores |= {column: score} | ({f"{column} sd": one.spread[column]} if column in one.spread else {})
        line = {
            "data": " ".join(filter(None, (one.data, one.part))),
            "method": one.method,
            "loss": one.loss,
            "backbone": one.encoder,
            "dim": one.dim,
            "source": one.told_source,
            "measured": one.measured,
            "note": one.note,
            **scores,
            "command": one.command,
        }
        lines.append(line)
    return lines
