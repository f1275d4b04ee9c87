"""Search a run's gallery, or images of your own, with images of your own; prints the nearest ones.

`lab query RUN a.png b.png` searches the run's test images; `--gallery FOLDER` all images below a folder, and
`--gallery RUN` those of a run that `lab embed FOLDER --encoder RUN` made of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.core.records import Record
    from lab.core.results import EmbeddingSet
    from lab.runs import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from lab.cli._output import add_json

    parser.add_argument("run", help="name or folder of the run")
    parser.add_argument("image", nargs="+", help="image files")
    parser.add_argument("--runs", metavar="FOLDER", help="folder of runs (default $LAB_RUNS, else runs)")
    parser.add_argument("--split", default="test", help="split to search (default test)")
    parser.add_argument(
        "--gallery", metavar="FOLDER|RUN", help="search these images instead, or those of a run by `lab embed`"
    )
    parser.add_argument("--k", type=int, default=10, help="neighbours to show (default 10)")
    add_json(parser)


@dataclass(frozen=True)
class Gallery:
    """What is searched: vectors, what a person knows each of them by, and what it is called."""

    vectors: EmbeddingSet
    names: list[dict[str, Any]]
    title: str


def run(arguments: argparse.Namespace) -> int:
    import lab.runs

    run = lab.runs.open(arguments.run, arguments.runs)  # before what takes seconds to load
    if arguments.k < 1:
        raise ValueError(f"--k must be at least 1, got {arguments.k}.")
    import numpy as np

    import lab.search
    from lab.cli._output import say, show
    from lab.cli._progress import result_of
    from lab.runs.evaluate import embedder
    from lab.runs.images import Unlabelled

    images = Unlabelled(arguments.image)
    for i in range(len(images)):
        images.load(i)  # says by name what is wrong with a file, before the model is read
    embed = embedder(run, arguments.split)
    gallery = _gallery(run, arguments, embed)
    embedded = result_of(embed(images, np.arange(len(images)), "the image"), quiet=True)
    config = run.config_of(arguments.split)
    index = lab.search.create("exact", device=config.training.knobs.device, similarity=config.similarity)
    index.build(gallery.vectors)
    scores, positions = index.neighbours(embedded.vectors, k=min(arguments.k, len(gallery.vectors)))
    several = len(images) > 1
    rows = [
        ({"query": images.keys[item]} if several else {})
        | {"rank": rank, "score": round(float(score), 4), **gallery.names[position]}
        for item, *nearest in zip(embedded.items, scores, positions, strict=True)
        for rank, (score, position) in enumerate(zip(*nearest, strict=True), start=1)
    ]
    show(rows, as_json=arguments.json)
    say(f"Searched in {gallery.title}, {run.origin(arguments.split).words}.")
    return 0


def _gallery(
    run: Run, arguments: argparse.Namespace, embed: Callable[..., Generator[Record, None, EmbeddingSet]]
) -> Gallery:
    if arguments.gallery is None:
        return _of_split(run, arguments.split)
    import lab.runs

    path = Path(arguments.gallery).expanduser()
    if path.is_dir() and not (path / "config.yaml").is_file():
        return _of_folder(path, embed)
    try:
        other = lab.runs.open(arguments.gallery, arguments.runs)
    except ValueError:
        raise ValueError(f"--gallery {path} is neither a folder of images nor a run.") from None
    return _of_split(other, arguments.split if arguments.split in other.splits else "test")


def _of_split(run: Run, split: str) -> Gallery:
    from lab.runs.images import searched

    dataset = run.dataset()
    vectors = searched(run, split, dataset)
    names = [
        {
            "class": dataset.class_names[label],
            "image": dataset.keys[i] if dataset.root is None else str(dataset.path(i)),
        }
        for i, label in zip(vectors.items, vectors.labels, strict=True)
    ]
    return Gallery(vectors, names, f"the {split} images of {run.name}")


def _of_folder(folder: Path, embed: Callable[..., Generator[Record, None, EmbeddingSet]]) -> Gallery:
    import numpy as np

    from lab.cli._output import say
    from lab.cli._progress import result_of
    from lab.runs.images import below

    images = below(folder)
    vectors = result_of(embed(images, np.arange(len(images)), f"images of {folder}"))
    if lost := len(images) - len(vectors):
        say(f"{lost} files could not be read as images and were left out.")
    return Gallery(vectors, [{"image": images.keys[i]} for i in vectors.items], f"the images of {folder}")
