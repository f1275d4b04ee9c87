"""Make a run of vectors that were made elsewhere.

FILE is npy, npz, safetensors, Parquet, Arrow, CSV or a faiss index, or the folder that `lab export --to
faiss` writes. Its other columns, and those of --table, are labels, pictures, splits, query or gallery,
super-classes; all other columns can colour and filter the map. The run can be browsed, mapped and compared like any
other.
"""

from __future__ import annotations

import argparse

from lab.cli._output import add_flags
from lab.cli._scores import show_import

HEADING = "Search and exchange"
PLACE = 24


COLUMNS = {
    "vector": "the array or column of vectors (default: vectors, embeddings, features, ..., or columns v0, v1, ...)",
    "label": "the column of class names or numbers (default: class, label, target)",
    "image": "the column of picture files (default: image, path, file)",
    "key": "the column of unique names of the rows (default: key, id, name)",
    "split": "train, validation or test for all rows, or the column that says it (default: split, else all are test)",
    "role": "the column that says query or gallery (default: query_gallery, part)",
    "super_class": "the column of super-classes (default: super_class)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    flag("file", metavar="FILE", help="file of vectors, or folder")
    flag(
        "--table",
        metavar="FILE",
        help="CSV, Parquet or Arrow file with more columns, its rows in the same order",
    )
    for name, help in COLUMNS.items():
        flag(f"--{name.replace('_', '-')}", metavar="COLUMN", help=help)
    flag(
        "--root", metavar="FOLDER", help="folder of the pictures; the keys are then paths below it"
    )
    flag("--like", metavar="RUN", help="a run on the same images, to compare this one with")
    flag(
        "--encoder",
        default="",
        metavar="WORDS",
        help="what made the vectors, for instance the backbone",
    )
    flag(
        "--method",
        default="",
        metavar="NAME",
        help="loss or method; a report puts the runs of one method in a row",
    )
    flag("--seed", type=int, metavar="N", help="seed of the training, where there was one")
    lengths = "scale the vectors to unit length; or keep their lengths and compare by distance"
    flag("--normalise", action=argparse.BooleanOptionalAction, help=lengths)
    measure = "compute the metrics, or not (default: up to 1,000,000,000 pairs)"
    flag("--measure", action=argparse.BooleanOptionalAction, help=measure)
    flag("--name", help="name of the run (default: that of the file)")
    add_flags(parser, "runs", "json", "allow")


def run(arguments: argparse.Namespace) -> None:
    import lab.runs

    columns = {name: getattr(arguments, name) for name in COLUMNS if getattr(arguments, name)}
    split = None
    if columns.get("split") in ("train", "validation", "test"):
        split = columns.pop("split")
    run = lab.runs.from_embeddings(
        arguments.file,
        metadata=arguments.table,
        columns=columns,
        split=split,
        root=arguments.root,
        like=arguments.like and lab.runs.open(arguments.like, arguments.runs, arguments.allow),
        encoder=arguments.encoder,
        method=arguments.method,
        seed=arguments.seed,
        normalise=arguments.normalise,
        measure=arguments.measure,
        name=arguments.name,
        runs=arguments.runs,
    )
    show_import(run, arguments.json)
