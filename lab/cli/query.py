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
    from lab.model import Model

HEADING, PLACE = "Search and exchange", 20


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    flag = parser.add_argument
    add_flags(parser, "run", "runs", "json", "encoder", "allow")
    flag("image", nargs="*", help="image files; - reads one from standard input")
    flag("--text", metavar="WORDS", help="search with words, if the run's encoder embeds words, too")
    together = "one search with all images, by their mean or by the best match of any"
    flag("--together", choices=("mean", "best"), help=together)
    towards, away = "move the search towards these images", "move the search away from these images"
    flag("--like", nargs="+", metavar="IMAGE", default=[], help=towards)
    flag("--unlike", nargs="+", metavar="IMAGE", default=[], help=away)
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
    if (name := _flags.early(words, search="store").search) in offered:  # asked for: an index takes seconds to load
        _flags.add_knobs(parser, "search", search.get(name).Knobs, f"index ({name})", without=("k", "similarity"))


def run(arguments: argparse.Namespace) -> None:
    if arguments.k < 1:
        raise ValueError(f"--k must be at least 1, got {arguments.k}.")
    if arguments.least is not None and not math.isfinite(arguments.least):
        raise ValueError(f"--least must be a finite number, got {arguments.least}.")
    if not arguments.image and arguments.text is None:
        raise ValueError("There is nothing to search with; name an image, or give --text.")
    import numpy as np

    model = model_of(arguments)
    pictures = [_piped() if word == "-" else word for word in arguments.image]
    like = model.embed(arguments.like) if arguments.like else ()
    unlike = model.embed(arguments.unlike) if arguments.unlike else ()
    queries = list(zip(arguments.image, model.embed(pictures)[:, None] if pictures else [], strict=True))
    if arguments.text is not None:
        queries.append((arguments.text, model.embed_text(arguments.text)))
    if arguments.together and len(queries) > 1:
        queries = [("all", np.concatenate([vectors for _, vectors in queries]))]
    searched = model.searched
    rows, found = [], []
    for name, vectors in queries:
        listed = model.search(
            vectors, arguments.k, together=arguments.together or "best", like=like, unlike=unlike,
            unknown=arguments.unknown,
        )  # fmt: skip
        found += listed
        first = {"query": name} if len(queries) > 1 else {}
        if arguments.unknown and not listed:
            rows.append(first | {"rank": None, "score": None, "same": None, "class": "unknown", "image": None})
        rows += [
            first
            | {"rank": one.rank, "score": round(one.score, 4)}
            | ({"same": round(one.same or 0.0, 4)} if arguments.unknown else {})
            | ({"class": one.class_name or None} if searched.classes or arguments.unknown else {})
            | {"image": one.file or one.key}
            for one in listed
            if arguments.least is None or one.score >= arguments.least
        ]
    show(rows, as_json=arguments.json, empty="No image has that score.")
    recall = model.recall
    share = "" if recall is None else f"; {searched.approximate} finds {recall:.1%} of the ten nearest"
    share += ", measured on rows of the gallery against exact search" if share else ""
    if replaced := model.replaced(found):
        say(f"Note: {replaced}")
    say(f"Searched in {searched.title}, {model.run.origin(arguments.split).words}{share}.")


def model_of(arguments: argparse.Namespace) -> Model:
    """The model that the flags name; what it searches is embedded.

    Raises:
        ValueError: there is no such run, gallery or index.
    """
    import lab.runs

    run = lab.runs.open(arguments.run, arguments.runs, arguments.allow)  # before what takes seconds to load
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
    model = lab.load(run, arguments.split, arguments.gallery, arguments.runs, arguments.encoder, index, **knobs)
    drain(model.embedding(), arguments.quiet)
    if model.from_folder:
        say(model.images.classes_sentence)
    if model.problems:
        say(problems_sentence(model.problems))
    return model


def _piped() -> Any:
    """The picture on standard input."""
    from lab.data.images.reading import ImageError, open_rgb

    try:
        return open_rgb(b"" if sys.stdin is None else sys.stdin.buffer.read(), "it")
    except ImageError as error:
        raise ValueError(f"Standard input is no picture, and `-` reads one from there: {error}") from None
