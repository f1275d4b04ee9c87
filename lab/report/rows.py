"""Runs as rows of a table that can be filtered and averaged over seeds, and what papers published beside them."""

import datetime
import hashlib
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import numpy as np

import lab.papers.tables
import lab.report
from lab.core.catalog import OUTSIDE
from lab.data import SplitKnobs
from lab.runs import Run, management

FACTS = (
    "run", "state", "progress", "scores of", "queries", "measured on", "loss", "encoder", "data", "seed", "group",
    "tags", "note", "started",
)  # fmt: skip
TRAINED_ON = {*SplitKnobs.Knobs.model_fields} - {"split_seed", "folds", "fold", "corrections"}
"""Knobs of data sets that change what is trained on, and no query."""
UNLIKE = "≠ Different letters after the number of queries: measured on different images, so the scores do not compare."


def row(run: Run, config: dict[str, Any], names: dict[str, str], split: str) -> dict[str, Any]:
    """One line of the table. `names`: what the configuration chose in loss, encoder and data."""
    status = run.status
    remarks = management.notes(run)
    measured = run.scores(split) or {}
    scores = measured.get("values")
    steps = status.get("steps") or 0
    step = status.get("step") or 0
    try:
        started = datetime.datetime.fromtimestamp(run.meta["started"])
    except (KeyError, TypeError, ValueError, OverflowError, OSError):  # not there, or damaged
        started = None
    return {
        "run": run.name,
        "state": status["state"],
        "progress": min(1.0, step / steps) if steps > 0 else None,
        "scores of": run.origin(split, "scores").words if scores else None,
        "queries": measured.get("queries"),
        "measured on": query_set(config, split, measured) if scores else None,
        **names,
        "seed": _seed(config),
        **(scores or {}),
        "group": remarks["group"],
        "tags": remarks["tags"],
        "note": remarks["note"],
        "started": started,
    }


def _seed(config: Mapping[str, Any]) -> int | None:
    """The seed; None where the run was made elsewhere and nobody said."""
    loss = config.get("loss")
    if isinstance(loss, Mapping) and loss.get("name") == OUTSIDE and not loss.get("what"):
        return loss.get("seed")
    return (config.get("training") or {}).get("seed", 0)


def query_set(
    config: Mapping[str, Any], split: str, scores: Mapping[str, Any] | None = None
) -> str:
    """What `letters` compares: a few letters that are the same for runs which say that they are measured on the same
    images with the same labels, and after a stroke the digest of the images that they were measured on.

    Args:
        config: of the run, as it stands in its file. scores: of the split, which version 0.2 wrote without a digest.
    """
    scores = scores or {}
    stored = config.get("data") or {}
    data = dict(stored) if isinstance(stored, Mapping) else {"name": stored}
    # as version 0.2 called them
    data["corrections"] = data.pop("leave_out", None) or data.get("corrections")
    if data.get("name") == OUTSIDE and data.get("digest"):
        data.pop("what", None)  # a word for the same images
    # a table's name is made of its content, and a folder may be moved
    for name in (
        "root",
        "path",
        "corrections",
    ):
        data[name] = Path(str(data[name])).name if data.get(name) else None

    passed = set(TRAINED_ON)  # knobs that change no query
    if split == "test":
        passed |= {"folds", "fold", "validation"}
    told = []
    for name, value in data.items():
        if value is not None and name not in passed:
            told.append((name, str(value)))
    words = repr((sorted(told), split, scores.get("queries")))
    said = hashlib.blake2b(words.encode(), digest_size=6).hexdigest()
    return f"{said}/{scores['images']}" if scores.get("images") else said


def measured_alike(one: str, other: str) -> bool:
    """Whether two runs were measured on the same images, by their `query_set`: if their configurations say so, and the
    digests of the images, where both have one, do not say otherwise."""
    said, _, images = one.partition("/")
    other_said, _, other_images = other.partition("/")
    if said != other_said:
        return False
    return images == other_images or not images or not other_images


