"""Train a head on the features of a network: in seconds.

The network keeps its weights, and is measured as it came, too: what did the head gain, and what did it lose? SOURCE is
a folder of class folders, a run (also one of vectors: `lab import` makes it) or a data set such as letters.
Each image is embedded once; the features are kept beside the runs. `--also letters FOLDER` measures both
networks on other data, too: what was lost elsewhere? `--encoder.layer 6 --encoder.whiten 128` trains the head on a
layer of the network, whitened, instead of on its output; `lab layers SOURCE` says which layer. Sections are given as
to `lab train`: `--loss.tau1 0.5`.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from lab.cli._output import add_flags, print_json, say

if TYPE_CHECKING:
    from lab.adaptation import Comparison

HEADING, PLACE = "Train and measure", 11

USUAL = (
    "--encoder", "--encoder.layer", "--encoder.whiten", "--head", "--loss", "--also", "--name", "--training.steps",
    "--runs", "--json",
)  # fmt: skip

SECTIONS = (
    "loss",
    "wrappers",
    "sampler",
    "optimiser",
    "schedule",
    "training",
    "metrics",
    "evaluation",
)


def add_arguments(parser: argparse.ArgumentParser, words: list[str]) -> None:
    from lab.cli import _config

    flag = parser.add_argument
    flag("source", metavar="SOURCE", help="folder of class folders, run, or name of a data set")
    encoder = "network, as `lab embed --encoder` takes it (default that of the run, else efficientnet_lite0)"
    flag("--encoder", metavar="WHAT", help=encoder)
    flag("--weights", metavar="FILE", help="saved state_dict of the network")
    layer = "layer of the network that makes the features, from 1; `lab layers` measures them (default its output)"
    flag("--encoder.layer", dest="layer", type=int, metavar="N", help=layer)
    token = "of a layer of a transformer: mean, cls or both (default mean)"
    flag("--encoder.token", dest="token", choices=("mean", "cls", "both"), help=token)
    whiten = "whiten the features to so many numbers, by the training images without their labels"
    flag("--encoder.whiten", dest="whiten", type=int, metavar="N", help=whiten)
    shrinkage = "how far the whitening moves each variance towards their mean, 0 to 1 (default 0.1)"
    flag("--encoder.shrinkage", dest="shrinkage", type=float, metavar="SHARE", help=shrinkage)
    head = "linear, mlp, or none (the layer or the whitening alone, no training) (default linear)"
    flag("--head", default="linear", help=head)
    flag(
        "--dim", type=int, help="width of the embedding (default 512; at most that of the features)"
    )
    flag(
        "--also",
        nargs="+",
        action="extend",
        default=[],
        metavar="DATA",
        help="other data to measure both on",
    )
    flag("--name", help="name of the run (default after the source and the head)")
    add_flags(parser, "runs", "json", "allow")
    _config.add_sections(parser, words, SECTIONS)


def run(arguments: argparse.Namespace) -> int:
    from lab.adaptation import LAYER, adapt_steps, plan_head
    from lab.cli import _config
    from lab.cli._progress import result_of
    from lab.cli.train import StopOnSignal

    # The flag --encoder is a network here, and no section of a configuration.
    sections = _config.merged(argparse.Namespace(**{**vars(arguments), "encoder": None}))
    if lost := [name for name in ("encoder", "data") if name in sections]:
        raise ValueError(
            f"{arguments.config} has the section {' and '.join(lost)}, which `lab adapt` chooses by SOURCE and "
            "--encoder; take it out."
        )
    encoder = {"base": arguments.encoder, **{name: getattr(arguments, name) for name in LAYER}}
    plan = plan_head(
        arguments.source, encoder=encoder, weights=arguments.weights, head=arguments.head,
        dim=arguments.dim, runs=arguments.runs, allow=arguments.allow, **sections,
    )  # fmt: skip
    with StopOnSignal() as stop:
        made = result_of(
            adapt_steps(plan, arguments.also, arguments.name, arguments.runs, stop), arguments.quiet
        )
    if made is None:
        say("Stopped; `lab train --resume RUN` goes on with what was begun.")
        return stop.status or 1
    if arguments.json:
        found = made.comparison
        print_json(
            {
                "run": str(made.run.path),
                "baseline": str(made.baseline.path),
                "split": found.split,
                "scores": [_row(found), *({"data": one.data, **_row(one)} for one in made.others)],
                "gained": found.gained.tolist(),
                "lost": found.lost.tolist(),
                "sentences": made.sentences,
            }
        )
        return 0
    print("\n".join(made.sentences))
    say(
        f"{made.run.path} and {made.baseline.path}; in the dashboard, Browse shows what was gained and lost."
    )
    return 0


def _row(one: Comparison) -> dict:
    from lab.adaptation import verdict

    found = one.difference
    interval = {"difference": found.mean, "low": found.low, "high": found.high}
    counted = {"queries": found.queries, "classes": found.classes, "verdict": verdict(found)}
    return {"column": one.column, "before": one.before, "after": one.after, **interval, **counted}
