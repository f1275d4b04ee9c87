"""Embed a folder of pictures into shards: for galleries that do not fit into memory."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lab.core.files import whole
from lab.core.formats import counted
from lab.core.records import Note, Record
from lab.core.results import EmbeddingSet
from lab.data import below
from lab.data.images.folders import problems_sentence
from lab.evaluation.embedding import NothingEmbedded
from lab.integrations.importing.folder import Embedding, EncoderOptions, embedder_of, notes_on
from lab.search.galleries.shards import SHARD, Gallery, Writer, open_gallery

if TYPE_CHECKING:
    from lab.encoders.foreign import Seen


def embed_shards(
    folder: Path | str,
    encoder: str,
    shards: Path | str,
    *,
    rows: int = SHARD,
    weights: str | None = None,
    seen: Seen | None = None,
    device: str = "auto",
    batch_size: int | None = None,
    workers: int | None = 0,
    runs: Path | str | None = None,
    allow: Iterable[str] | str = (),
) -> Generator[Record, None, Gallery]:
    """Embed every picture below a folder, `rows` of them a shard; yields progress, returns the gallery.

    Memory is that of one shard and of the list of files. After a kill, the same call continues behind the last whole
    shard, with the same bits. Classes and unreadable pictures are as in `embed_folder`.

    Args:
        encoder, weights, seen, device, batch_size, workers, runs, allow: as in `embed_folder`.
        shards: folder to write into, created if there is none.
        rows: pictures of a shard.

    Raises:
        ValueError: there is no picture or no such encoder; or `shards` holds something else.

    Example (`root` is that of `lab.runs`):
        >>> import lab
        >>> from lab.core.streams import result_of
        >>> from PIL import Image
        >>> (root / "pictures").mkdir()
        >>> for shade in (10, 120, 250):
        ...     Image.new("L", (32, 32), shade).save(root / "pictures" / f"{shade}.png")
        >>> gallery = result_of(embed_shards(root / "pictures", "first", root / "shards", rows=2, runs=root))
        >>> len(gallery), gallery.about["shards"], gallery.name(2).endswith("250.png")
        (3, [2, 1], True)
    """
    folder = whole(folder)
    if not folder.is_dir():
        raise ValueError(f"There is no folder {folder}.")
    if rows < 1:
        raise ValueError(f"A shard needs at least one picture, got {rows}.")
    images = below(folder)
    # Each picture without a class has another number below 0, so that nothing is a true match of it.
    labels = np.where(images.labels < 0, -1 - np.arange(len(images)), images.labels)
    options = EncoderOptions(weights, seen, device, batch_size, workers, runs, allow)
    embedder = embedder_of(images, encoder, options)
    # The plan tells whether shards that are there were written by the same call.
    plan = {
        "encoder": embedder.maker.words,
        "weights": embedder.maker.weights,
        "settings": embedder.settings,
        "pictures": _state(images.keys),
        "rows of a shard": rows,
    }
    writer = Writer(shards, plan, images.class_names)
    if writer.complete:
        return open_gallery(shards)
    yield from notes_on(images, embedder)
    if writer.seen:
        yield Note(
            f"{writer.seen:,} of {len(images):,} pictures were embedded before; it goes on behind them."
        )
    while writer.seen < len(images):
        yield from _next_shard(writer, images.keys, labels, embedder.embed, rows)
    lost = len(images) - sum(writer.about["shards"])
    if lost:
        verb = "is" if lost == 1 else "are"
        yield Note(f"{counted(lost, 'picture')} cannot be decoded and {verb} left out.")
    if embedder.loader.problems:  # an interrupted call has reported its own
        yield Note(problems_sentence(embedder.loader.problems))
    return writer.finish()


def _state(files: Sequence[str]) -> str:
    """Return sixteen letters that change when a picture is added, removed, renamed or replaced: names, sizes, times."""
    digest = hashlib.sha256()
    for file in files:
        facts = Path(file).stat()
        digest.update(f"{file}\0{facts.st_size} {facts.st_mtime_ns}\0".encode())
    return digest.hexdigest()[:16]


def _next_shard(
    writer: Writer, keys: Sequence[str], labels: np.ndarray, embedded: Embedding, rows: int
) -> Generator[Record, None, None]:
    items = np.arange(writer.seen, min(len(keys), writer.seen + rows))
    try:
        embeddings = yield from embedded(items)
    except NothingEmbedded:
        writer.skip(len(items))  # none of them could be read
        return
    part = EmbeddingSet(embeddings.vectors, labels[embeddings.items], embeddings.items)
    writer.add(part, [keys[item] for item in embeddings.items], len(items))
