"""Measure losses, large batches, metrics, search and what people wait for on this machine.

`lab bench` measures every section; `lab bench losses` some. Ratios travel between machines, seconds do not.
"""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags, check_place, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    flag(
        "sections", nargs="*", metavar="SECTION", help="sections to measure: losses, metrics, search, ... (default all)"
    )
    flag("--quick", action="store_true", help="small sizes: checks that everything runs; the numbers mean little")
    flag("--cpu-time", action="store_true", help="measure processor time, for a machine that is busy with other work")
    flag("--output", metavar="FILE", help="also write the Markdown table (.md), JSON (.json) or plot (.png, .html)")
    flag(
        "--compare",
        metavar="FILE",
        help="also say what got slower by more than the noise since FILE, which an earlier --output FILE.json wrote",
    )
    add_flags(parser, "json")


def run(arguments: argparse.Namespace) -> None:
    from pathlib import Path

    from lab import bench
    from lab.core.files import write_text

    target = None if arguments.output is None else Path(arguments.output)
    if target is not None and target.suffix not in (".md", ".json", ".png", ".html"):
        raise ValueError(f"--output must end in .md, .json, .png or .html, got {target.name!r}.")
    if target is not None:
        check_place(target)
    before = None if arguments.compare is None else bench.earlier(arguments.compare)
    rows = []
    for row in bench.measure(tuple(arguments.sections), arguments.quick, arguments.cpu_time):
        rows.append(row)
        say(f"{row.section}: {row.name}, {row.setting}: {row.value:.3g} {row.unit} {row.against}".rstrip())
    about = bench.machine(arguments.cpu_time)
    print(bench.as_json(rows, about) if arguments.json else bench.as_table(rows, about))
    if before is not None:
        say(bench.compared(before, rows, about))
    if target is None:
        return
    if target.suffix in (".png", ".html"):
        from lab.figures import save_figure

        save_figure(bench.plot(rows), target)
    else:
        write_text(target, bench.as_json(rows, about) if target.suffix == ".json" else bench.as_table(rows, about))
