"""Measure which layer of a network to use, before any training.

SOURCE is a folder of class folders, a run or a data set such as letters. Every image is embedded once; each layer of
the network is measured plain and whitened, on the classes that are there. The score that is told is of settings that
the other half of the classes has chosen. `lab adapt SOURCE --encoder.layer N --encoder.whiten N` starts from a layer.
"""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags, check_place, print_json, say, show

HEADING, PLACE = "Train and measure", 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    flag("source", metavar="SOURCE", help="folder of class folders, run, or name of a data set")
    encoder = "network, as `lab embed --encoder` takes it (default that of the run, else efficientnet_lite0)"
    flag("--encoder", metavar="WHAT", help=encoder)
    flag("--weights", metavar="FILE", help="saved state_dict of the network")
    flag("--split", help="measure the classes of this split only (default all classes)")
    flag("--device", default="auto", help="auto, cpu or cuda (default auto)")
    flag("--output", metavar="FILE", help="also write JSON for the figure which_layer (.json)")
    add_flags(parser, "runs", "json", "allow")


def run(arguments: argparse.Namespace) -> None:
    from pathlib import Path

    from lab.adaptation import layers_steps
    from lab.cli._progress import result_of
    from lab.core.files import write_json

    target = None if arguments.output is None else Path(arguments.output).expanduser()
    if target is not None and target.suffix != ".json":
        raise ValueError(f"--output must end in .json, got {target.name!r}.")
    if target is not None:
        check_place(target)  # before the work
    steps = layers_steps(
        arguments.source,
        encoder=arguments.encoder,
        weights=arguments.weights,
        split=arguments.split,
        device=arguments.device,
        runs=arguments.runs,
        allow=arguments.allow,
    )
    found = result_of(steps, arguments.quiet)
    if target is not None:
        write_json(target, found.as_json())
    if arguments.json:
        print_json(found.as_json())
        return
    show(found.scores.table(), as_json=False)
    print(found.scores.sentence)
    say(f"{found.source}, {found.network} at {found.pixels} pixels: {found.scores.protocol}")
