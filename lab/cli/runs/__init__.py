"""List the runs, show or compare them; watch, stop, tag, report.

`lab runs` lists, `lab runs RUN` shows, `lab runs A B` says in which knobs two differ. A run that is called like a verb
is named by its folder: `lab runs runs/check`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.cli._output import add_flags, print_json, say, show, visible_lines
from lab.cli._scores import values_of
from lab.core.catalog import OUTSIDE
from lab.core.files import read_small

if TYPE_CHECKING:
    from lab.runs import Run

HEADING = "Look up and keep in order"
PLACE = 41


SCORES = ("r@1", "MAP@R")
"""Scores that the list shows unless others are named."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    flag("run", nargs="*", help="none lists all, one is shown, two are compared")
    add_filters(parser)
    flag("-n", "--last", type=int, metavar="N", help="list only the N newest")
    flag(
        "--sort",
        metavar="COLUMN",
        help="order the list by a column, for instance r@1, the best first",
    )
    flag(
        "--scores",
        nargs="+",
        metavar="NAME",
        default=SCORES,
        help="scores to list (default r@1 MAP@R)",
    )
    add_flags(parser, "runs", "json")


def run(arguments: argparse.Namespace) -> None:
    import lab.runs

    if len(arguments.run) > 2:
        raise ValueError(f"Give at most two runs, got {len(arguments.run)}.")
    of_list = ("state", "loss", "data", "tag", "group", "last", "sort")
    given = [f"--{name}" for name in of_list if getattr(arguments, name) is not None]
    if arguments.scores is not SCORES:
        given.append("--scores")
    if arguments.run and given:
        raise ValueError(
            f"{', '.join(given)} is for the list of all runs; leave out {' and '.join(arguments.run)}."
        )
    runs = [lab.runs.open(name, arguments.runs) for name in arguments.run]
    if len(runs) == 2:
        _difference(runs[0], runs[1], arguments.json)
    elif runs:
        _one(runs[0], arguments.json)
    else:
        _all(lab.runs.list(arguments.runs), arguments)


def _all(runs: Sequence[Run], arguments: argparse.Namespace) -> None:
    from lab.launchers.background.queue import Queue
    from lab.report import rows as tables
    from lab.runs.store import default_root

    if arguments.last is not None and arguments.last < 1:
        raise ValueError(f"--last must be at least 1, got {arguments.last}.")
    rows = [row_of(run, arguments.scores) for run in runs]
    if arguments.scores is not SCORES:
        _check_scores(runs, rows, arguments.scores)
    kept = [row for row in rows if fits(row, arguments)]
    if arguments.sort:
        kept = _sorted(kept, arguments.sort, rows)
    chosen = kept[: arguments.last]
    empty = "No run matches." if rows else "No runs yet: `lab demo` or `lab train` makes one."
    if arguments.json:
        show(chosen, as_json=True, empty=empty)
        return
    # Letters tell which runs were measured on the same queries; columns without a value are hidden.
    shown = tables.lettered(chosen)
    hidden = {"measured on"}
    for key in ("group", "tags"):
        if not any(row[key] for row in shown):  # a column without any value
            hidden.add(key)
    shown = [{key: value for key, value in row.items() if key not in hidden} for row in shown]
    show(shown, as_json=False, empty=empty)
    if any(tables.letters([row["measured on"] for row in chosen])):
        say(tables.UNLIKE)
    sentence = Queue(default_root(arguments.runs)).sentence
    if sentence:
        say(sentence)


def _check_scores(runs: Sequence[Run], rows: list[dict], columns: Sequence[str]) -> None:
    """Refuse the name of a score that no run has.

    Raises:
        ValueError: lists those that there are.
    """
    for column in columns:
        if rows and all(row[column] is None for row in rows):
            measured: dict[str, None] = {}
            for run in runs:
                for values in values_of(run).values():
                    measured |= dict.fromkeys(values)
            raise ValueError(
                f"No run has a score {column!r}; there are {', '.join(measured) or 'none'}."
            )


