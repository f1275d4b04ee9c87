"""Write a note, tags or a group for a run, or show them. The dashboard shows the same.

`lab note RUN` shows; `lab note RUN "what I tried" --tag baseline` writes; an empty text, "", removes the note. Several
runs at once: `lab runs tag TAG RUN ...` and `lab runs group GROUP RUN ...`.
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from lab.cli._output import add_json

    parser.add_argument("run", help="name or folder of the run")
    parser.add_argument("text", nargs="?", help="the new note; it replaces the old one")
    parser.add_argument("--tag", action="append", metavar="TAG", help="a tag to add; can be given several times")
    parser.add_argument("--no-tags", action="store_true", help="remove all tags first")
    parser.add_argument("--group", metavar="GROUP", help='the group that the run belongs to; "" takes it out')
    parser.add_argument("--runs", metavar="FOLDER", help="folder of runs (default $LAB_RUNS, else runs)")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    import lab.runs
    from lab.cli._output import print_json
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
