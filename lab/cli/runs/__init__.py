"""List the runs, show or compare them; watch, stop, tag, report.

`lab runs` lists, `lab runs RUN` shows, `lab runs A B` says in which knobs two differ. A run that is called like a verb
is named by its folder: `lab runs runs/check`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.cli._output import add_flags, print_json, say, show, visible_lines
from lab.core.catalog import OUTSIDE
from lab.core.files import read_small

if TYPE_CHECKING:
    from lab.runs import Run

HEADING, PLACE = "Look up and keep in order", 41


SCORES = ("r@1", "MAP@R")
"""Scores that the list shows unless others are named."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    flag("run", nargs="*", help="none lists all, one is shown, two are compared")
    add_filters(parser)
    flag("-n", "--last", type=int, metavar="N", help="list only the N newest")
    flag("--sort", metavar="COLUMN", help="order the list by a column, for instance r@1, the best first")
    flag("--scores", nargs="+", metavar="NAME", default=SCORES, help="scores to list (default r@1 MAP@R)")
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
        raise ValueError(f"{', '.join(given)} is for the list of all runs; leave out {' and '.join(arguments.run)}.")
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
    kept = chosen = kept[: arguments.last]
    if not arguments.json:  # no columns of nothing
        kept = tables.lettered(kept)
        unused = {key for key in ("group", "tags") if not any(row[key] for row in kept)} | {"measured on"}
        kept = [{key: value for key, value in row.items() if key not in unused} for row in kept]
    empty = "No run matches." if rows else "No runs yet: `lab demo` or `lab train` makes one."
    show(kept, as_json=arguments.json, empty=empty)
    if not arguments.json and any(tables.letters([row["measured on"] for row in chosen])):
        say(tables.UNLIKE)
    if not arguments.json and (sentence := Queue(default_root(arguments.runs)).sentence):
        say(sentence)


def _check_scores(runs: Sequence[Run], rows: list[dict], columns: Sequence[str]) -> None:
    """Refuse the name of a score that no run has.

    Raises:
        ValueError: lists those that there are.
    """
    for column in columns:
        if rows and all(row[column] is None for row in rows):
            known = [
                name for run in runs for split in run.splits for name in (run.scores(split) or {}).get("values", ())
            ]
            raise ValueError(f"No run has a score {column!r}; there are {', '.join(dict.fromkeys(known)) or 'none'}.")


def _sorted(rows: list[dict], column: str, every: list[dict]) -> list[dict]:
    """By falling numbers or rising names; rows without a value last."""
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
        facts = {"run": str(run.path), "status": status, "config": run.config_dict, "meta": run.meta, "scores": scores}
        print_json(facts)
        return
    from lab.launchers.background.queue import Queue

    _ = run.config_dict  # which refuses a damaged file in a sentence
    print(visible_lines(read_small(run.file("config.yaml")).decode(errors="replace")) + "\n")
    show([{"": k, "value": str(v)} for k, v in status.items() if k != "scores"], as_json=False)
    if rows := rows_of(run):
        show(rows, as_json=False)
    warn(run)
    if run.name in (queue := Queue(run.path.parent)).names and (sentence := queue.sentence):
        say(sentence)


def _difference(one: Run, other: Run, as_json: bool) -> None:
    import lab.runs

    different = lab.runs.difference(one.config, other.config)
    shown = {path: ["-" if value is None else str(value) for value in both] for path, both in different.items()}
    rows = [{"knob": path, one.name: mine, other.name: yours} for path, (mine, yours) in shown.items()]
    show(rows, as_json=as_json, empty=f"{one.name} and {other.name} have the same configuration.")


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
        "measured on": query_set(config, of, measured) if of else None,
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
        return str(chosen.get("what") or chosen.get("method") or "-")
    return str(chosen.get("name", "-") if isinstance(chosen, dict) else chosen or "-")
