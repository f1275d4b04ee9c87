"""Write a note or tags beside a run, or show them. The dashboard shows the same.

`lab note RUN` shows; `lab note RUN "what I tried" --tag baseline` writes; an empty text, "", removes the note.
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from lab.cli._output import add_json

    parser.add_argument("run", help="name or folder of the run")
    parser.add_argument("text", nargs="?", help="the note, instead of the one before")
    parser.add_argument("--tag", action="append", metavar="TAG", help="a tag to add; can be given several times")
    parser.add_argument("--no-tags", action="store_true", help="remove all tags first")
    parser.add_argument("--runs", metavar="FOLDER", help="folder of runs (default $LAB_RUNS, else runs)")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    import lab.runs
    from lab.cli._output import print_json
    from lab.runs import shelf

    run = lab.runs.open(arguments.run, arguments.runs)
    before = shelf.notes(run)
    note = before["note"] if arguments.text is None else arguments.text
    tags = [*([] if arguments.no_tags else before["tags"]), *(arguments.tag or [])]
    if (note, tags) != (before["note"], before["tags"]):
        shelf.annotate(run, note, tags)
    now = shelf.notes(run)
    if arguments.json:
        print_json({"run": run.name, **now})
    else:
        print("\n".join(filter(None, (now["note"], " ".join(f"#{tag}" for tag in now["tags"])))) or "No note.")
    return 0
