"""Write a run as other tools read it: vectors, an index, the encoder, its curves, a model folder; docs/exports.md.

`lab export RUN --to parquet` writes RUN.parquet here; `lab export RUN --to faiss --help` lists the options of faiss.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.exporters import Exporter
    from lab.runs import Run


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    from lab import exporters
    from lab.cli import _flags
    from lab.cli._output import add_json

    parser.add_argument("run", help="name or folder of the run")
    parser.add_argument("--to", required=True, metavar="NAME", help=f"what to write: {', '.join(exporters.names())}")
    parser.add_argument("--output", metavar="PATH", help="where to write (default here, named after the run)")
    parser.add_argument(
        "--encoder", metavar="MODULE:FUNCTION", help="a function that makes the encoder, for a run of your own encoder"
    )
    parser.add_argument("--runs", metavar="FOLDER", help="folder of runs (default $LAB_RUNS, else runs)")
    add_json(parser)
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    early.add_argument("--to", nargs="?")
    name = early.parse_known_args(words)[0].to
    if name:
        _flags.add_knobs(parser, "export", exporters.get(name).Knobs, f"export ({name})")


def run(arguments: argparse.Namespace) -> int:
    import lab.runs
    from lab import exporters
    from lab.cli import _flags
    from lab.cli._output import print_json

    run = lab.runs.open(arguments.run, arguments.runs)
    knobs = _flags.collect(arguments, "export", exporters.get(arguments.to).Knobs)
    exporter = exporters.create(arguments.to, **knobs)
    path = _exported(exporter, run, arguments)
    if arguments.json:
        print_json({"run": str(run.path), "to": arguments.to, "path": str(path)})
    else:
        print(path)
    return 0


def _exported(exporter: Exporter, run: Run, arguments: argparse.Namespace) -> Path:
    if arguments.encoder is None:
        return exporter.export(run, arguments.output)
    from lab.exporters import EncoderExporter

    if not isinstance(exporter, EncoderExporter):
        raise ValueError(f"--encoder goes with torch, onnx and huggingface, which write it; not with {arguments.to}.")
    return exporter.export(run, arguments.output, arguments.encoder)
