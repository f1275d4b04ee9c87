"""Write a run as other tools read it: vectors, index, encoder.

`lab export RUN --to parquet` writes RUN.parquet here, `lab export RUN --to parquet faiss onnx` three things;
`lab export RUN --to faiss --help` lists the options of faiss. Each format is told in docs/exports.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from lab.cli._output import add_flags, show_path

HEADING = "Search and exchange"
PLACE = 25


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    from lab import exporters
    from lab.cli import _flags
    from lab.core.knobs import describe

    flag = parser.add_argument
    add_flags(parser, "run", "runs", "json", "encoder", "allow")
    to = f"what to write, one or several: {', '.join(exporters.names())}"
    flag("--to", required=True, nargs="+", metavar="NAME", help=to)
    flag("--output", metavar="PATH", help="where to write one (default here, named after the run)")
    flag(
        "--push",
        metavar="OWNER/NAME",
        help="with huggingface: also send the folder to this place on the Hub",
    )
    taken: set[str] = set()  # a knob that several exporters have is one flag, for all of them
    for name in dict.fromkeys(_flags.early(words, to="extend").to or ()):
        knobs = exporters.get(name).Knobs
        _flags.add_knobs(parser, "export", knobs, f"export ({name})", without=taken)
        taken |= {knob.name for knob in describe(knobs)}


def run(arguments: argparse.Namespace) -> None:
    import lab.runs
    from lab import exporters
    from lab.cli import _flags

    run = lab.runs.open(arguments.run, arguments.runs, arguments.allow)
    if len(arguments.to) > 1 and arguments.output:
        raise ValueError(
            "--output is for one file or folder; leave it out, and each is named after the run."
        )
    if arguments.push:
        if "huggingface" not in arguments.to:
            raise ValueError("--push sends what --to huggingface writes; add it.")
        vars(arguments)["export.push"] = arguments.push
    chosen = {}
    for name in arguments.to:
        chosen[name] = exporters.create(
            name, **_flags.collect(arguments, "export", exporters.get(name).Knobs)
        )
    encoder = () if arguments.encoder is None else (arguments.encoder,)
    for name, exporter in chosen.items():
        if encoder and not isinstance(exporter, exporters.EncoderExporter):
            raise ValueError(
                f"--encoder goes with torch, onnx and huggingface, which write it; not with {name}."
            )
        path = exporter.export(run, arguments.output, *encoder)
        show_path(path, arguments.json, run=str(run.path), to=name)
