"""Move runs to the trash, bring them back, or empty it.

`lab runs trash RUN ...` moves runs to the trash of their folder; `lab runs trash` lists it; with `--restore RUN ...`
they come back; `--empty` deletes all that lies in it.
"""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags, say, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    flag("run", nargs="*", help="names or folders of the runs; nothing lists the trash")
    flag("--restore", action="store_true", help="bring these runs back from the trash instead")
    flag("--empty", action="store_true", help="delete for good what lies in the trash")
    add_flags(parser, "runs", "json")


def run(arguments: argparse.Namespace) -> None:
    from pathlib import Path

    import lab.runs
    from lab.core.formats import counted
    from lab.launchers.background import waiting
    from lab.runs import management

    root = Path(arguments.runs or lab.runs.default_root())
    if arguments.empty and (arguments.run or arguments.restore):
        raise ValueError(
            "--empty deletes all that lies in the trash; leave out the runs and --restore."
        )
    if arguments.empty:
        say(f"{counted(management.empty_trash(root), 'run')} deleted.")
    elif not arguments.run:
        rows = [{"run": path.name, "folder": str(path)} for path in management.trashed(root)]
        show(rows, as_json=arguments.json, empty="The trash is empty.")
    elif arguments.restore:
        for name in arguments.run:
            say(f"{management.restore(root / management.TRASH / Path(name).name).path} is back.")
    else:
        for run in [lab.runs.open(name, arguments.runs) for name in arguments.run]:
            say(
                f"{run.name} lies in the trash; `lab runs trash --restore {waiting.trash(run).name}` brings it back."
            )
