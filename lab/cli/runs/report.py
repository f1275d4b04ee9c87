"""Make a table of runs with intervals over seeds, or a page to mail.

`lab runs report a b --published --format latex > table.tex`. Runs that differ only in their seed become one line.
Published numbers are marked as such; none was measured here. Unfair comparisons are warned of. `--html FILE` writes one
page to mail instead: the table, curves, the best and worst queries with their pictures, settings and versions.
`--explore FILE.html` writes one to explore offline, or for many images a folder: `python -m http.server -d FOLDER`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from lab.cli._output import add_flags, check_place, print_json, show_path, visible_lines
from lab.core.files import write_text

ENDS = {"md": "markdown", "tex": "latex"}
"""How a file's name ends, and what is written into it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    flag("run", nargs="+", help="runs, by folder or by name")
    flag(
        "--format",
        choices=("markdown", "latex"),
        help="format of the table (default: by the ending of --output)",
    )
    flag("--output", metavar="FILE", help="write the table there: .md or .tex")
    flag("--html", metavar="FILE", help="write one self-contained page with curves and pictures")
    flag(
        "--explore",
        metavar="PLACE",
        help="write a page to explore: FILE.html, or a folder for a static server",
    )
    flag("--published", action="store_true", help="add published numbers for these losses and data")
    flag("--any-loss", action="store_true", help="with --published: also for all other losses")
    flag(
        "--split",
        help="split of the scores (default: test, or validation where all runs have that alone)",
    )
    flag(
        "--scores",
        nargs="+",
        metavar="NAME",
        help="scores to show, for instance r@1 MAP@R (default all)",
    )
    add_flags(parser, "runs", "json", "allow")


def run(arguments: argparse.Namespace) -> None:
    import lab.report
    import lab.runs

    form = _format(arguments)
    for place in filter(None, (arguments.output, arguments.html, arguments.explore)):
        check_place(place)  # before the work
    runs = [lab.runs.open(name, arguments.runs, arguments.allow) for name in arguments.run]
    table = lab.report.report(
        runs,
        split=arguments.split,
        columns=arguments.scores,
        published=arguments.published or arguments.any_loss,
        any_loss=arguments.any_loss,
    )
    # Pages, else JSON, else text in the form that was asked for.
    if arguments.html or arguments.explore:
        from lab.report import explore, page

        for kind, place in ((page, arguments.html), (explore, arguments.explore)):
            if place:
                path = kind.save(runs, place, table)
                sizes = [file.stat().st_size for file in (path, *path.glob("*")) if file.is_file()]
                show_path(path, arguments.json, bytes=sum(sizes))
        return
    if arguments.json:
        print_json({"lines": table.records(), "notes": table.notes, "warnings": table.warnings})
        return
    text = lab.report.write(table, form)
    if arguments.output is None:
        print(visible_lines(text))
        return
    write_text(Path(arguments.output), text)
    print(arguments.output)


def _format(arguments: argparse.Namespace) -> str:
    if arguments.format and (arguments.json or arguments.html or arguments.explore):
        raise ValueError(
            "--format is for the table; leave out --json, --html or --explore, or leave out --format."
        )
    if arguments.output and (arguments.json or arguments.html or arguments.explore):
        raise ValueError(
            "--output is for the table; leave out --json, --html or --explore, or put `> FILE` behind the command."
        )
    if arguments.format or not arguments.output:
        return arguments.format or "markdown"
    suffix = arguments.output.rpartition(".")[2].lower()
    if suffix not in ENDS:
        raise ValueError(
            f"--output must end in .md or .tex where there is no --format, got {arguments.output}; a page: --html FILE."
        )
    return ENDS[suffix]
