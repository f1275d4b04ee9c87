"""Write a run as other tools read it: vectors, an index, the encoder, its curves, a model folder; docs/exports.md.

`lab export RUN --to parquet` writes RUN.parquet here; `lab export RUN --to faiss --help` lists the options of faiss.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from lab.cli._output import add_flags, show_path


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    from lab import exporters
    from lab.cli import _flags

    flag = parser.add_argument
    add_flags(parser, "run", "runs", "json", "encoder")
    flag("--to", required=True, metavar="NAME", help=f"what to write: {', '.join(exporters.names())}")
    flag("--output", metavar="PATH", help="where to write (default here, named after the run)")
    if name := _flags.early(words, to="store").to:
        _flags.add_knobs(parser, "export", exporters.get(name).Knobs, f"export ({name})")


def run(arguments: argparse.Namespace) -> int:
    import lab.runs
    from lab import exporters
    from lab.cli import _flags

    run = lab.runs.open(arguments.run, arguments.runs)
    knobs = _flags.collect(arguments, "export", exporters.get(arguments.to).Knobs)
    exporter = exporters.create(arguments.to, **knobs)
    encoder = () if arguments.encoder is None else (arguments.encoder,)
    if encoder and not isinstance(exporter, exporters.EncoderExporter):
        raise ValueError(f"--encoder goes with torch, onnx and huggingface, which write it; not with {arguments.to}.")
    path = exporter.export(run, arguments.output, *encoder)
    show_path(path, arguments.json, run=str(run.path), to=arguments.to)
    return 0
