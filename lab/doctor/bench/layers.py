"""Which layer of EfficientNet-Lite0 to search with, on five sets, two of which are drawn here: the table of
docs/layers.md."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from lab.adaptation import measure_layers
from lab.doctor.bench._measure import BenchRow
from lab.doctor.bench.label_errors import DRAWN, Drawn


def measure(
    sets: tuple[str, ...] = ("emoji7", "letters", "digits", "textures", "shapes"),
) -> Iterator[BenchRow]:
    """Seconds, first answers right of the output and of the chosen layer, and the gain with its interval."""
    for name in sets:
        with tempfile.TemporaryDirectory() as root:
            source = _folder(name, Path(root) / name) if name in DRAWN else name
            begin = time.perf_counter()
            found = measure_layers(source, runs=Path(root) / "runs", device="cpu").scores
            seconds = time.perf_counter() - begin
        gain = found.difference
        setting = f"{name}, {len(found.labels):,} queries of {gain.classes:,} classes"
        chosen = " and ".join(dict.fromkeys(one.words for one in found.chosen))
        against = f"95 % interval {gain.low:+.3f} to {gain.high:+.3f}"
        yield BenchRow("layers", "seconds", setting, seconds, "s")
        yield BenchRow("layers", "r@1 as it came", setting, float(found.right[0].mean()), "share")
        yield BenchRow(
            "layers", "r@1 of the chosen layer", setting, float(found.told.mean()), "share", chosen
        )
        yield BenchRow("layers", "r@1, difference", setting, gain.mean, "share", against)


def _folder(kind: str, folder: Path) -> Path:
    """Write the drawn pictures as class folders."""
    images = Drawn(kind)
    for number, (pixels, label) in enumerate(
        zip(images.pixels, images.labels.tolist(), strict=True)
    ):
        place = folder / f"{label:03d}"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(place / f"{number}.png")
    return folder
