"""Features of several layers of a network out of one pass over the images, each kept like other features.

Rows go to one file a layer while images are embedded, so memory holds one part of the images and then one layer.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch

from lab.core import arrays
from lab.core.records import Embedding, Record
from lab.core.results import EmbeddingSet
from lab.data import ImageSet
from lab.data.images.features import Features, kept, place
from lab.data.images.loading import Loader
from lab.encoders import EveryLayer, Layer
from lab.encoders.adapted import Adapted
from lab.evaluation.embedding import NothingEmbedded, embed
from lab.evaluation.mixed_precision import MixedPrecision
from lab.kernels.devices import device_of
from lab.runs.building.on_features import ABREAST, AT_ONCE, source_of
from lab.runs.building.parts import testing_transform
from lab.runs.config import RunConfig

PART = 2_048
"""Images whose features of all layers are held at once."""

WHAT = "images once, all layers"
"""How progress calls the pass."""


def keep_layers(
    encoder: Adapted, config: RunConfig, images: ImageSet, root: Path, layers: Sequence[Layer]
) -> Generator[Record, None, dict[Layer, Path]]:
    """Make the features of these layers that are not kept yet, all in one pass; yields progress.

    Args:
        root: the folder of runs, beside which they are kept.

    Returns:
        layer to the file of its features, which `kept_rows` reads.

    Raises:
        ValueError: no image can be read, or the folder cannot be written.
    """
    files = {layer: place(root, source_of(encoder, config, layer), images) for layer in layers}
    missing = [layer for layer, file in files.items() if kept(file, images) is None]
    if missing:
        folder = next(iter(files.values())).parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            scratch = Path(tempfile.mkdtemp(prefix="layers-", dir=folder))
        except OSError as error:
            raise ValueError(
                f"Features of layers are kept in {folder}, which cannot be written: {error}."
            ) from None
        try:
            yield from _one_pass(
                encoder, config, images, scratch, {layer: files[layer] for layer in missing}
            )
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return files


def kept_rows(file: Path, images: ImageSet) -> Features:
    """Features of one layer that `keep_layers` has kept.

    Raises:
        ValueError: they are gone.
    """
    found = kept(file, images)
    if found is None:
        raise ValueError(
            f"{file} was removed or changed while it was used; give the command again."
        )
    return found


def _one_pass(
    encoder: Adapted,
    config: RunConfig,
    images: ImageSet,
    scratch: Path,
    files: Mapping[Layer, Path],
) -> Generator[Record, None, None]:
    """Embed every image once, and write the features of each layer."""
    device = device_of(config.training.knobs.device)
    network = EveryLayer(encoder.whole_network, tuple(files), encoder.input_size).to(device)
    threads = torch.get_num_threads() if device.type == "cpu" else 1
    loader = Loader(images, testing_transform(config, encoder), with_contents=True)
    ends = np.cumsum(network.widths)[:-1]
    items = []
    with ExitStack() as stack:
        parts: list[BinaryIO] = []
        for number in range(len(files)):
            parts.append(stack.enter_context(open(scratch / str(number), "wb")))
        for start in range(0, len(images), PART):
            making = embed(
                network,
                loader,
                np.arange(start, min(start + PART, len(images))),
                what=WHAT,
                batch_size=AT_ONCE if device.type == "cpu" else 4 * AT_ONCE,
                precision=MixedPrecision(config.training.knobs.precision, device),
                abreast=ABREAST * threads if threads > 1 else 1,
            )
            try:
                rows = yield from _counted_from(making, start, len(images))
            except NothingEmbedded:  # none of this part can be read
                continue
            items.append(rows.items)
            for part, columns in zip(parts, np.split(rows.vectors, ends, axis=1), strict=True):
                part.write(np.ascontiguousarray(columns, np.float32).data)
    if not items:
        first = f": {loader.problems[0].rstrip('.')}" if loader.problems else ""
        raise NothingEmbedded(f"None of {len(images):,} images can be read{first}.")

    every_item = np.concatenate(items)
    contents = loader.contents[every_item]
    for number, (width, file) in enumerate(zip(network.widths, files.values(), strict=True)):
        vectors = np.fromfile(scratch / str(number), np.float32).reshape(-1, width)
        arrays.write(file, {"vectors": vectors, "items": every_item, "contents": contents})


def _counted_from(
    making: Generator[Embedding, None, EmbeddingSet], start: int, total: int
) -> Generator[Record, None, EmbeddingSet]:
    """The same work, whose progress counts all images instead of those of one part."""
    while True:
        try:
            record = next(making)
        except StopIteration as end:
            return end.value
        yield Embedding(record.what, start + record.done, total)
