"""Search a run's gallery, or images of your own, with images of your own; prints the nearest ones.

`lab query RUN a.png b.png` searches the run's test images; `--gallery FOLDER` all images below a folder, and
`--gallery RUN` those of a run that `lab embed FOLDER --encoder RUN` made of them. A gallery may also be the folder of
shards that `lab embed --shards` wrote; it is searched without being loaded, exactly, or with `--search faiss_ivf_pq` or
`--search lancedb` by an index that is built beside it the first time. `--index` takes an index that was saved: the
folder of `lab export --to faiss`, a file by `model.save_index` or `index.save`, or any file of faiss. Each image is a
search of its own; `--together mean` or `--together best` makes one search of several, and `--like` and `--unlike` move
it towards some images and away from others.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from lab.core.records import Record
    from lab.core.results import EmbeddingSet
    from lab.galleries.shards import Gallery as Shards
    from lab.runs import Run, RunConfig
    from lab.runs.evaluate import Examiner
    from lab.search import FaissFile


Embed = Callable[..., "Generator[Record, None, EmbeddingSet]"]


def add_arguments(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    from lab import search
    from lab.cli import _flags
    from lab.cli._output import add_json

    parser.add_argument("run", help="name or folder of the run")
    parser.add_argument("image", nargs="*", help="image files; - reads one from standard input")
    parser.add_argument("--text", metavar="WORDS", help="search with words, if the run's encoder embeds words, too")
    parser.add_argument(
        "--together",
        choices=("mean", "best"),
        help="one search with all images, by their mean or by the best match of any",
    )
    parser.add_argument("--like", nargs="+", metavar="IMAGE", default=[], help="move the search towards these images")
    parser.add_argument(
        "--unlike", nargs="+", metavar="IMAGE", default=[], help="move the search away from these images"
    )
    parser.add_argument("--runs", metavar="FOLDER", help="folder of runs (default $LAB_RUNS, else runs)")
    parser.add_argument("--split", default="test", help="split to search (default test)")
    parser.add_argument(
        "--gallery",
        metavar="FOLDER|RUN",
        help="search this folder of images or of shards instead, or a run that `lab embed` made",
    )
    parser.add_argument(
        "--encoder", metavar="MODULE:FUNCTION", help="a function that makes the encoder, for a run of your own encoder"
    )
    parser.add_argument(
        "--index",
        metavar="FOLDER|FILE",
        help="search this saved index instead, such as `lab export RUN --to faiss` writes",
    )
    offered = [name for name in search.names() if name != "two_stage"]  # which needs class anchors
    parser.add_argument("--search", choices=offered, help="index to search with (default exact)")
    parser.add_argument("--k", type=int, default=10, help="neighbours to show (default 10)")
    parser.add_argument("--least", type=float, metavar="SCORE", help="show only neighbours of at least this score")
    add_json(parser)
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    early.add_argument("--search")
    if (name := early.parse_known_args(words)[0].search) in offered:  # asked for: an index takes seconds to load
        _flags.add_knobs(parser, "search", search.get(name).Knobs, f"index ({name})", without=("k", "similarity"))


@dataclass(frozen=True)
class Gallery:
    """What is searched: vectors, what a person knows the one at a position by, and what it is called.

    vectors: or a saved index, which holds them.
    """

    vectors: EmbeddingSet | FaissFile
    name: Callable[[int], dict[str, Any]]
    title: str


def run(arguments: argparse.Namespace) -> int:
    import lab.runs

    run = lab.runs.open(arguments.run, arguments.runs)  # before what takes seconds to load
    if arguments.k < 1:
        raise ValueError(f"--k must be at least 1, got {arguments.k}.")
    if not arguments.image and arguments.text is None:
        raise ValueError("There is nothing to search with; name an image, or give --text.")
    import lab.search
    from lab.cli._output import say, show
    from lab.core.results import EmbeddingSet
    from lab.runs.evaluate import examiner_of

    arguments.pictures = [_piped() if word == "-" else word for word in arguments.image]
    _readable([*arguments.pictures, *arguments.like, *arguments.unlike])
    examiner = examiner_of(run, arguments.split, _own(run, arguments.encoder))
    config = run.config_of(arguments.split)
    if arguments.index:
        index, gallery = _saved(run, arguments, examiner)
        share = ""
    else:
        gallery = _gallery(run, arguments, examiner)
        assert isinstance(gallery.vectors, EmbeddingSet)
        index, share = _index(arguments, gallery.vectors, config, run)
    queries = _queries(run, arguments, examiner.embed_of, config.similarity == "cosine")
    rows = []
    for name, vectors in queries:
        nearest = lab.search.best_of(index, vectors, k=min(arguments.k, len(gallery.vectors)))
        rows += [
            ({"query": name} if len(queries) > 1 else {})
            | {"rank": rank, "score": round(float(score), 4), **gallery.name(int(position))}
            for rank, (score, position) in enumerate(zip(*nearest, strict=True), start=1)
            if arguments.least is None or score >= arguments.least
        ]
    show(rows, as_json=arguments.json, empty="No image has that score.")
    say(f"Searched in {gallery.title}, {run.origin(arguments.split).words}{share}.")
    return 0


def _piped() -> Any:
    """The picture on standard input."""
    import sys

    from lab.data.images.reading import ImageError, open_rgb

    try:
        return open_rgb(b"" if sys.stdin is None else sys.stdin.buffer.read(), "it")
    except ImageError as error:
        raise ValueError(f"Standard input is no picture, and `-` reads one from there: {error}") from None


def _own(run: Run, word: str | None) -> Any:
    from lab.runs.own.modules import again

    return None if word is None else again(word, run.config)


def _readable(files: list[Any]) -> None:
    """Say by name what is wrong with a file, before the model is read."""
    from lab.runs.images import Unlabelled

    images = Unlabelled(files)
    for i in range(len(images)):
        images.load(i)


def _queries(run: Run, arguments: argparse.Namespace, embed: Embed, unit: bool) -> list[tuple[str, np.ndarray]]:
    """What is searched with: a name, and vectors [n d] of which the best counts."""
    import numpy as np

    import lab.search
    from lab.cli._progress import result_of
    from lab.runs.images import Unlabelled

    def rows(files: list[Any]) -> np.ndarray:
        return result_of(embed(Unlabelled(files), np.arange(len(files)), "the image"), quiet=True).vectors

    queries = [(name, row[None]) for name, row in zip(arguments.image, _some(rows, arguments.pictures), strict=True)]
    if arguments.text is not None:
        import lab

        queries.append((arguments.text, lab.load(run, arguments.split).embed_text(arguments.text)))
    if arguments.together and len(queries) > 1:
        vectors = np.concatenate([one for _, one in queries])
        queries = [("all", lab.search.mean_query(vectors, unit)[None] if arguments.together == "mean" else vectors)]
    near, far = _some(rows, arguments.like), _some(rows, arguments.unlike)
    if len(near) or len(far):
        queries = [
            (name, np.stack([lab.search.rocchio(one, near, far, unit=unit) for one in vectors]))
            for name, vectors in queries
        ]
    return queries


def _some(rows: Callable[[list[Any]], np.ndarray], files: list[Any]) -> np.ndarray | tuple[()]:
    return rows(files) if files else ()


def _index(arguments: argparse.Namespace, gallery: EmbeddingSet, config: RunConfig, run: Run) -> tuple[Any, str]:
    """The index, built or found again, and for an approximate one what it finds of what an exact one does, in words."""
    import lab.search
    from lab.cli import _flags
    from lab.galleries.shards import Gallery as Shards

    name, shards = arguments.search or "exact", gallery.folder if isinstance(gallery, Shards) else None
    knobs = _flags.collect(arguments, "search", lab.search.get(name).Knobs)
    if shards and name == "exact":
        name, knobs = "streamed", {}
    made: dict[str, Any] = dict(device=config.training.knobs.device, similarity=config.similarity, **knobs)
    index: Any = lab.search.create(name, **made)
    anchors = run.anchors(arguments.split) if name == "faiss_ivf_pq" and "lists" not in knobs else None
    if shards and getattr(index.knobs, "folder", "") is None:  # it can lie on the disk, and nobody has said where
        beside = shards / "indexes" / index.folder_name(anchors and anchors[0])
        index = lab.search.create(name, **made, folder=str(beside))
    if anchors is None:
        index.build(gallery)
    else:  # two-stage search by compressed vectors (CAM, section 3)
        index.build(gallery, anchors[0])
        name += " under the class anchors"
    if name in ("exact", "streamed", "faiss_flat"):
        return index, ""
    share = lab.search.recall(index, gallery, kept=shards and shards / "indexes" / "recall.json")
    return index, f"; {name} finds {share:.1%} of the ten nearest, measured on rows of the gallery against exact search"


def _saved(run: Run, arguments: argparse.Namespace, examiner: Examiner) -> tuple[Any, Gallery]:
    """A saved index, and what it is of.

    Raises:
        ValueError: there is none, or its vectors cannot be compared with those of this run.
    """
    import lab.search
    from lab.galleries.maker import Maker
    from lab.runs.building.fingerprints import maker_of_run

    for flag, value in (("--gallery", arguments.gallery), ("--search", arguments.search)):
        if value:
            raise ValueError(f"--index names what is searched and how; leave out {flag} {value}.")
    path, wanted = Path(arguments.index).expanduser(), run.config_of(arguments.split).similarity
    index: Any = lab.search.FaissFile(path) if lab.search.FaissFile.fits(path) else lab.search.open(path)
    whole = index if isinstance(index, lab.search.FaissFile) else index.gallery
    kind = getattr(index, "similarity", None) or index.knobs.similarity
    if kind != wanted:
        raise ValueError(
            f"{path} compares by {NEARNESS[kind]}, but {run.name} by {NEARNESS[wanted]}, so they do not belong "
            "together; make an index of vectors of this run."
        )
    made = index.about.get("made_by")
    maker = Maker(str(made.get("words")), str(made.get("weights"))) if isinstance(made, dict) else None
    note = maker_of_run(examiner.trained).note_on(maker, str(path))
    return index, Gallery(whole, _names_in(index), f"the {len(whole):,} rows of {path}{note}")


NEARNESS = {"cosine": "cosine", "euclidean": "distance"}


def _names_in(index: Any) -> Callable[[int], dict[str, Any]]:
    """What the row at a position of a saved index is shown as."""
    classes, gallery = index.about.get("class_names") or [], getattr(index, "gallery", None)

    def class_name(position: int) -> str | None:
        if gallery is None:
            return index.classes[position] if position < len(index.classes) else None
        label = int(gallery.labels[position])
        return classes[label] if 0 <= label < len(classes) else str(label) if label >= 0 else None

    def name(position: int) -> dict[str, Any]:
        known = index.names[position] if position < len(index.names) else None
        number = position if gallery is None else int(gallery.items[position])
        return {"class": class_name(position), "image": known or f"number {number}"}

    return name


def _gallery(run: Run, arguments: argparse.Namespace, examiner: Examiner) -> Gallery:
    """What is searched.

    Raises:
        ValueError: there is no such gallery, or another encoder made it.
    """
    if arguments.gallery is None:
        return _of_split(run, arguments.split)
    import lab.runs
    from lab.galleries import shards
    from lab.galleries.maker import Maker
    from lab.runs.building.fingerprints import maker_of_run, recorded

    path, maker = Path(arguments.gallery).expanduser(), maker_of_run(examiner.trained)
    if shards.is_gallery(path):
        gallery = shards.open_gallery(path)
        return _of_shards(gallery, maker.note_on(Maker.planned(gallery.about["plan"]), str(path)))
    if path.is_dir() and not (path / "config.yaml").is_file():
        return _of_folder(path, examiner.embed_of)
    try:
        other = lab.runs.open(arguments.gallery, arguments.runs)
    except ValueError:
        raise ValueError(f"--gallery {path} is neither a folder of images nor a run.") from None
    split = arguments.split if arguments.split in other.splits else "test"
    if other.path.resolve() == run.path.resolve() and split == arguments.split:
        return _of_split(run, split)
    return _of_split(other, split, maker.note_on(recorded(other, split), f"Run {other.name}"))


def _of_split(run: Run, split: str, note: str = "") -> Gallery:
    from lab.runs.images import searched

    dataset = run.dataset()
    vectors = searched(run, split, dataset)

    def name(position: int) -> dict[str, Any]:
        i = vectors.items[position]
        picture = dataset.keys[i] if dataset.root is None else str(dataset.path(i))
        return {"class": dataset.class_names[vectors.labels[position]], "image": picture}

    return Gallery(vectors, name, f"the {split} images of {run.name}{note}")


def _of_shards(vectors: Shards, note: str) -> Gallery:
    def name(position: int) -> dict[str, Any]:
        return {"class": vectors.class_name(int(vectors.labels[position])) or None, "image": vectors.name(position)}

    return Gallery(vectors, name, f"the {len(vectors):,} rows of {vectors.folder}{note}")


def _of_folder(folder: Path, embed: Embed) -> Gallery:
    import numpy as np

    from lab.cli._output import say
    from lab.cli._progress import result_of
    from lab.core.formats import counted
    from lab.runs.images import below

    images = below(folder)
    vectors = result_of(embed(images, np.arange(len(images)), f"images of {folder}"))
    for problem in images.problems:
        say(problem)
    if lost := len(images) - len(vectors):
        say(f"Left out, since no image could be read: {counted(lost, 'file')}.")
    return Gallery(vectors, lambda position: {"image": images.keys[vectors.items[position]]}, f"the images of {folder}")
