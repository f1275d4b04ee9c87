"""A folder of pictures, embedded by any encoder, as a run: no training, no labels needed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.core.files import check_allowed, whole
from lab.core.records import Note, Record
from lab.core.words import PROGRAM, kind_of
from lab.data import below
from lab.data.images.folders import problems_sentence
from lab.integrations.importing.run import from_embeddings, plain_name
from lab.runs.building.fingerprints import fingerprint, maker_of_run
from lab.runs.building.published import HUB
from lab.runs.execute import check_available
from lab.runs.folder import Run
from lab.runs.store import default_root, free_name, list_runs, open_run
from lab.runs.writer import Writer
from lab.search.galleries.maker import Maker

if TYPE_CHECKING:
    from lab.core.results import EmbeddingSet
    from lab.data import OfFolder
    from lab.data.images.loading import Loader
    from lab.encoders.foreign import Seen


def embed_folder(
    folder: Path | str, encoder: str, *, weights: str | None = None, seen: Seen | None = None, device: str = "auto",
    batch_size: int | None = None, workers: int | None = 0, name: str | None = None, runs: Path | str | None = None,
    allow: Iterable[str] | str = (),
) -> Generator[Record, None, Run]:  # fmt: skip
    """Embed every picture below a folder; yields progress, returns a run.

    Classes are the folders that the pictures lie in, by the rule of the data set `class_folders`: the outermost folder,
    or the one below where the outermost are called train and test. It is said what became a class, and what was left
    out: pictures that cannot be read by name, all else by number and reason.

    Args:
        allow: what a run that another account wrote may read outside its folder, as `lab.load` takes it.
        encoder: the name or folder of a trained run, or what `lab.encoders.foreign.encoder_of` takes.
        weights: file of weights for a model of timm.
        seen: how the encoder wants its images, where it does not say.
        batch_size: pictures at once, by default 8 on a processor, whose memory is then used again, and 64 on a GPU.
        workers: processes that read pictures ahead. None for one where there are many pictures and a core for it; where
            torch has several threads each reads its own, and there is none.
        name: of the run, by default after the folder.

    Raises:
        ValueError: there is no picture, or no such encoder; no run is left behind.

    Example (`root` is that of `lab.runs`):
        >>> import lab
        >>> from lab.core.streams import result_of
        >>> from PIL import Image
        >>> (root / "photos").mkdir()
        >>> for shade in (10, 120, 250):
        ...     Image.new("L", (32, 32), shade).save(root / "photos" / f"{shade}.png")
        >>> run = result_of(lab.runs.embed_folder(root / "photos", "first", runs=root))
        >>> len(run.embeddings()), run.dataset().keys[0]
        (3, '10.png')
    """
    check_allowed()
    root, folder = default_root(runs), whole(folder)
    if not folder.is_dir():
        raise ValueError(f"There is no folder {folder}.")
    name = name or free_name(root, plain_name(folder.name))
    check_available(root, name)  # before the work, not after
    images = below(folder)
    embedder = embedder_of(images, encoder, weights, seen, device, batch_size, workers, runs, allow)
    yield from notes_on(images, embedder)
    rows: EmbeddingSet = yield from embedder.embed(np.arange(len(images)))
    if embedder.loader.problems:
        yield Note(problems_sentence(embedder.loader.problems))
    keys = [Path(images.keys[item]).relative_to(folder).as_posix() for item in rows.items]
    names = [images.class_names[label] if label >= 0 else "" for label in images.labels[rows.items]]
    labels = names if any(names) else None
    # Unit vectors need nothing; a run's lengths may mean something.
    unit = None if np.allclose(np.linalg.norm(rows.vectors, axis=1), 1, atol=1e-3) else False
    run = from_embeddings(
        rows.vectors,
        labels,
        keys=keys,
        root=folder,
        encoder=encoder,
        normalise=unit,
        contents=embedder.loader.contents[rows.items],
        name=name,
        runs=root,
    )
    from lab.encoders.foreign import program_record

    with Writer(run) as writer:
        made: dict[str, Any] = {"made_by": vars(embedder.maker)}
        if kind_of(encoder) == PROGRAM:
            made["program"] = program_record(encoder)
        writer.describe(made)
    return run


def notes_on(images: OfFolder, embedder: Embedder) -> Iterator[Note]:
    """Say what is embedded: what became a class, what was left out, and whether the encoder has learnt anything."""
    yield Note(images.classes_sentence)
    if images.problems:
        yield Note(problems_sentence(images.problems))
    if embedder.untrained:
        who = embedder.maker.words
        yield Note(
            f"{who} comes without trained weights, so its vectors are of random ones: good for a first look only."
        )


ABREAST = 4
"""Pieces for each thread of torch that are embedded side by side. Two threads that share a batch wait for each other at
every layer, and take half as much again of the processor for the same pictures."""

MANY = 500
"""Pictures from which a process that reads ahead is worth its start."""


MOST_WORKERS = 128
"""Most processes that read pictures ahead, as in a training."""


Embedding = Callable[[np.ndarray], "Generator[Record, None, EmbeddingSet]"]


@dataclass(frozen=True)
class Embedder:
    """What embeds pictures.

    embed: takes positions int64 [n] of some pictures. maker: the encoder, and how it sees them. loader: reads the
    pictures, and names those that it cannot decode in its `problems`.
    settings: what else its vectors depend on, in words. untrained: its weights are random.
    """

    embed: Embedding
    maker: Maker
    loader: Loader
    settings: str = ""
    untrained: bool = False


def embedder_of(
    images: Any, word: str, weights: str | None, seen: Seen | None, device: str, batch_size: int | None,
    workers: int | None, runs: Path | str | None, allow: Iterable[str] | str = (),
) -> Embedder:  # fmt: skip
    """What embeds the images of a set, by a word of `encoder_of` or the name of a run.

    Raises:
        ValueError: there is neither such a run nor such an encoder.
    """
    if batch_size is not None and batch_size < 1:
        raise ValueError(f"At least one picture is embedded at once, got a batch size of {batch_size}.")
    if not 0 <= (workers or 0) <= MOST_WORKERS:
        raise ValueError(f"Up to {MOST_WORKERS} processes read pictures ahead, got {workers}.")
    try:
        run: Run | None = open_run(word, runs, allow)
    except ValueError:  # then the word is an encoder's
        if word.startswith(HUB):
            raise
        run = None
    if run is not None:
        if weights or (seen and any(vars(seen).values())):
            raise ValueError(
                f"The run {run.name} embeds pictures as it was trained to; leave out weights, size, mean and std."
            )
        from lab.runs.evaluate import Evaluator, open_trained

        config = run.config_of()
        if device != "auto":
            config = config.changed("training.device", device)
        if workers:
            config = config.changed("training.workers", workers)
        trained = open_trained(run, config=config)
        evaluator, loader = Evaluator(trained), trained.loader_of(images)
        return Embedder(
            lambda items: evaluator.embed(loader, items, "pictures", batch_size), maker_of_run(trained), loader
        )
    import torch

    from lab.data.images import transforms
    from lab.data.images.loading import Loader, cores, forks
    from lab.encoders.foreign import Seen, encoder_of, is_untrained, refuse_unknown
    from lab.evaluation.embedding import embed
    from lab.evaluation.mixed_precision import MixedPrecision
    from lab.kernels import allocator
    from lab.kernels.devices import device_of

    where = device_of(device)
    at_once = batch_size or (8 if where.type == "cpu" else 64)
    if where.type == "cpu":
        allocator.keep_freed_memory()
    refuse_unknown(word, [run.name for run in list_runs(runs)])
    encoder = encoder_of(word, weights, seen or Seen()).to(where)
    transform = transforms.testing(encoder.input_size, encoder.mean, encoder.std, own=encoder.preprocessing)
    images.least = 5 * encoder.input_size // 2  # twice what the resizing leaves, so that nobody sees it
    threads = torch.get_num_threads() if where.type == "cpu" else 1
    if workers is None:  # none where processes are started anew instead of forked, which takes seconds
        workers = int(threads == 1 and len(images) >= MANY and forks() and cores() > 1)
    loader = Loader(images, transform, workers=workers, with_contents=True)
    precision = MixedPrecision(device=where)
    abreast = ABREAST * threads if threads > 1 and workers == 0 else 1
    knobs: Any = dict(what="pictures", batch_size=at_once, precision=precision, abreast=abreast)
    return Embedder(
        lambda items: embed(encoder, loader, items, **knobs),
        Maker(word, fingerprint(encoder)),
        loader,
        f"weights {weights}, {encoder.input_size} pixels, {encoder.mean}, {encoder.std}, {encoder.preprocessing}, "
        f"{at_once} at once",
        is_untrained(word),
    )
