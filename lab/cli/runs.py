"""List the runs; show one; show in which knobs two differ; or look for damage.

`lab runs` lists, `lab runs RUN` shows, `lab runs A B` compares. `lab runs check [RUN ...]` reads everything that lies
in the folders and says what is damaged and what still works; with `--repair` it mends what can be mended,
with `--accept` it takes files that you edited by hand as they stand.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.runs import Run


SCORES = ("r@1", "MAP@R")
"""Scores that the list shows unless others are named."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from lab.cli._output import add_json

    parser.add_argument(
        "run", nargs="*", help="nothing lists all; one run is shown, two are compared; check looks for damage"
    )
    parser.add_argument("--state", help="list only runs in this state: finished, running, failed, ...")
    parser.add_argument("--loss", metavar="NAME", help="list only runs with this loss")
    parser.add_argument("--data", metavar="NAME", help="list only runs on this data set")
    parser.add_argument("-n", "--last", type=int, metavar="N", help="list only the N newest")
    parser.add_argument("--sort", metavar="COLUMN", help="order the list by a column, for instance r@1, the best first")
    parser.add_argument(
        "--scores", nargs="+", metavar="NAME", default=SCORES, help="scores to list (default r@1 MAP@R)"
    )
    parser.add_argument("--repair", action="store_true", help="for check: mend what can be; the rest is left as it is")
    parser.add_argument("--accept", action="store_true", help="for check: take files edited by hand as they stand")
    parser.add_argument("--runs", metavar="FOLDER", help="folder of runs (default $LAB_RUNS, else runs)")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    import lab.runs

    if arguments.run[:1] == ["check"]:
        _say_of_a_run_called_check(arguments)
        return _check(arguments)
    if arguments.repair or arguments.accept:
        raise ValueError("--repair and --accept belong to `lab runs check RUN`.")
    if len(arguments.run) > 2:
        raise ValueError(f"Give at most two runs, got {len(arguments.run)}.")
    runs = [lab.runs.open(name, arguments.runs) for name in arguments.run]
    if len(runs) == 2:
        _difference(runs[0], runs[1], arguments.json)
    elif runs:
        _one(runs[0], arguments.json)
    else:
        _all(lab.runs.list(arguments.runs), arguments)
    return 0


def _all(runs: Sequence[Run], arguments: argparse.Namespace) -> None:
    from lab.cli._output import show

    if arguments.last is not None and arguments.last < 1:
        raise ValueError(f"--last must be at least 1, got {arguments.last}.")
    rows = [_row(run, arguments.scores) for run in runs]
    wanted = {key: getattr(arguments, key) for key in ("state", "loss", "data") if getattr(arguments, key)}
    kept = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    if arguments.sort:
        kept = _sorted(kept, arguments.sort, rows)
    empty = "No run fits." if rows else "No runs yet: `lab demo` or `lab train` makes one."
    show(kept[: arguments.last], as_json=arguments.json, empty=empty)


def _row(run: Run, columns: Sequence[str]) -> dict:
    """A run in the list; scores of the test images, or of the validation images where only those were measured."""
    status, config = run.status, _readable(run)
    of = next((split for split in ("test", "validation") if run.scores(split)), None)
    scores = (run.scores(of) or {}).get("values", {}) if of else {}
    return {
        "run": run.name,
        "state": status["state"],
        "step": f"{status.get('step', 0)}/{status.get('steps', '?')}",
        "data": _name(config, "data"),
        "loss": _name(config, "loss"),
        **{column: scores.get(column) for column in columns},
        "split": of,
        "scores of": run.origin(of, "scores").words if of else None,
    }


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


def _check(arguments: argparse.Namespace) -> int:
    """Returns 1 where something is damaged still."""
    from pathlib import Path

    import lab.runs
    from lab.cli._output import show
    from lab.runs import check

    root = Path(arguments.runs or lab.runs.default_root())
    named = [lab.runs.open(name, arguments.runs) for name in arguments.run[1:]]
    runs = named or lab.runs.list(root)
    for run in runs:
        _mend(run, arguments)
    if arguments.repair:
        check.remove_half_made(root)
    rows = [
        {"run": run.name, "file": f.file, "found": f.sentence, "--repair": f.mend or "cannot mend it"}
        for run in runs
        for f in check.check(run)
    ]
    for folder in [] if named else check.half_made(root):
        rows.append({"run": folder.name, "file": "", "found": "was never completed.", "--repair": "it is removed"})
    show(rows, as_json=arguments.json, empty=f"{len(runs)} runs, nothing is damaged.")
    return 1 if rows else 0


def _say_of_a_run_called_check(arguments: argparse.Namespace) -> None:
    from pathlib import Path

    import lab.runs
    from lab.cli._output import say

    folder = Path(arguments.runs or lab.runs.default_root()) / "check"
    if folder.is_dir():
        say(f"This looks for damage. The run of that name is shown by its folder: lab runs {folder}")


def _mend(run: Run, arguments: argparse.Namespace) -> None:
    """Take changes by hand as they stand, and repair the rest, as far as it is asked for."""
    from lab.cli._output import complain, say
    from lab.cli._progress import drain
    from lab.core.explain import explain
    from lab.runs import check

    try:
        if arguments.accept and (names := check.accept(run)):
            say(f"{run.name}: accepted as found: {', '.join(names)}.")
        if arguments.repair and check.check(run):
            drain(check.repair(run))
    except (ValueError, OSError) as error:  # the other runs can still be mended
        complain(f"{run.name}: {explain(error)}")


def _readable(run: Run) -> dict:
    """The run's configuration; empty where its file is damaged, so that one bad folder hides no other run."""
    try:
        return run.config_dict
    except (ValueError, OSError):
        return {}


def _one(run: Run, as_json: bool) -> None:
    from lab.cli._output import print_json, show
    from lab.cli._scores import rows_of

    status = run.status
    if as_json:
        scores = {split: run.scores(split) for split in run.splits}
        facts = {"run": str(run.path), "status": status, "config": run.config_dict, "meta": run.meta, "scores": scores}
        print_json(facts)
        return
    print((run.path / "config.yaml").read_text(encoding="utf-8"))
    show([{"": k, "value": str(v)} for k, v in status.items() if k != "scores"], as_json=False)
    if rows := rows_of(run):
        show(rows, as_json=False)


def _difference(one: Run, other: Run, as_json: bool) -> None:
    import lab.runs
    from lab.cli._output import show

    different = lab.runs.difference(one.config, other.config)
    rows = [{"knob": path, one.name: _shown(a), other.name: _shown(b)} for path, (a, b) in different.items()]
    show(rows, as_json=as_json, empty=f"{one.name} and {other.name} have the same configuration.")


def _name(config: dict, section: str) -> str:
    chosen = config.get(section)
    return str(chosen.get("name", "-") if isinstance(chosen, dict) else chosen or "-")


def _shown(value: Any) -> str:
    return "-" if value is None else str(value)
