"""Write a note, tags or a group for a run, or show them. The dashboard shows the same.

`lab note RUN` shows; `lab note RUN "what I tried" --tag baseline` writes; an empty text, "", removes the note. Several
runs at once: `lab runs tag TAG RUN ...` and `lab runs group GROUP RUN ...`.
"""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags, print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    add_flags(parser, "run", "runs", "json")
    flag("text", nargs="?", help="the new note; it replaces the old one")
    flag("--tag", action="append", metavar="TAG", help="a tag to add; can be given several times")
    flag("--no-tags", action="store_true", help="remove all tags first")
    flag("--group", metavar="GROUP", help='the group that the run belongs to; "" takes it out')


def run(arguments: argparse.Namespace) -> int:
    import lab.runs
    from lab.runs import management

    run = lab.runs.open(arguments.run, arguments.runs)
    tags = [*([] if arguments.no_tags else management.notes(run)["tags"]), *(arguments.tag or [])]
    now = management.annotate(run, arguments.text, tags, arguments.group)
    if arguments.json:
        print_json({"run": run.name, **now})
    else:
        group = f"group {now['group']}" if now["group"] else ""
        print("\n".join(filter(None, (now["note"], " ".join(f"#{tag}" for tag in now["tags"]), group))) or "No note.")
    return 0
