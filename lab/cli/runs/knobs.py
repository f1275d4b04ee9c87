"""Say which knobs, of those that differ, have to do with a score."""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags, print_json, say, show
from lab.cli.runs import add_filters, fits, readable, row_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", nargs="*", help="names or folders of the runs (default all)")
    add_filters(parser)
    parser.add_argument(
        "--score", default="MAP@R", metavar="NAME", help="score to explain (default MAP@R)"
    )
    add_flags(parser, "runs", "json")


def run(arguments: argparse.Namespace) -> None:
    import lab.runs
    from lab.report import knobs

    named = [lab.runs.open(name, arguments.runs) for name in arguments.run]
    score = arguments.score
    rows = {run: row_of(run, [score]) for run in named or lab.runs.list(arguments.runs)}
    runs = [run for run, row in rows.items() if fits(row, arguments)]
    varying = knobs.varying([readable(run) for run in runs])
    importance = knobs.importance(varying, [rows[run][score] for run in runs])
    lines = []
    if arguments.json or importance.explained > 0:
        for weight in importance.weights:
            lines.append(
                {"knob": ", ".join(weight.knobs), "importance": weight.share, "trend": weight.trend}
            )
    if arguments.json:
        print_json(
            {
                "score": score,
                "runs": importance.runs,
                "explained": importance.explained,
                "knobs": lines,
            }
        )
        return
    say(knobs.in_words(importance, score))
    if lines:
        show(lines, as_json=False)
