"""List the data sets, explain one, check that one is complete where you put it, fetch one, or count its classes.

`lab data` lists them; `lab data class_folders` explains one; `lab data check sop ~/data/sop` reads its files and says
what is missing, wrong or corrupt; `lab data download cifar100 ~/data` fetches one of those that may be fetched;
`lab data sizes sop ~/data/sop` tells how many images its classes have, and what that makes of an epoch.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from lab.cli import _catalogued
from lab.cli._output import show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    _catalogued.add_arguments(parser, "data set")
    flag(
        "rest",
        nargs="*",
        metavar="NAME PATH",
        help="after `check`, `download` or `sizes`: the data set and where it lies",
    )
    flag("--batch-size", type=int, default=384, help="with `sizes`: images in a batch (default 384)")
    flag("--per-class", type=int, default=4, help="with `sizes`: images of each class in a batch (default 4)")


def run(arguments: argparse.Namespace) -> int:
    import lab.data

    if arguments.name not in ("check", "download", "sizes"):
        if arguments.rest:
            raise ValueError(
                f"Only `lab data check|download|sizes NAME PATH` takes more than one word, got {arguments.rest}."
            )
        _catalogued.run(arguments, lab.data)
        return 0
    if len(arguments.rest) != 2:
        raise ValueError(f"Name a data set and its folder: `lab data {arguments.name} NAME PATH`.")
    name, path = arguments.rest
    if arguments.name == "download":
        _problems(lab.data.download(name, path))
        show([], as_json=arguments.json, empty=f"{name} is at {path}.")
        return 0
    if arguments.name == "sizes":
        show(_sizes(name, path, arguments.batch_size, arguments.per_class), as_json=arguments.json)
        return 0
    problems = _problems(lab.data.checking(name, path))
    rows = [{"problem": problem} for problem in problems]
    show(rows, as_json=arguments.json, empty=f"{name} at {path} is complete.")
    return 1 if problems else 0


def _sizes(name: str, path: str, batch_size: int, per_class: int) -> list[dict]:
    """One row a split: images, classes and images a class, and for training what an epoch is."""
    import numpy as np

    import lab.data
    from lab.core.knobs import describe
    from lab.samplers import released_epoch

    required = [knob.name for knob in describe(lab.data.get(name).Knobs) if knob.required]
    dataset, rows = lab.data.create(name, **dict.fromkeys(required, path)), []
    for split, part in dataset.splits.items():
        counts = np.unique(dataset.labels[part.items], return_counts=True)[1]
        row = {"split": split, "images": len(part), "classes": len(counts), "mean": round(float(counts.mean()), 1)}
        for share, label in ((0, "least"), (25, "quarter"), (50, "half"), (75, "three quarters"), (100, "most")):
            row[label] = int(np.percentile(counts, share, method="lower"))
        row[f"fewer than {per_class}"] = int((counts < per_class).sum())
        if split == "train":
            row |= {
                f"images // {batch_size}": len(part) // batch_size,
                "epoch of RS@k and ROADMAP": released_epoch(counts, batch_size, per_class),
            }
        rows.append(row)
    return rows


def _problems(records: Iterator[Any]) -> list[str]:
    """Show how far the work is, and return the problems that were found, each once."""
    from lab.cli._progress import follow

    return list(dict.fromkeys(record.sentence for record in follow(records) if hasattr(record, "sentence")))
