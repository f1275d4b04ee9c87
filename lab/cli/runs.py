"""List the runs; show one; show in which knobs two differ; tag or group them; rank the knobs; or look for damage.

`lab runs` lists, `lab runs RUN` shows, `lab runs A B` compares. `lab runs tag TAG RUN ...` and `lab runs group GROUP
RUN ...` tag and group runs, with `--remove` undo it; `--tag` and `--group` then choose what is listed.
`lab runs knobs [RUN ...]` says how much each knob that differs tells about a score. `lab runs check [RUN ...]` reads
everything that lies in the folders and says what is damaged and what still works; with `--repair` it mends what can be
mended.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lab.cli._output import add_flags, complain, print_json, say, show
from lab.core.catalog import OUTSIDE

if TYPE_CHECKING:
    from lab.runs import Run


SCORES = ("r@1", "MAP@R")
"""Scores that the list shows unless others are named."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    actions = "none lists all, one is shown, two are compared; or tag, group, knobs or check, and what belongs to it"
    flag("run", nargs="*", help=actions)
    flag("--state", help="list only runs in this state: finished, running, failed, ...")
    flag("--loss", metavar="NAME", help="list only runs with this loss")
    flag("--data", metavar="NAME", help="list only runs on this data set")
    flag("--tag", metavar="TAG", help="list only runs with this tag")
    flag("--group", metavar="GROUP", help="list only runs of this group")
    flag("-n", "--last", type=int, metavar="N", help="list only the N newest")
    flag("--sort", metavar="COLUMN", help="order the list by a column, for instance r@1, the best first")
    scores = "scores to list (default r@1 MAP@R)"
    flag("--scores", nargs="+", metavar="NAME", default=SCORES, help=scores)
    flag("--remove", action="store_true", help="for tag and group: take the runs out of it")
    flag("--repair", action="store_true", help="for check: mend what can be; the rest is left as it is")
    add_flags(parser, "runs", "json")


def run(arguments: argparse.Namespace) -> int:
    import lab.runs

    verb = VERBS.get(arguments.run[0]) if arguments.run else None
    if arguments.repair and verb is not _check:
        raise ValueError("--repair belongs to `lab runs check RUN`.")
    if arguments.remove and verb is not _mark:
        raise ValueError("--remove belongs to `lab runs tag TAG RUN` and `lab runs group GROUP RUN`.")
    if verb is not None:
        return verb(arguments)
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
    if arguments.last is not None and arguments.last < 1:
        raise ValueError(f"--last must be at least 1, got {arguments.last}.")
    rows = [_row(run, arguments.scores) for run in runs]
    kept = [row for row in rows if _fits(row, arguments)]
    if arguments.sort:
        kept = _sorted(kept, arguments.sort, rows)
    kept = kept[: arguments.last]
    if not arguments.json:  # no columns of nothing
        unused = {key for key in ("group", "tags") if not any(row[key] for row in kept)}
        kept = [{key: value for key, value in row.items() if key not in unused} for row in kept]
    empty = "No run matches." if rows else "No runs yet: `lab demo` or `lab train` makes one."
    show(kept, as_json=arguments.json, empty=empty)


def _fits(row: dict, arguments: argparse.Namespace) -> bool:
    """Whether a run is among those that were asked for."""
    chosen = {key: getattr(arguments, key) for key in ("state", "loss", "data", "group") if getattr(arguments, key)}
    tagged = not arguments.tag or arguments.tag in row["tags"]
    return tagged and all(row[key] == value for key, value in chosen.items())


