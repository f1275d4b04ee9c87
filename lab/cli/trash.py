"""Move runs to the trash, list what lies there, or bring it back.

`lab trash RUN ...` moves runs to the trash of their folder; `lab trash` lists it; `lab trash --restore RUN ...` brings
runs back. Nothing is deleted: delete the folder `.trash` among the runs to free its space.
"""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags, say, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    flag("run", nargs="*", help="names or folders of the runs; nothing lists the trash")
    flag("--restore", action="store_true", help="bring these runs back from the trash instead")
    add_flags(parser, "runs", "json")


def run(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    import lab.runs
    from lab.runs import management

    root = Path(arguments.runs or lab.runs.default_root())
    if not arguments.run:
        rows = [{"run": path.name, "folder": str(path)} for path in management.trashed(root)]
        show(rows, as_json=arguments.json, empty="The trash is empty.")
    elif arguments.restore:
        for name in arguments.run:
            say(f"{management.restore(root / management.TRASH / Path(name).name).path} is back.")
    else:
        for run in [lab.runs.open(name, arguments.runs) for name in arguments.run]:
            say(f"{run.name} lies in the trash; `lab trash --restore {management.trash(run).name}` brings it back.")
    return 0
