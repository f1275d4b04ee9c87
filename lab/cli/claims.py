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

    folder = Path(arguments.folder) if arguments.folder else BUNDLED
    return {"list": _list, "run": _run, "status": _status, "report": _report}[arguments.action](arguments, folder)


def _list(arguments, folder):
    import lab.claims
    from lab.claims._sweep import wanted
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
    from lab.claims._sweep import state, wanted
    from lab.cli._output import show

    rows = [
        {
            "study": s.study,
            "done": s.done,
            "of": s.total,
            "diverged": s.failed,
            "CPU seconds": round(s.cpu, 1),
        }
        for s in state(wanted(arguments.only, arguments.tier), folder, arguments.seeds)
    ]
    show(rows, as_json=arguments.json)


def _run(arguments, folder):
    import platform

    from lab.claims._sweep import sweep, wanted
    from lab.cli._output import say

    import os  # isort: skip

    machine = arguments.machine or f"{os.cpu_count()} {platform.machine()} cores"
    limit = None if arguments.minutes is None else 60 * arguments.minutes
    names = wanted(arguments.only, arguments.tier)
    done = total = 0
    for record in _followed(sweep(names, folder, arguments.seeds, machine, limit), arguments.quiet):
        done, total = getattr(record, "done", done), getattr(record, "total", total)
    _status_line(names, folder, arguments.seeds, say)


def _status_line(names, folder, seeds, say):
    from lab.claims._sweep import state

    states = state(names, folder, seeds)
    done, total = sum(s.done for s in states), sum(s.total for s in states)
    rest = "" if done == total else "; the same command goes on"
    say(f"{done} of {total} trainings are in {folder}, {sum(s.cpu for s in states):.0f} CPU seconds in all{rest}.")


def _followed(records, quiet):
    """Show a bar with the time left on a terminal, a line every ten seconds elsewhere."""
    import sys
    import time

    from lab.cli._output import bar, say
    from lab.cli._progress import duration

    if quiet:
        yield from records
        return
    if sys.stderr.isatty():
        with bar() as shown:
            tasks = {}
            for record in records:
                what = f"{record.study}" if hasattr(record, "study") else f"embedding {record.what}"
                group = "sweep" if hasattr(record, "study") else "features"
                if group not in tasks:
                    tasks[group] = shown.add_task(what, total=record.total)
                shown.update(tasks[group], completed=record.done, total=record.total, description=what)
                yield record
        return
    last = 0.0
    for record in records:
        if time.monotonic() - last > 10 or record.done == record.total:
            last = time.monotonic()
            if hasattr(record, "study"):
                say(f"{record.done}/{record.total}  {record.study}  left {duration(record.eta)}")
            else:
                say(f"embedding {record.what} {record.done}/{record.total}")
        yield record


def _report(arguments, folder):
    from pathlib import Path

    from lab.claims._report import report
    from lab.claims._sweep import wanted
    from lab.training.files import write_text

    text = report(wanted(arguments.only, arguments.tier), folder, arguments.seeds)
    target = Path(arguments.output) if arguments.output else Path(__file__).parents[2] / "docs" / "claims.md"
    if not target.parent.is_dir():
        raise ValueError(f"There is no folder {target.parent} to write the report into; give --output FILE.")
    write_text(target, text)
    print(target)