def letters(sets: Sequence[str | None]) -> list[str]:
    """A letter for each run by its `query_set`, where there are several; nothing for runs without one, or alike ones.

    Example:
        >>> from lab.report.rows import letters
        >>> letters(["x", None, "y", "x"]), letters(["x", "x"])
        (['A', '', 'B', 'A'], ['', ''])
    """
    groups: list[list[str]] = []
    group_of: dict[str, int] = {}
    for one in dict.fromkeys(filter(None, sets)):
        alike = [
            at
            for at, group in enumerate(groups)
            if all(measured_alike(one, other) for other in group)
        ]
        if alike:
            at = alike[0]
        else:
            at = len(groups)
            groups.append([])
        groups[at].append(one)
        group_of[one] = at
    if len(groups) < 2:
        return [""] * len(sets)
    # A to Z, AA to ZZ
    names = [ascii_uppercase[at % 26] * (1 + at // 26) for at in range(len(groups))]
    return [names[group_of[one]] if one else "" for one in sets]


def lettered(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows whose number of queries bears a letter where not all were measured on the same images; see `UNLIKE`."""
    signs = letters([one["measured on"] for one in rows])
    signed = []
    for one, sign in zip(rows, signs, strict=True):
        count = "" if one["queries"] is None else f"{one['queries']:,}"
        signed.append({**one, "queries": f"{count} {sign}".strip()})
    return signed


def columns(rows: Iterable[dict[str, Any]]) -> list[str]:
    """The score columns of some rows, in the order they came."""
    names = [name for one in rows for name in one]
    return [name for name in dict.fromkeys(names) if name not in FACTS]


def shown(scores: Sequence[str]) -> list[str]:
    """Every column but the name, in the order in which people read them."""
    return [
        "state",
        "progress",
        "loss",
        *scores,
        "queries",
        "scores of",
        *FACTS[FACTS.index("encoder") :],
    ]


NEWEST = "newest first"


def ordered(rows: Sequence[dict[str, Any]], by: str) -> list[dict[str, Any]]:
    """Rows newest first, as they come; by a fact from a to z; or by a score, highest first and those without last."""
    if by == NEWEST:
        return list(rows)
    if by in FACTS:
        return sorted(rows, key=lambda one: str(one[by]))
    measured = [one for one in rows if one.get(by) is not None]
    others = [one for one in rows if one.get(by) is None]
    measured.sort(key=lambda one: -one[by])
    return measured + others


COMPARED = re.compile(r"([^\s<>=]+)(<=|>=|<|>)(-?\d*\.?\d+)")
ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def matches(one: dict[str, Any], words: str) -> bool:
    """Whether every word stands somewhere in a row's facts, and every comparison (`r@1>0.5`) holds for its columns."""
    text = " ".join(str(one.get(name, "")) for name in FACTS).lower()
    values = {
        column.lower(): value for column, value in one.items() if isinstance(value, int | float)
    }
    for word in words.lower().split():
        comparison = COMPARED.fullmatch(word)
        if comparison is None:
            holds = word in text
        else:
            name, order, limit = comparison.groups()
            holds = name in values and ORDER[order](values[name], float(limit))
        if not holds:
            return False
    return True


def unknown_columns(rows: Iterable[dict[str, Any]], words: str) -> list[str]:
    """The columns that a filter compares and that no row has."""
    known = {column.lower() for one in rows for column in one}
    unknown = []
    for word in words.lower().split():
        comparison = COMPARED.fullmatch(word)
        if comparison and comparison[1] not in known:
            unknown.append(comparison[1])
    return unknown


def over_seeds(runs: Sequence[Run], rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean and standard deviation of the scores of runs that differ in nothing but their seed.

    The deviation is that of a sample (n - 1); groups of one run have none.
    """
    lines = []
    for members in lab.report.together([lab.report.setting(run) for run in runs]):
        mine = [rows[member] for member in members]
        line: dict[str, Any] = {name: mine[0][name] for name in ("loss", "encoder", "data")}
        line["runs"] = len(mine)
        line["seeds"] = sorted(one["seed"] for one in mine if one["seed"] is not None)
        for name in columns(mine):
            values = [one[name] for one in mine if one.get(name) is not None]
            line[name] = float(np.mean(values))
            line[f"{name} ±"] = float(np.std(values, ddof=1)) if len(values) > 1 else None
        lines.append(line)
    return lines


def published(data: Iterable[str]) -> list[dict[str, Any]]:
    """What papers report on these data sets, as shares like our own scores; never measured here.

    `measured` says which numbers were searched or measured otherwise, as the letters of `lab runs report` do; `COLUMN
    sd` is the standard deviation over the paper's trials.
    """
    lines = []
    for one in lab.papers.tables.rows(data=set(data)):
        scores: dict[str, float] = {}
        for column, score in one.values.items():
            scores[column] = score
            if column in one.spread:
                scores[f"{column} sd"] = one.spread[column]
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
