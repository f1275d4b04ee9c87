"""List the data sets, explain one, or check that one is complete where you put it.

`lab data` lists them; `lab data class_folders` explains one; `lab data check sop ~/data/sop` reads its files and says
what is missing, wrong or corrupt.
"""

from __future__ import annotations

from lab.cli import _catalogued
from lab.cli._output import show


def add_arguments(parser):
    _catalogued.add_arguments(parser, "data set")
    parser.add_argument("rest", nargs="*", metavar="NAME PATH", help="after `check`: the data set and where it lies")


def run(arguments):
    import lab.data

    if arguments.name != "check":
        if arguments.rest:
            raise ValueError(f"Only `lab data check NAME PATH` takes more than one word, got {arguments.rest}.")
        _catalogued.run(arguments, lab.data)
        return 0
    if len(arguments.rest) != 2:
        raise ValueError("Say which data set and where it lies: `lab data check NAME PATH`.")
    name, path = arguments.rest
    problems = lab.data.check(name, path)
    rows = [{"problem": problem} for problem in problems]
    show(rows, as_json=arguments.json, empty=f"{name} at {path} is complete.")
    return 1 if problems else 0
