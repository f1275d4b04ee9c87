"""Write a note, tags or a group for runs, or show them.

`lab runs mark A B --tag best --group "first tries"` marks two runs, as the dashboard does; with `--remove` they lose
that tag or group. `lab runs mark A --note "what I tried"` replaces the note, and an empty one, "", removes it.
`lab runs --tag TAG` and `--group GROUP` list what is marked so.
"""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    flag("run", nargs="+", help="names or folders of the runs")
    flag("--note", metavar="TEXT", help="the new note; it replaces the old one")
    flag("--tag", nargs="+", default=[], metavar="TAG", help="tags to add")
    flag("--group", metavar="GROUP", help="the group that the runs belong to")
    flag("--remove", action="store_true", help="take these tags and this group away instead")
    add_flags(parser, "runs", "json")


def run(arguments: argparse.Namespace) -> None:
    import lab.runs
    from lab.runs import management

    rows = []
    named = [tag.strip() for tag in arguments.tag]
    # all are found before one is changed
    for run in [lab.runs.open(name, arguments.runs) for name in arguments.run]:
        before = management.notes(run)
        tags = [tag for tag in before["tags"] if tag not in named]
        if not arguments.remove:
            tags += named
        group = arguments.group
        if arguments.remove and group is not None:
            group = "" if group.strip() == before["group"] else None
        row = {
            "run": run.name,
            **management.annotate(run, arguments.note, tags if named else None, group),
        }
        if not arguments.json:
            row["tags"] = " ".join(row["tags"])
        rows.append(row)
    show(rows, as_json=arguments.json)
