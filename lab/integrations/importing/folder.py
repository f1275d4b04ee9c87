"""Embed a folder of pictures by any encoder, as a run: no training, no labels needed."""

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
    folder: Path | str,
    encoder: str,
    *,
    weights: str | None = None,
    seen: Seen | None = None,
    device: str = "auto",
    batch_size: int | None = None,
    workers: int | None = 0,
    name: str | None = None,
    runs: Path | str | None = None,
    allow: Iterable[str] | str = (),
) -> Generator[Record, None, Run]:
    """Embed every picture below a folder; yields progress, returns a run.

    Classes are the folders of the pictures, by the rule of the data set `class_folders`: the outermost folder, or the
    one below it if the outermost are called train and test. Notes say which folders became classes, and what was left
    out: unreadable pictures by name, all else by number and reason.

    Args:
        allow: what a run that another account wrote may read outside its folder, as `lab.load` takes it.
        encoder: the name or folder of a trained run, or what `lab.encoders.foreign.encoder_of` takes.
        weights: file of weights for a model of timm.
        seen: size, mean and std of the encoder's images, where it does not say.
        batch_size: pictures at once, by default 8 on a processor, whose caches then hold them, and 64 on a GPU.
        workers: processes that read pictures ahead. None means one if there are many pictures and a core for it, and
            none if torch has several threads: each reads its own pictures.
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
    root = default_root(runs)
    folder = whole(folder)
    if not folder.is_dir():
        raise ValueError(f"There is no folder {folder}.")
    name = name or free_name(root, plain_name(folder.name))
    check_available(root, name)  # before the work, not after
    images = below(folder)
    options = EncoderOptions(weights, seen, device, batch_size, workers, runs, allow)
    embedder = embedder_of(images, encoder, options)
    yield from notes_on(images, embedder)
    rows: EmbeddingSet = yield from embedder.embed(np.arange(len(images)))
    if embedder.loader.problems:
        yield Note(problems_sentence(embedder.loader.problems))
    # Write the vectors as a run; keys are paths below the folder.
    keys = [Path(images.keys[item]).relative_to(folder).as_posix() for item in rows.items]
    names = [images.class_names[label] if label >= 0 else "" for label in images.labels[rows.items]]
    labels = names if any(names) else None
    # Unit vectors need no choice; the lengths of other vectors may have a meaning.
    is_unit = np.allclose(np.linalg.norm(rows.vectors, axis=1), 1, atol=1e-3)
    run = from_embeddings(
        rows.vectors,
        labels,
        keys=keys,
        root=folder,
        encoder=encoder,
        normalise=None if is_unit else False,
        contents=embedder.loader.contents[rows.items],
        name=name,
        runs=root,
    )
    from lab.encoders.foreign import program_record

    with Writer(run) as writer:
        facts: dict[str, Any] = {"made_by": vars(embedder.maker)}
        if kind_of(encoder) == PROGRAM:
            facts["program"] = program_record(encoder)
        writer.describe(facts)
    return run


def notes_on(images: OfFolder, embedder: Embedder) -> Iterator[Note]:
    """Say what is embedded: which folders are classes, what is left out, and whether the encoder was trained."""
    yield Note(images.classes_sentence)
    if images.problems:
        yield Note(problems_sentence(images.problems))
    if embedder.untrained:
        yield Note(
            f"{embedder.maker.words} comes without trained weights, so its vectors are of random ones: good for a "
            "first look only."
        )


ABREAST = 4
"""Parts per thread of torch that are embedded in parallel. Two threads that share a batch wait for each other at every
layer, and take half as much processor time again for the same pictures."""

MANY = 500
"""Number of pictures from which a process that reads ahead is worth its start."""


MOST_WORKERS = 128
"""Most processes that read pictures ahead, as in a training."""


Embedding = Callable[[np.ndarray], "Generator[Record, None, EmbeddingSet]"]


@dataclass(frozen=True)
class EncoderOptions:
    """How an encoder is opened and used; see `embed_folder`."""

    weights: str | None = None
    seen: Seen | None = None
    device: str = "auto"
    batch_size: int | None = None
    workers: int | None = 0
    runs: Path | str | None = None
    allow: Iterable[str] | str = ()


@dataclass(frozen=True)
class Embedder:
    """An encoder that is ready to embed the pictures of a set.

    embed: takes positions int64 [n] of some pictures. maker: the encoder, and how it sees them. loader: reads the
    pictures, and names those that it cannot decode in its `problems`.
    settings: all else that its embeddings depend on, in words. untrained: its weights are random.
    """

    embed: Embedding
    maker: Maker
    loader: Loader
    settings: str = ""
    untrained: bool = False


def embedder_of(images: Any, word: str, options: EncoderOptions) -> Embedder:
    """Open an encoder for the images of a set, by a word of `encoder_of` or the name of a run.

    Raises:
        ValueError: there is neither such a run nor such an encoder.
    """
    if options.batch_size is not None and options.batch_size < 1:
        raise ValueError(
            f"At least one picture is embedded at once, got a batch size of {options.batch_size}."
        )
    if not 0 <= (options.workers or 0) <= MOST_WORKERS:
        raise ValueError(
            f"Up to {MOST_WORKERS} processes read pictures ahead, got {options.workers}."
        )
    try:
        run: Run | None = open_run(word, options.runs, options.allow)
    except ValueError:  # then the word is an encoder's
        if word.startswith(HUB):
            raise
        run = None
    if run is not None:
        return _embedder_of_run(images, run, options)
    return _embedder_of_encoder(images, word, options)


def _embedder_of_run(images: Any, run: Run, options: EncoderOptions) -> Embedder:
    if options.weights or (options.seen and any(vars(options.seen).values())):
        raise ValueError(
            f"The run {run.name} embeds pictures as it was trained to; leave out weights, size, mean and std."
        )
    from lab.runs.evaluate import Evaluator, open_trained

    config = run.config_of()
    if options.device != "auto":
        config = config.changed("training.device", options.device)
    if options.workers:
        config = config.changed("training.workers", options.workers)
    trained = open_trained(run, config=config)
    evaluator = Evaluator(trained)
    loader = trained.loader_of(images)

    def embed_items(items: np.ndarray) -> Generator[Record, None, EmbeddingSet]:
        return evaluator.embed(loader, items, "pictures", options.batch_size)

    return Embedder(embed_items, maker_of_run(trained), loader)


def _embedder_of_encoder(images: Any, word: str, options: EncoderOptions) -> Embedder:
    import torch

    from lab.data.images import transforms
    from lab.data.images.loading import Loader, cores, forks
    from lab.encoders.foreign import Seen, encoder_of, is_untrained, refuse_unknown
    from lab.evaluation.embedding import embed
    from lab.evaluation.mixed_precision import MixedPrecision
    from lab.kernels import allocator
    from lab.kernels.devices import device_of

    device = device_of(options.device)
    on_cpu = device.type == "cpu"
    batch_size = options.batch_size or (8 if on_cpu else 64)
    if on_cpu:
        allocator.keep_freed_memory()
    # Build the encoder and the images it sees.
    refuse_unknown(word, [run.name for run in list_runs(options.runs)])
    encoder = encoder_of(word, options.weights, options.seen or Seen()).to(device)
    transform = transforms.testing(
        encoder.input_size, encoder.mean, encoder.std, own=encoder.preprocessing
    )
    # decode at twice the size after resizing: the difference is invisible
    images.least = 5 * encoder.input_size // 2
    # Decide who reads pictures: worker processes, or the threads of torch.
    threads = torch.get_num_threads() if on_cpu else 1
    workers = options.workers
    if workers is None:  # none where processes are spawned and not forked, which takes seconds
        workers = int(threads == 1 and len(images) >= MANY and forks() and cores() > 1)
    loader = Loader(images, transform, workers=workers, with_contents=True)
    abreast = ABREAST * threads if threads > 1 and workers == 0 else 1

    def embed_items(items: np.ndarray) -> Generator[Record, None, EmbeddingSet]:
        return embed(
            encoder,
            loader,
            items,
            what="pictures",
            batch_size=batch_size,
            precision=MixedPrecision(device=device),
            abreast=abreast,
        )

    settings = (
        f"weights {options.weights}, {encoder.input_size} pixels, {encoder.mean}, {encoder.std}, "
        f"{encoder.preprocessing}, {batch_size} at once"
    )
    return Embedder(
        embed_items, Maker(word, fingerprint(encoder)), loader, settings, is_untrained(word)
    )
