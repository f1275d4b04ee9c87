"""Say what is wrong with a training, and which knob to move."""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags, print_json, say, visible_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", nargs="+", help="names or folders of the runs")
    add_flags(parser, "runs", "json")


def run(arguments: argparse.Namespace) -> None:
    import lab.runs
    from lab import verdict

    histories = [
        verdict.History.of_run(lab.runs.open(name, arguments.runs)) for name in arguments.run
    ]
    if arguments.json:
        findings = {}
        for history in histories:
            findings[history.run] = [finding.as_dict() for finding in verdict.findings(history)]
        print_json(findings)
        return
    for history in histories:
        say(f"{history.run}:")
        for words in verdict.in_words(verdict.findings(history)) or [history.nothing_found]:
            print(visible_lines(words))
