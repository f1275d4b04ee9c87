"""The files that TensorFlow's embedding projector reads, in the browser or in TensorBoard."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from PIL import Image

from lab.exporters._base import Exporter
from lab.exporters._rows import RowsKnobs, rows_of
from lab.runs.folder import Run

SHEET = 8192
"""Most pixels of a side of the sheet of pictures: what the projector takes."""

SIDE, SMALLEST = 48, 16
"""Pixels of a side of each picture, smaller where they would not fit; below the second a picture shows nothing, so that
there is no sheet: above 262,144 rows."""


class Projector(RowsKnobs, Exporter):
    """A folder with `tensors.tsv`, one vector a line, `metadata.tsv`, which says what each line is, `sprite.png` with
    their pictures, and `projector_config.pbtxt`, by which TensorBoard finds them: `tensorboard --logdir FOLDER`.

    projector.tensorflow.org loads the two tables by its button Load, without pictures. Both draw maps of their own, so
    ours have no place there; `--to parquet` has columns for them.

    Example (`run` is that of `lab.exporters`):
        >>> path = lab.exporters.create("projector").export(run, root / "run-projector")
        >>> (path / "metadata.tsv").read_text().splitlines()[0].split()
        ['key', 'class', 'split', 'part']
    """

    def write(self, run: Run, path: Path) -> None:
        rows = rows_of(run, self.knobs.splits)
        about = zip(rows.keys, rows.classes, rows.splits, rows.parts, strict=True)
        _write(path / "tensors.tsv", (map(str, vector) for vector in rows.vectors))
        _write(path / "metadata.tsv", [("key", "class", "split", "part"), *about])
        side = min(SIDE, SHEET // math.ceil(math.sqrt(len(rows.keys))))
        sheet = sheet_of(run, rows.keys, side) if side >= SMALLEST else None
        if sheet is not None:
            sheet.save(path / "sprite.png")
        lines = [f'  tensor_name: "{run.name}"', '  tensor_path: "tensors.tsv"', '  metadata_path: "metadata.tsv"']
        if sheet is not None:
            lines += ["  sprite {", '    image_path: "sprite.png"', *[f"    single_image_dim: {side}"] * 2, "  }"]
        config = "\n".join(["embeddings {", *lines, "}", ""])
        (path / "projector_config.pbtxt").write_text(config, encoding="utf-8")


def sheet_of(run: Run, keys: Sequence[str], side: int) -> Image.Image | None:
    """The pictures in rows of a square sheet, `side` pixels each; None where there are none or none can be read."""
    images = run.dataset()
    images.least = 2 * side
    if run.config.imported and images.root is None:
        return None  # vectors without pictures: what is known in words cannot be read at this size
    number = {key: item for item, key in enumerate(images.keys)}
    across, seen = math.ceil(math.sqrt(len(keys))), 0
    sheet = Image.new("RGB", (across * side, across * side), "white")
    for place, key in enumerate(keys):
        try:
            small = images.load(number[key]).resize((side, side), Image.Resampling.BILINEAR, reducing_gap=2)
        except (OSError, ValueError):
            continue  # it stays white: one lost picture does not lose the others
        sheet.paste(small, (place % across * side, place // across * side))
        seen += 1
    return sheet if seen else None


def _write(path: Path, lines: Iterable[Iterable[str]]) -> None:
    # The format knows no quotes: a tab or a line's end within a name would begin another column or row.
    with open(path, "w", encoding="utf-8") as file:
        file.writelines("\t".join(" ".join(word.split()) for word in line) + "\n" for line in lines)
