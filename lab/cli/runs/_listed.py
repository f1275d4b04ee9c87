"""Runs as rows of a list, and which of them were asked for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.core.catalog import OUTSIDE

if TYPE_CHECKING:
    from lab.runs import Run

SCORES = ("r@1", "MAP@R")
"""Scores that the list shows unless others are named."""


def add_filters(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    flag("--state", help="only runs in this state: finished, running, failed, ...")
    flag("--loss", metavar="NAME", help="only runs with this loss")
    flag("--data", metavar="NAME", help="only runs on this data set")
    flag("--tag", metavar="TAG", help="only runs with this tag")
    flag("--group", metavar="GROUP", help="only runs of this group")


def fits(row: dict, arguments: argparse.Namespace) -> bool:
    """Whether a run is among those that were asked for."""
    chosen = {key: getattr(arguments, key) for key in ("state", "loss", "data", "group") if getattr(arguments, key)}
    tagged = not arguments.tag or arguments.tag in row["tags"]
    return tagged and all(row[key] == value for key, value in chosen.items())


def row_of(run: Run, columns: Sequence[str]) -> dict:
    """A run in the list; scores of the test images, or of the validation images where only those were measured."""
    from lab.report.rows import query_set
    from lab.runs import management

    status, config = run.status, readable(run)
    of = next((split for split in ("test", "validation") if run.scores(split)), None)
    measured = (run.scores(of) or {}) if of else {}
    scores = measured.get("values", {})
    remarks = management.notes(run)
    return {
        "run": run.name,
        "state": status["state"],
        "step": f"{status.get('step', 0)}/{status['steps']}" if status.get("steps") else str(status.get("step", 0)),
        "data": _name(config, "data"),
        "loss": _name(config, "loss"),
        **{column: scores.get(column) for column in columns},
        "split": of,
        "queries": measured.get("queries"),
        "measured on": query_set(config, of, measured.get("queries")) if of else None,
        "scores of": run.origin(of, "scores").words if of else None,
        "group": remarks["group"],
        "tags": remarks["tags"],
    }


def readable(run: Run) -> dict:
    """The run's configuration; empty where its file is damaged, so that one bad folder hides no other run."""
    try:
        return run.config_dict
    except (ValueError, OSError):
        return {}


def _name(config: dict, section: str) -> str:
    """What a configuration chose in a section; of what was made elsewhere, what a person called it."""
    chosen = config.get(section)
    if isinstance(chosen, dict) and chosen.get("name") == OUTSIDE:
        return str(chosen.get("what") or "-")
    return str(chosen.get("name", "-") if isinstance(chosen, dict) else chosen or "-")
