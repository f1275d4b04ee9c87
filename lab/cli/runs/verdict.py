"""Say what is wrong with a training, and which knob to move."""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags, print_json, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", nargs="+", help="names or folders of the runs")
    add_flags(parser, "runs", "json")


def run(arguments: argparse.Namespace) -> None:
    import lab.runs
    from lab import verdict

    found = {run.name: verdict.diagnose(run) for run in (lab.runs.open(name, arguments.runs) for name in arguments.run)}
    if arguments.json:
        print_json({name: [one.as_dict() for one in some] for name, some in found.items()})
        return
    for name, some in found.items():
        say(f"{name}:")
        for words in verdict.in_words(some) or [verdict.NOTHING]:
            print(words)
