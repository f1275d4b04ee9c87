"""List the data sets, explain one, check that one is complete where you put it, or fetch one.

`lab data` lists them; `lab data class_folders` explains one; `lab data check sop ~/data/sop` reads its files and says
what is missing, wrong or corrupt; `lab data download cifar100 ~/data` fetches one of those that may be fetched.
"""

from __future__ import annotations

from lab.cli import _catalogued
from lab.cli._output import bar, show


def add_arguments(parser):
    _catalogued.add_arguments(parser, "data set")
    parser.add_argument(
        "rest", nargs="*", metavar="NAME PATH", help="after `check` or `download`: the data set and where it lies"
    )


def run(arguments):
    import lab.data

    if arguments.name not in ("check", "download"):
        if arguments.rest:
            raise ValueError(
                f"Only `lab data check|download NAME PATH` takes more than one word, got {arguments.rest}."
            )
        _catalogued.run(arguments, lab.data)
        return 0
    if len(arguments.rest) != 2:
        raise ValueError(f"Say which data set and where it lies: `lab data {arguments.name} NAME PATH`.")
    name, path = arguments.rest
    if arguments.name == "download":
        _problems(lab.data.download(name, path))
        show([], as_json=arguments.json, empty=f"{name} is at {path}.")
        return 0
    problems = _problems(lab.data.checking(name, path))
    rows = [{"problem": problem} for problem in problems]
    show(rows, as_json=arguments.json, empty=f"{name} at {path} is complete.")
    return 1 if problems else 0


def _problems(records) -> list[str]:
    """Show how far the work is, and return the problems that were found, each once."""
    from lab.data import Progress

    found, bars = {}, {}
    with bar() as shown:
        for record in records:
            if not isinstance(record, Progress):
                found[record.sentence] = None
                continue
            if record.what not in bars:
                bars[record.what] = shown.add_task(f"{record.what} ({record.unit})", total=record.total)
            shown.update(bars[record.what], completed=record.done, total=record.total)
    return list(found)