def _sorted(rows: list[dict], column: str, every: list[dict]) -> list[dict]:
    """Sort by falling numbers or rising names; rows without a value come last."""
    if every and column not in every[0]:
        raise ValueError(
            f"There is no column {column!r} to sort by; there are {', '.join(every[0])}; see also --scores."
        )
    with_value = [row for row in rows if row[column] is not None]
    numbers = all(isinstance(row[column], int | float) for row in with_value)
    ordered = sorted(with_value, key=lambda row: row[column], reverse=numbers)
    return [*ordered, *(row for row in rows if row[column] is None)]


def _one(run: Run, as_json: bool) -> None:
    from lab.cli._scores import rows_of, warn

    status = run.status
    if as_json:
        scores = {split: run.scores(split) for split in run.splits}
        facts = {
            "run": str(run.path),
            "status": status,
            "config": run.config_dict,
            "meta": run.meta,
            "scores": scores,
        }
        print_json(facts)
        return
    _ = run.config_dict  # which refuses a damaged file in a sentence
    print(visible_lines(read_small(run.file("config.yaml")).decode(errors="replace")) + "\n")
    show(
        [{"": key, "value": str(value)} for key, value in status.items() if key != "scores"],
        as_json=False,
    )
    rows = rows_of(run)
    if rows:
        show(rows, as_json=False)
    warn(run)
    say_if_queued(run)


def say_if_queued(run: Run) -> None:
    """Print why the queue does not start a run that waits in it, if there is a reason."""
    from lab.launchers.background.queue import Queue

    queue = Queue(run.path.parent)
    if run.name in queue.names and queue.sentence:
        say(queue.sentence)


def _difference(first: Run, second: Run, as_json: bool) -> None:
    import lab.runs

    rows = []
    for path, values in lab.runs.difference(first.config, second.config).items():
        words = ["-" if value is None else str(value) for value in values]
        rows.append({"knob": path, first.name: words[0], second.name: words[1]})
    show(
        rows, as_json=as_json, empty=f"{first.name} and {second.name} have the same configuration."
    )


def add_filters(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    flag("--state", help="only runs in this state: finished, running, failed, ...")
    flag("--loss", metavar="NAME", help="only runs with this loss")
    flag("--data", metavar="NAME", help="only runs on this data set")
    flag("--tag", metavar="TAG", help="only runs with this tag")
    flag("--group", metavar="GROUP", help="only runs of this group")


def fits(row: dict, arguments: argparse.Namespace) -> bool:
    """Return whether a run is among those that the filters choose."""
    for key in ("state", "loss", "data", "group"):
        if getattr(arguments, key) and row[key] != getattr(arguments, key):
            return False
    return not arguments.tag or arguments.tag in row["tags"]


def row_of(run: Run, columns: Sequence[str]) -> dict:
    """Return a run's row in the list; scores of test images, or of validation images if only those were measured."""
    from lab.report.rows import query_set
    from lab.runs import management

    status = run.status
    config = readable(run)
    step = str(status.get("step", 0))
    if status.get("steps"):
        step += f"/{status['steps']}"
    # Scores, and of which images they are.
    split = next((split for split in ("test", "validation") if run.scores(split)), None)
    measured: dict = {}
    measured_on = None
    scores_of = None
    if split:
        measured = run.scores(split) or {}
        measured_on = query_set(config, split, measured)
        scores_of = run.origin(split, "scores").words
    scores = measured.get("values", {})
    remarks = management.notes(run)
    return {
        "run": run.name,
        "state": status["state"],
        "step": step,
        "data": _name(config, "data"),
        "loss": _name(config, "loss"),
        **{column: scores.get(column) for column in columns},
        "split": split,
        "queries": measured.get("queries"),
        "measured on": measured_on,
        "scores of": scores_of,
        "group": remarks["group"],
        "tags": remarks["tags"],
    }


def readable(run: Run) -> dict:
    """Return the run's configuration; empty if its file is damaged, so that one bad folder hides no other run."""
    try:
        return run.config_dict
    except (ValueError, OSError):
        return {}


def _name(config: dict, section: str) -> str:
    """Return what a configuration chose in a section; for external data or losses, the name that a person gave it."""
    chosen = config.get(section)
    if not isinstance(chosen, dict):
        return str(chosen or "-")
    if chosen.get("name") == OUTSIDE:
        return str(chosen.get("what") or chosen.get("method") or "-")
    return str(chosen.get("name", "-"))
