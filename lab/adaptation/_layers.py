"""Every layer of a network, measured on the classes of a source before anything is trained."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from lab.adaptation._plan import NETWORK, shared_out, source_of_head
from lab.core.formats import counted
from lab.core.layers_file import LayersFile
from lab.core.records import Note, Record
from lab.core.streams import result_of
from lab.data import ImageSet
from lab.encoders import OUTPUT, Layer, layers_in
from lab.encoders.adapted import Adapted
from lab.evaluation.layers import LayerScores, measure
from lab.runs.building.layer_features import keep_layers, kept_rows
from lab.runs.building.parts import encoder_and_loss
from lab.runs.config import RunConfig
from lab.runs.folder import Run
from lab.runs.store import default_root
from lab.runs.whole_set import side_of


@dataclass(frozen=True)
class MeasuredLayers:
    """scores: of every layer. source, network: what was measured, in words. pixels: side of the images."""

    scores: LayerScores
    source: str
    network: str
    pixels: int

    def as_json(self) -> LayersFile:
        """As `lab layers --output FILE` writes it, and the figure `which_layer` reads it."""
        found = self.scores.difference
        return {
            "source": self.source,
            "network": self.network,
            "pixels": self.pixels,
            "sentence": self.scores.sentence,
            "protocol": self.scores.protocol,
            "best": self.scores.best.words,
            "chosen": [one.words for one in self.scores.chosen],
            "gain": {"mean": found.mean, "low": _number(found.low), "high": _number(found.high)},
            "rows": self.scores.as_rows(),
        }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value


def layers_steps(
    source: Run | Path | str, *, encoder: str | None = None, weights: str | None = None, split: str | None = None,
    device: str = "auto", runs: Path | str | None = None, allow: Iterable[str] | str = (),
) -> Generator[Record, None, MeasuredLayers]:  # fmt: skip
    """Measure every layer of a network, plain and whitened; yields progress.

    Every image is embedded once, and the features of all layers are kept beside the runs, where `lab adapt` finds them.

    Args:
        source: a run, its name or folder; a folder of class folders; or the name of a data set.
        encoder: the network, as `lab embed --encoder` takes it; of a run its own, else EfficientNet-Lite0.
        weights: file of weights of the network.
        split: measure the classes of this split only, by default all. A layer that was chosen by test classes has seen
            the labels of the test.
        device: auto, cpu or cuda.
        runs: the folder of runs. allow: what a run that another account wrote may read outside its folder.

    Raises:
        ValueError: there is no such source, network or split; the network does not give its layers; or there are too
            few classes.
    """
    data, network, stem = source_of_head(source, encoder, weights, runs, allow)
    section, images = shared_out(data)
    if network.get("base") is None:
        raise ValueError(
            f"{stem} holds vectors without the network that made them, so there are no layers to measure."
        )
    if network["base"] == NETWORK:
        network["image_size"] = side_of(images)
    choice = {
        "data": section,
        "encoder": {"name": "adapted", **network, "dim": None},
        "training": {"device": device},
    }
    config = RunConfig.of(choice)
    built = cast(Adapted, encoder_and_loss(config, num_classes=2)[0])
    layers = (OUTPUT, *layers_in(built.whole_network, built.input_size))
    wanted = _items(images, split)
    files = yield from keep_layers(built, config, images, default_root(runs), layers)

    def rows() -> Iterator[tuple[Layer, np.ndarray]]:
        for layer, file in files.items():
            found = kept_rows(file, images)
            yield layer, found.vectors[np.isin(found.items, wanted)]

    first = kept_rows(files[OUTPUT], images)
    if lost := len(images) - len(first):
        yield Note(f"Left out: {counted(lost, 'image')} of {len(images):,} that cannot be read.")
    labels = images.labels[first.items[np.isin(first.items, wanted)]]
    word = str(network["base"])
    name = f"the network of {stem}" if word.startswith("{") else word
    return MeasuredLayers(measure(rows(), labels), stem, name, built.input_size)


def measure_layers(source: Run | Path | str, **choices: Any) -> MeasuredLayers:
    """Measure every layer of a network on the classes of a source; see `layers_steps`.

    Example (`root` is that of `lab.runs`):
        >>> from PIL import Image
        >>> for number in range(24):
        ...     folder = root / "squares" / f"class {number // 3}"
        ...     folder.mkdir(parents=True, exist_ok=True)
        ...     Image.new("RGB", (32, 32), (30 * (number // 3), number, 90)).save(folder / f"{number}.png")
        >>> found = measure_layers(root / "squares", encoder="small_cnn", runs=root, device="cpu")
        >>> [row["layer"] for row in found.scores.table()]
        ['output', 'layer 1', 'layer 2', 'layer 3']
    """
    return result_of(layers_steps(source, **choices))


def _items(images: ImageSet, split: str | None) -> np.ndarray:
    """The images whose classes are measured.

    Raises:
        ValueError: there is no such split.
    """
    if split is None:
        return np.arange(len(images))
    if split not in images.splits:
        raise ValueError(
            f"{images.name} has no split {split!r}; it has {', '.join(images.splits)}."
        )
    return images.splits[split].items
