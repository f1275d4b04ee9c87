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

HEADING = "Train and measure"
PLACE = 11

USUAL = (
    "--encoder", "--encoder.layer", "--encoder.whiten", "--head", "--loss", "--also", "--name", "--training.steps",
    "--runs", "--json",
)  # fmt: skip

SECTIONS = ("loss", "wrappers", "sampler", "optimiser", "schedule", "training", "metrics", "evaluation")


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
    flag("--dim", type=int, help="width of the embedding (default 512; at most that of the features)")
    flag("--also", nargs="+", action="extend", default=[], metavar="DATA", help="other data to measure both on")
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
    lost = [name for name in ("encoder", "data") if name in sections]
    if lost:
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
        records = adapt_steps(plan, arguments.also, arguments.name, arguments.runs, stop)
        adapted = result_of(records, arguments.quiet)
    if adapted is None:
        say("Stopped; `lab train --resume RUN` goes on with what was begun.")
        return stop.status or 1
    if arguments.json:
        comparison = adapted.comparison
        print_json(
            {
                "run": str(adapted.run.path),
                "baseline": str(adapted.baseline.path),
                "split": comparison.split,
                "scores": [_row(comparison), *({"data": other.data, **_row(other)} for other in adapted.others)],
                "gained": comparison.gained.tolist(),
                "lost": comparison.lost.tolist(),
                "sentences": adapted.sentences,
            }
        )
        return 0
    print("\n".join(adapted.sentences))
    say(f"{adapted.run.path} and {adapted.baseline.path}; in the dashboard, Browse shows what was gained and lost.")
    return 0


def _row(comparison: Comparison) -> dict:
    from lab.adaptation import verdict

    difference = comparison.difference
    return {
        "column": comparison.column,
        "before": comparison.before,
        "after": comparison.after,
        "difference": difference.mean,
        "low": difference.low,
        "high": difference.high,
        "queries": difference.queries,
        "classes": difference.classes,
        "verdict": verdict(difference),
    }
