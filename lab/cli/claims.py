"""Try the papers' claims on Emoji-7: a sweep of short trainings that can be stopped and resumed, and its report.

`lab claims list` names the studies; `lab claims run` makes what is missing, `--only STUDY ...` some of it;
`lab claims status` tells how far it is; `lab claims report` writes docs/claims.md from the results.
"""

from __future__ import annotations


def add_arguments(parser):
    from lab.cli._output import add_json

    parser.add_argument("action", choices=("list", "run", "status", "report"), help="what to do")
    parser.add_argument("--only", nargs="+", metavar="STUDY", default=(), help="these studies; all by default")
    parser.add_argument("--tier", choices=("head", "cnn"), help="head on frozen features, or the whole small CNN")
    parser.add_argument("--seeds", type=int, default=5, help="seeds of every setting (default 5)")
    parser.add_argument("--folder", metavar="FOLDER", help="folder of results (default those of the package)")
    parser.add_argument("--machine", metavar="WORDS", help="how the results describe this machine")
    parser.add_argument("--minutes", type=float, help="begin no further training after so long")
    parser.add_argument("--output", metavar="FILE", help="write the report here (default docs/claims.md in a checkout)")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    add_json(parser)


def run(arguments):
    from pathlib import Path

    from lab.trials import BUNDLED

    if arguments.seeds < 1:
        raise ValueError(f"--seeds must be at least 1, got {arguments.seeds}.")
    if arguments.minutes is not None and arguments.minutes <= 0:
        raise ValueError(f"--minutes must be above 0, got {arguments.minutes:g}.")
    folder = Path(arguments.folder) if arguments.folder else BUNDLED
    act = {"list": _list, "run": _run, "status": _status, "report": _report}[arguments.action]
    return act(arguments, folder)


def _list(arguments, folder):
    import lab.claims
    from lab.claims import wanted
    from lab.cli._output import show

    rows = []
    for name in wanted(arguments.only, arguments.tier):
        study = lab.claims.get(name)
        rows.append(
            {
                "study": name,
                "tier": study.tier,
                "source": study.source,
                "trainings": len(study.trainings(arguments.seeds)),
                "claims": len(study.claims),
                "title": study.title,
            }
        )
    show(rows, as_json=arguments.json)


def _status(arguments, folder):
    from lab.claims import state, wanted
    from lab.cli._output import show

    rows = [
        {"study": s.study, "done": s.done, "of": s.total, "diverged": s.failed, "CPU seconds": round(s.cpu, 1)}
        for s in state(wanted(arguments.only, arguments.tier), folder, arguments.seeds)
    ]
    show(rows, as_json=arguments.json)


def _run(arguments, folder):
    import os
    import platform

    from lab.claims import state, sweep, wanted
    from lab.cli._output import say

    machine = arguments.machine or f"{os.cpu_count()} {platform.machine()} cores"
    limit = None if arguments.minutes is None else 60 * arguments.minutes
    names = wanted(arguments.only, arguments.tier)
    for _ in _followed(sweep(names, folder, arguments.seeds, machine, limit), arguments.quiet):
        pass
    states = state(names, folder, arguments.seeds)
    done, total = sum(s.done for s in states), sum(s.total for s in states)
    rest = "" if done == total else "; the same command goes on"
    say(f"{done} of {total} trainings are in {folder}, {sum(s.cpu for s in states):.0f} CPU seconds in all{rest}.")


def _followed(records, quiet):
    """Show a bar with the time left on a terminal, a line every ten seconds elsewhere."""
    import sys

    if quiet:
        return records
    return _bars(records) if sys.stderr.isatty() else _lines(records)


def _bars(records):
    from lab.cli._output import bar

    with bar() as shown:
        tasks = {}
        for record in records:
            kind = type(record)
            if kind not in tasks:
                tasks[kind] = shown.add_task("", total=record.total)
            shown.update(tasks[kind], completed=record.done, total=record.total, description=_what(record))
            yield record


def _lines(records):
    import time

    from lab.cli._output import say
    from lab.cli._progress import duration

    last = 0.0
    for record in records:
        if time.monotonic() - last > 10 or record.done == record.total:
            last = time.monotonic()
            left = f"  left {duration(record.eta)}" if hasattr(record, "eta") else ""
            say(f"{record.done}/{record.total}  {_what(record)}{left}")
        yield record


def _what(record):
    return record.study if hasattr(record, "study") else f"embedding {record.what}"


def _report(arguments, folder):
    from pathlib import Path

    from lab.claims import report, wanted
    from lab.core.files import write_text

    target = Path(arguments.output) if arguments.output else Path(__file__).parents[2] / "docs" / "claims.md"
    if not target.parent.is_dir():
        raise ValueError(f"There is no folder {target.parent} to write the report into; give --output FILE.")
    write_text(target, report(wanted(arguments.only, arguments.tier), folder, arguments.seeds))
    print(target)
