"""Train what a paper published; tell whether its numbers come out.

`lab papers reproduce rsk_cars196_r50_512 --data.root FOLDER --seeds 3` compares the data with the published counts and
checksums, tells memory and hours, trains a recipe once a seed, measures as the paper did, and writes into one folder
what was published, what came out, the difference, curves and settings. Given again, it goes on where it stopped.
`lab list recipes` lists what can be trained.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from lab.cli._output import add_flags, say

if TYPE_CHECKING:
    from lab.papers.recipes import Recipe
    from lab.runs.config import RunConfig

LANDMARKS = {
    "oxford": "Revisited Oxford",
    "paris": "Revisited Paris",
    "distractors": "the million distractors",
}

USUAL = ("--data.root", "--seeds", "--check", "--device", "--runs")


def add_arguments(parser: argparse.ArgumentParser, words: list[str]) -> None:
    from lab.cli import _config, _launching

    flag = parser.add_argument
    flag("recipe", metavar="RECIPE", help="recipe to train, of `lab list recipes`")
    flag("--seeds", type=int, default=1, help="number of runs, with consecutive seeds (default 1)")
    flag(
        "--check",
        action="store_true",
        help="compare the data, tell memory and hours, and train nothing",
    )
    flag(
        "--anyway",
        action="store_true",
        help="train although the data are not as they were published",
    )
    for name in LANDMARKS:
        flag(f"--{name}", metavar="FOLDER", help=f"for landmarks: folder of {LANDMARKS[name]}")
    _launching.add_on(parser, words)
    flag("--name", help="name of the folder for what is trained (default reproduce-RECIPE)")
    flag("--device", help="device to train and embed on (default as configured)")
    add_flags(parser, "runs", "json")
    _config.add_sections(parser, ["--config", words[0], *words[1:]] if words else words)


def run(arguments: argparse.Namespace) -> int:
    import lab.papers.recipes
    import lab.protocols
    from lab.cli import _config
    from lab.cli.papers.protocol import conducted
    from lab.report import page

    recipe = lab.papers.recipes.get(arguments.recipe)
    if arguments.config:
        raise ValueError(f"{recipe.name} is the configuration; leave out --config.")
    arguments.config = recipe.name
    arguments.run = None
    config = _config.config_of(arguments)
    _look(config, recipe, arguments.anyway)
    if arguments.check:
        return 0
    folders = {name: getattr(arguments, name) for name in LANDMARKS}
    protocol = lab.protocols.get("reproduction")(
        recipe=recipe.name, seeds=arguments.seeds, **folders
    )
    status, bench = conducted(protocol, arguments)
    if status == 0:
        runs = lab.runs.list(bench.folder)
        if all(run.scores("test") for run in runs):  # landmarks have no test split of their own
            page.save(runs, bench.folder / "report.html")
        say(
            f"To send in: outcome.json, outcome.md and, where there is one, report.html, of {bench.folder}."
        )
        say(
            "`lab papers figure reference_scores --figure.file outcome.json` draws it beside what was published."
        )
    return status


def _look(config: RunConfig, recipe: Recipe, anyway: bool) -> None:
    """Say how large the work is; refuse data that are not the published ones.

    Raises:
        ValueError: counts, checksums or images are not as published, and nobody said `--anyway`.
    """
    import lab.data
    from lab.launchers.background.preflight import BAD, preflight

    wrong = lab.data.check(config.data.name, config.data.values.get("root", ""))
    for sentence in wrong:
        say(sentence)
    if wrong and not anyway:
        raise ValueError(
            f"These are not the published images of {config.data.name}, so its numbers cannot come out; mend them, or "
            "train all the same with --anyway."
        )
    for check in preflight(config):
        if check.verdict == BAD:
            raise ValueError(f"{recipe.name} cannot be trained here as it stands: {check.sentence}")
        say(f"{check.name}: {check.sentence}")
    say(f"On one modern GPU, estimated and not measured: {recipe.cost}.")
