"""Embed and measure a run again, for instance with other metrics, flip averaging or beta-normalisation.

The scores and embeddings that the run holds of this split are replaced. `lab evaluate RUN --evaluation.flip --metrics
nmi` measures with the run's own settings, changed by the flags.
"""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags

SECTIONS = ("testing", "metrics", "evaluation")


def add_arguments(parser: argparse.ArgumentParser, words: list[str]) -> None:
    from lab.cli import _config

    flag = parser.add_argument
    add_flags(parser, "run", "runs", "json")
    flag("--split", action="append", help="train, validation or test; repeat it for several (default as configured)")
    flag("--device", help="device to embed on (default that of the run)")
    flag(
        "--encoder",
        metavar="MODULE:FUNCTION",
        help="a function that makes the encoder, for a run of your own encoder; without it what is stored is measured",
    )
    _config.add_sections(parser, words, SECTIONS)


def run(arguments: argparse.Namespace) -> int:
    import lab.runs

    run = lab.runs.open(arguments.run, arguments.runs)  # before what takes seconds to load
    from lab.cli import _config
    from lab.cli._progress import drain
    from lab.cli._scores import show_scores
    from lab.runs.custom.modules import again
    from lab.runs.evaluate import evaluate_run

    config = _config.config_of(arguments, run.config_dict)
    if arguments.device:
        config = config.changed("training.device", arguments.device)
    splits = tuple(arguments.split) if arguments.split else None
    encoder = None if arguments.encoder is None else again(arguments.encoder, run.config)
    with lab.runs.Writer(run) as writer:
        writer.sign()
        drain(evaluate_run(run, writer, config, splits, encoder=encoder), quiet=arguments.quiet)
    show_scores(run, as_json=arguments.json)
    return 0