def _row(run: Run, columns: Sequence[str]) -> dict:
    """A run in the list; scores of the test images, or of the validation images where only those were measured."""
    from lab.runs import management

    status, config = run.status, _readable(run)
    of = next((split for split in ("test", "validation") if run.scores(split)), None)
    scores = (run.scores(of) or {}).get("values", {}) if of else {}
    remarks = management.notes(run)
    return {
        "run": run.name,
        "state": status["state"],
        "step": f"{status.get('step', 0)}/{status.get('steps', '?')}",
        "data": _name(config, "data"),
        "loss": _name(config, "loss"),
        **{column: scores.get(column) for column in columns},
        "split": of,
        "scores of": run.origin(of, "scores").words if of else None,
        "group": remarks["group"],
        "tags": remarks["tags"],
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


def _mark(arguments: argparse.Namespace) -> int:
    """Give several runs a tag or a group, or take it away; all are looked for before any is changed."""
    import lab.runs
    from lab.core.formats import counted
    from lab.runs import management

    words: list[str] = arguments.run
    verb = words[0]
    if len(words) < 3 or not words[1].strip():
        raise ValueError(f"Say which runs: lab runs {verb} {verb.upper()} RUN ...")
    word, runs = words[1].strip(), [lab.runs.open(name, arguments.runs) for name in words[2:]]
    if verb == "group":
        if arguments.remove:
            runs = [run for run in runs if management.notes(run)["group"] == word]
        for run in runs:
            management.annotate(run, group="" if arguments.remove else word)
        done = "left group" if arguments.remove else "put into group"
    else:
        for run in runs:
            others = [one for one in management.notes(run)["tags"] if one != word]
            management.annotate(run, tags=others if arguments.remove else [*others, word])
        done = "without the tag" if arguments.remove else "with the tag"
    say(f"{counted(len(runs), 'run')} {done} {word}.")
    return 0


def _knobs(arguments: argparse.Namespace) -> int:
    """How much each knob that differs tells about a score, the weightiest first."""
    import lab.runs
    from lab.report import knobs

    named = [lab.runs.open(name, arguments.runs) for name in arguments.run[1:]]
    score = arguments.scores[-1]
    rows = {run: _row(run, [score]) for run in named or lab.runs.list(arguments.runs)}
    runs = [run for run, row in rows.items() if _fits(row, arguments)]
    importance = knobs.importance(knobs.varying([_readable(run) for run in runs]), [rows[run][score] for run in runs])
    lines = [
        {"knob": ", ".join(one.knobs), "importance": one.share, "trend": one.trend}
        for one in (importance.weights if arguments.json or importance.explained > 0 else ())
    ]
    if arguments.json:
        print_json({"score": score, "runs": importance.runs, "explained": importance.explained, "knobs": lines})
        return 0
    say(knobs.in_words(importance, score))
    if lines:
        show(lines, as_json=False)
    return 0


def _check(arguments: argparse.Namespace) -> int:
    """Returns 1 where something is damaged still."""
    from pathlib import Path

    import lab.runs
    from lab.cli._progress import drain
    from lab.core.explain import explain
    from lab.core.formats import counted
    from lab.runs import check

    root = Path(arguments.runs or lab.runs.default_root())
    named = [lab.runs.open(name, arguments.runs) for name in arguments.run[1:]]
    runs = named or lab.runs.list(root)
    if arguments.repair:
        for run in runs:
            try:
                if check.check(run):
                    drain(check.repair(run))
            except (ValueError, OSError) as error:  # the other runs can still be mended
                complain(f"{run.name}: {explain(error)}")
        check.remove_half_made(root)
    rows = [
        {"run": run.name, "file": f.file, "found": f.sentence, "--repair": f.mend or "cannot mend it"}
        for run in runs
        for f in check.check(run)
    ]
    for folder in [] if named else check.half_made(root):
        rows.append({"run": folder.name, "file": "", "found": "was never completed.", "--repair": "it is removed"})
    show(rows, as_json=arguments.json, empty=f"{counted(len(runs), 'run')}, nothing is damaged.")
    return 1 if rows else 0


VERBS: dict[str, Callable[[argparse.Namespace], int]] = {
    "check": _check, "tag": _mark, "group": _mark, "knobs": _knobs,
}  # fmt: skip
"""First words that are no run's name."""


def _readable(run: Run) -> dict:
    """The run's configuration; empty where its file is damaged, so that one bad folder hides no other run."""
    try:
        return run.config_dict
    except (ValueError, OSError):
        return {}


def _one(run: Run, as_json: bool) -> None:
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

    different = lab.runs.difference(one.config, other.config)
    shown = {path: ["-" if value is None else str(value) for value in both] for path, both in different.items()}
    rows = [{"knob": path, one.name: mine, other.name: yours} for path, (mine, yours) in shown.items()]
    show(rows, as_json=as_json, empty=f"{one.name} and {other.name} have the same configuration.")


def _name(config: dict, section: str) -> str:
    """What a configuration chose in a section; of what was made elsewhere, what a person called it."""
    chosen = config.get(section)
    if isinstance(chosen, dict) and chosen.get("name") == OUTSIDE:
        return str(chosen.get("what") or "-")
    return str(chosen.get("name", "-") if isinstance(chosen, dict) else chosen or "-")
