"""Compare methods on the same queries, over classes and trainings.

`lab runs compare A B C`: runs that differ in nothing but their seed are trainings of one method; the first run's method
is what the others are compared with. With one training of each, networks are compared, not methods.
`lab runs compare A B --seeds 3` adds the trainings of the folder that differ from A and B in nothing but their seed,
and trains those that are missing.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.cli._output import add_flags, check_place, print_json, say, show, show_path

if TYPE_CHECKING:
    from lab.runs import Run

MOST_SEEDS = 100


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    from lab.cli import _launching

    flag = parser.add_argument
    flag("run", nargs="+", help="runs, by folder or by name")
    flag("--scores", nargs="+", metavar="NAME", help="scores to compare (default r@1 MAP@R)")
    flag("--split", default="test", help="split of the queries (default test)")
    flag(
        "--output",
        metavar="FILE",
        help="write a table (.tex, .csv, .md) or a forest plot (.pdf, .svg, .png, .html)",
    )
    flag(
        "--seeds",
        type=int,
        metavar="N",
        help="compare N trainings of each method; missing ones are trained first",
    )
    _launching.add_on(parser, words, default="local")
    add_flags(parser, "runs", "json", "allow")


def run(arguments: argparse.Namespace) -> int:
    import lab
    import lab.runs

    if arguments.output:
        check_place(arguments.output)  # before the work
    runs = [lab.runs.open(name, arguments.runs, arguments.allow) for name in arguments.run]
    if arguments.seeds is not None:
        runs = _with_seeds(runs, arguments)
    comparison = lab.compare(runs, scores=arguments.scores, split=arguments.split)
    if arguments.output:
        show_path(comparison.save(arguments.output), arguments.json)
    elif arguments.json:
        print_json({"rows": comparison.records(), "sentences": comparison.sentences})
    else:
        head, body = comparison.cells()
        show([dict(zip(head, line, strict=True)) for line in body], as_json=False)
        for sentence in comparison.sentences:
            say(sentence)
    return 0


def _with_seeds(runs: Sequence[Run], arguments: argparse.Namespace) -> list[Run]:
    """Return the runs with all trainings of their methods; train those that are missing now."""
    import lab.runs
    from lab.cli import _launching
    from lab.report import more_seeds
    from lab.report.methods import by_setting

    if not 2 <= arguments.seeds <= MOST_SEEDS:
        raise ValueError(f"--seeds is from 2 to {MOST_SEEDS}, got {arguments.seeds}.")
    launcher = _launching.launcher_of(arguments)
    if launcher is None:
        raise ValueError(
            "The trainings go through a launcher; take --on local for the queue of this machine."
        )
    # List the trainings of each method and the configurations of those that are missing.
    methods = []
    configs = []
    for members in by_setting(runs, arguments.split).values():
        candidates = [*members, *lab.runs.list(members[0].path.parent)]
        trainings = more_seeds.trainings(members[0], candidates, arguments.split)
        methods.append(trainings)
        configs.append(more_seeds.missing(members[0], trainings, arguments.seeds))
    created = []
    # after every method has been checked
    for trainings, missing in zip(methods, configs, strict=True):
        for name, config in missing.items():
            run = lab.runs.create(config, trainings[0].path.parent, name)
            trainings.append(run)
            created.append(run)
    # Train them.
    if created:
        say(f"Training on {arguments.on} first: {', '.join(run.name for run in created)}.")
        launcher.submit(created)
        for over in launcher.ended():
            if over is not None:
                say(f"{over.name}: {over.state}")
    failed = [run.name for run in created if run.state != "finished"]
    if failed:
        raise ValueError(
            f"{', '.join(failed)} did not finish, so there is nothing to compare; see `lab runs logs`."
        )
    return list(itertools.chain.from_iterable(methods))
