"""Find the images of a run, or of your own, nearest to pictures.

`lab query RUN a.png b.png` searches the run's test images; `--gallery FOLDER` all images below a folder, and `--gallery
RUN` those of a run that `lab embed FOLDER --encoder RUN` made of them. A gallery may also be the folder of shards that
`lab embed --shards` wrote; it is searched without being loaded, exactly, or with `--search faiss_ivf_pq` by an index
that is built beside it the first time. `--index` takes an index that was saved: the folder of `lab export --to faiss`,
a file by `model.save_index` or `index.save`, or any file of faiss. Each image is a search of its own; `--together mean`
or `--together best` makes one search of several, and `--like` and `--unlike` move it towards some images and away from
others. With `--unknown` only images that reach the run's threshold are shown, with the probability that they are of the
same class; a query without one is unknown. `lab threshold RUN` chooses it.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.cli._output import add_flags, say, show

if TYPE_CHECKING:
    from lab.model import Model, Neighbour

HEADING = "Search and exchange"
PLACE = 20


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    flag = parser.add_argument
    add_flags(parser, "run", "runs", "json", "encoder", "allow")
    flag("image", nargs="*", help="image files; - reads one from standard input")
    flag(
        "--text", metavar="WORDS", help="search with words, if the run's encoder embeds words, too"
    )
    together = "one search with all images, by their mean or by the best match of any"
    flag("--together", choices=("mean", "best"), help=together)
    flag(
        "--like",
        nargs="+",
        metavar="IMAGE",
        default=[],
        help="move the search towards these images",
    )
    flag(
        "--unlike",
        nargs="+",
        metavar="IMAGE",
        default=[],
        help="move the search away from these images",
    )
    add_gallery(parser, words)
    flag("--k", type=int, default=10, help="neighbours to show (default 10)")
    flag("--least", type=float, metavar="SCORE", help="show only neighbours of at least this score")
    unknown = "show only neighbours that reach the run's threshold; a query without one is unknown"
    flag("--unknown", action="store_true", help=unknown)


def add_gallery(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Give a command the flags that say what is searched, and how."""
    from lab import search
    from lab.cli import _flags

    flag = parser.add_argument
    flag("--split", default="test", help="split to search (default test)")
    gallery = "search this folder of images or of shards instead, or a run that `lab embed` made"
    flag("--gallery", metavar="FOLDER|RUN", help=gallery)
    index = "search this saved index instead, such as `lab export RUN --to faiss` writes"
    flag("--index", metavar="FOLDER|FILE", help=index)
    offered = [name for name in search.names() if name != "two_stage"]  # which needs class anchors
    flag("--search", choices=offered, help="index to search with (default exact)")
    name = _flags.early(words, search="store").search
    if name in offered:  # only then: an index takes seconds to load
        _flags.add_knobs(
            parser, "search", search.get(name).Knobs, f"index ({name})", without=("k", "similarity")
        )


def run(arguments: argparse.Namespace) -> None:
    # Check the flags before anything is loaded.
    if arguments.k < 1:
        raise ValueError(f"--k must be at least 1, got {arguments.k}.")
    if arguments.least is not None and not math.isfinite(arguments.least):
        raise ValueError(f"--least must be a finite number, got {arguments.least}.")
    if not arguments.image and arguments.text is None:
        raise ValueError("There is nothing to search with; name an image, or give --text.")
    import numpy as np

    model = model_of(arguments)
    like = model.embed(arguments.like) if arguments.like else ()
    unlike = model.embed(arguments.unlike) if arguments.unlike else ()
    # Each query is a name and its vectors [n d]; --together makes one query of all.
    queries: list[tuple[str, Any]] = []
    if arguments.image:
        pictures = [_piped() if word == "-" else word for word in arguments.image]
        queries += zip(arguments.image, model.embed(pictures)[:, None], strict=True)
    if arguments.text is not None:
        queries.append((arguments.text, model.embed_text(arguments.text)))
    if arguments.together and len(queries) > 1:
        queries = [("all", np.concatenate([vectors for _, vectors in queries]))]
    # Search for each query; the table's rows are its hits.
    rows = []
    hits = []
    for name, vectors in queries:
        hits_of_query = model.search(
            vectors,
            arguments.k,
            together=arguments.together or "best",
            like=like,
            unlike=unlike,
            unknown=arguments.unknown,
        )
        hits += hits_of_query
        query_rows = [
            _row(hit, model, arguments) for hit in hits_of_query if _is_shown(hit, arguments)
        ]
        if arguments.unknown and not hits_of_query:
            query_rows = [
                {"rank": None, "score": None, "same": None, "class": "unknown", "image": None}
            ]
        if len(queries) > 1:
            query_rows = [{"query": name, **row} for row in query_rows]
        rows += query_rows
    show(rows, as_json=arguments.json, empty="No image has that score.")
    replaced = model.replaced(hits)
    if replaced:
        say(f"Note: {replaced}")
    # Say what was searched, and what an approximate index finds of it.
    searched = model.searched
    line = f"Searched in {searched.title}, {model.run.origin(arguments.split).words}"
    if model.recall is not None:
        line += f"; {searched.approximate} finds {model.recall:.1%} of the ten nearest, "
        line += "measured on rows of the gallery against exact search"
    say(f"{line}.")


def _is_shown(hit: Neighbour, arguments: argparse.Namespace) -> bool:
    return arguments.least is None or hit.score >= arguments.least


def _row(hit: Neighbour, model: Model, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return one line of the table: rank, score, probability of the same class, class, image."""
    row: dict[str, Any] = {"rank": hit.rank, "score": round(hit.score, 4)}
    if arguments.unknown:
        row["same"] = round(hit.same or 0.0, 4)
    if arguments.unknown or model.searched.classes:
        row["class"] = hit.class_name or None
    row["image"] = hit.file or hit.key
    return row


def model_of(arguments: argparse.Namespace) -> Model:
    """Load the model that the flags name, and embed what it searches.

    Raises:
        ValueError: there is no such run, gallery or index.
    """
    import lab.runs

    # before what takes seconds to load
    run = lab.runs.open(arguments.run, arguments.runs, arguments.allow)
    for flag, value in (("--gallery", arguments.gallery), ("--search", arguments.search)):
        if arguments.index and value:
            raise ValueError(f"--index names what is searched and how; leave out {flag} {value}.")
    import lab
    import lab.search
    from lab.cli import _flags
    from lab.cli._progress import drain
    from lab.data.images.folders import problems_sentence

    name = arguments.search or "exact"
    knobs = _flags.collect(arguments, "search", lab.search.get(name).Knobs)
    index = Path(arguments.index) if arguments.index else name
    model = lab.load(
        run, arguments.split, arguments.gallery, arguments.runs, arguments.encoder, index, **knobs
    )
    drain(model.embedding(), arguments.quiet)
    if model.from_folder:
        say(model.images.classes_sentence)
    if model.problems:
        say(problems_sentence(model.problems))
    return model


def _piped() -> Any:
    """Read the picture on standard input."""
    from lab.data.images.reading import ImageError, open_rgb

    data = b"" if sys.stdin is None else sys.stdin.buffer.read()
    try:
        return open_rgb(data, "it")
    except ImageError as error:
        raise ValueError(
            f"Standard input is no picture, and `-` reads one from there: {error}"
        ) from None
