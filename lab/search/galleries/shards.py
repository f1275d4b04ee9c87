"""Shards: safetensors files of some rows each, with labels, item numbers and names.

Every shard is written whole or not at all, so a writer that was killed goes on behind the last one. They are read by
memory map: opening costs nothing, and the pages that were read are the system's to drop.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Required

import numpy as np
from pydantic import Field

from lab.core import arrays, stored
from lab.core.files import check_allowed, inside, write_json
from lab.core.results import EmbeddingSet
from lab.core.stored import Count, Fields, Flag, Stored, Texts
from lab.search.galleries.rows import LabelRows, Rows

FILE = "gallery.json"
"""What the folder says of itself: the plan of who wrote it, rows of each shard, and whether it is complete."""

SHARD = 100_000
"""Rows of a shard, unless told otherwise: 50 MB at 128 numbers a row."""

ABSENT = -(2**62)
"""No gallery has labels near it."""

UNIT = 1e-5
"""How far from 1 the length of a unit row may be."""

COLUMNS = ("vectors", "labels", "items", "names", "name_ends")


class Gallery(EmbeddingSet):
    """A gallery in shards: an embedding set whose arrays are read from the disk as they are asked for.

    about: what the folder says of itself.
    """

    def __init__(self, folder: Path, about: dict[str, Any]):
        parts = [
            _shard(inside(folder, shard_name(number)), rows)
            for number, rows in enumerate(about["shards"])
        ]
        labels = LabelRows([part["labels"] for part in parts])
        super().__init__(
            Rows([part["vectors"] for part in parts]),
            labels,
            Rows([part["items"] for part in parts]),
        )
        object.__setattr__(self, "folder", folder)
        object.__setattr__(self, "about", about)
        object.__setattr__(
            self, "_names", [arrays.Names(part["names"], part["name_ends"]) for part in parts]
        )

    folder: Path
    about: dict[str, Any]
    _names: list[arrays.Names]

    def __reduce__(self) -> Any:
        return open_gallery, (self.folder,)

    def name(self, row: int) -> str:
        """What a person knows a row by: the key of its image."""
        asked = row
        for part in self._names:
            if row < len(part):
                return part[row]
            row -= len(part)
        raise IndexError(
            f"The gallery {self.folder} has no row {asked}; its rows are 0 to {len(self) - 1}."
        )

    def class_name(self, label: int) -> str:
        """Return the name of a class, or its number if it has no name; "" for an image without a class."""
        names = self.about.get("class_names") or []
        if label < 0:
            return ""
        if label < len(names):
            return names[label]
        return str(label)

    def row(self, position: int) -> tuple[str, str, int, str]:
        """Name, class, item number and file of a row; shards know of no file."""
        return (
            self.name(position),
            self.class_name(int(self.labels[position])),
            int(self.items[position]),
            "",
        )

    @property
    def unit(self) -> bool:
        """Whether every row is of unit length, as its writer found."""
        return bool(self.about.get("unit"))

    @property
    def digest(self) -> str:
        """Another one for another gallery: of the checksums in the shards' headers, without reading the vectors."""
        sums = [arrays.stamp(self.folder / shard_name(i)) for i in range(len(self._names))]
        identity = json.dumps([self.about["plan"], self.about["shards"], sums], sort_keys=True)
        return hashlib.sha256(identity.encode()).hexdigest()[:16]


def open_gallery(folder: Path | str) -> Gallery:
    """The gallery in a folder; reads no vectors.

    Raises:
        ValueError: there is none, or its writer has not finished.
    """
    folder = Path(folder).expanduser()
    about = _about(folder)
    if about is None:
        raise ValueError(
            f"{folder} holds no gallery; `lab embed FOLDER --encoder RUN --shards {folder}` writes one."
        )
    if not about.get("complete"):
        raise ValueError(
            f"The gallery {folder} is not finished: it has {sum(about['shards']):,} rows so far. The command that "
            "began it goes on with it."
        )
    return Gallery(folder, about)


def in_memory(queries: Gallery, gallery: Gallery) -> EmbeddingSet:
    """All rows of a small gallery, with the label numbers of another one whose classes have the same names.

    Those of a class that the other has not get labels that it does not use: nothing is relevant to them.
    """
    number = {name: label for label, name in enumerate(gallery.about.get("class_names") or [])}
    names = queries.about.get("class_names") or []
    labels = queries.labels[:]
    if names and number:
        there = np.array(
            [number.get(name, ABSENT + label) for label, name in enumerate(names)], np.int64
        )
        labels[labels >= 0] = there[labels[labels >= 0]]
    return EmbeddingSet(queries.vectors[:], labels, queries.items[:])


def _shard(path: Path, rows: int) -> dict[str, np.ndarray]:
    """The arrays of a shard of so many rows, by memory map.

    Raises:
        ValueError: the file is damaged, or is of another gallery.
    """
    part = arrays.mapped(path, COLUMNS)
    columns = {"vectors": f"float {rows} d", "labels": f"int {rows}", "items": f"int {rows}"}
    arrays.check_shapes(path, part, {**columns, "names": "int b", "name_ends": f"int {rows}"})
    ends = part["name_ends"]
    if rows and not (
        int(ends[0]) >= 0 and (np.diff(ends) >= 0).all() and int(ends[-1]) <= len(part["names"])
    ):
        raise arrays.unreadable(path, "its names do not end where they should")
    return part


def is_gallery(folder: Path | str) -> bool:
    """Whether a folder holds a gallery in shards."""
    return (Path(folder).expanduser() / FILE).is_file()


def shard_name(number: int) -> str:
    """Name of the file of a shard."""
    return f"shard-{number:05d}.safetensors"


class Writer:
    """Writes a gallery shard by shard; one that finds shards of the same plan goes on behind them.

    Args:
        folder: made unless it is there.
        plan: what decides the contents (encoder, images, rows of a shard); as JSON.

    Raises:
        ValueError: the folder holds a gallery of another plan, or other files.
    """

    def __init__(
        self, folder: Path | str, plan: Mapping[str, Any], class_names: Sequence[str] = ()
    ):
        check_allowed()
        self.folder = Path(folder).expanduser()
        self.about: dict[str, Any] = {
            "plan": dict(plan),
            "class_names": list(class_names),
            "shards": [],
        }
        there = _about(self.folder)
        if there is None:
            if self.folder.is_dir() and any(self.folder.iterdir()):
                raise ValueError(
                    f"{self.folder} holds other files; name a new folder for the shards."
                )
            self.folder.mkdir(parents=True, exist_ok=True)
            self._write(complete=False)
            return
        for what, planned in json.loads(json.dumps(self.about["plan"])).items():
            if there["plan"].get(what) != planned:
                raise ValueError(
                    f"{self.folder} holds a gallery that was made otherwise ({what} differs); name another "
                    "folder, or move this one away."
                )
        self.about = there

    @property
    def shards(self) -> int:
        """How many are written."""
        return len(self.about["shards"])

    @property
    def complete(self) -> bool:
        return bool(self.about.get("complete"))

    @property
    def seen(self) -> int:
        """How many images are dealt with, those that could not be read among them."""
        return int(self.about.get("seen", 0))

    def skip(self, images: int) -> None:
        """Say that so many images could not be read: no shard is made of them."""
        self.about["seen"] = self.seen + images
        self._write(complete=False)

    def add(self, rows: EmbeddingSet, names: Sequence[str], seen: int | None = None) -> None:
        """Write the next shard: n rows with their names, out of `seen` images (by default n).

        Raises:
            ValueError: a number is NaN or infinity. OSError: the disk is full; the shards before stay.
        """
        lengths = np.sqrt(np.einsum("nd,nd->n", rows.vectors, rows.vectors, dtype=np.float64))
        if not np.isfinite(lengths).all():
            raise ValueError(
                f"Row {np.flatnonzero(~np.isfinite(lengths))[0]} of a shard holds NaN or infinity."
            )
        unit = np.abs(lengths - 1).max(initial=0) < UNIT
        packed = arrays.Names.of(names)
        columns: dict[str, np.ndarray] = {
            "vectors": np.asarray(rows.vectors, np.float32),
            "labels": np.asarray(rows.labels, np.int64),
            "items": np.asarray(rows.items, np.int64),
            "names": packed.joined,
            "name_ends": packed.ends,
        }
        arrays.write(self.folder / shard_name(self.shards), columns, {"shard": self.shards})
        self.about["shards"].append(len(rows))
        self.about["seen"] = self.seen + (len(rows) if seen is None else seen)
        self.about["unit"] = bool(self.about.get("unit", True) and unit)
        self._write(complete=False)

    def finish(self) -> Gallery:
        """Say that it is complete, and open it.

        Raises:
            ValueError: no shard was written.
        """
        if not sum(self.about["shards"]):
            raise ValueError("There is nothing to write: no image could be embedded.")
        self._write(complete=True)
        return open_gallery(self.folder)

    def _write(self, complete: bool) -> None:
        self.about["complete"] = complete
        write_json(self.folder / FILE, self.about)


class GalleryFile(Stored, total=False):
    """What the folder says of itself. shards: rows of each. seen: images that are dealt with. unit: see `Gallery`."""

    plan: Required[Fields]
    class_names: Texts
    shards: Required[Annotated[list[Count], Field(fail_fast=True)]]
    seen: Count
    unit: Flag
    complete: Flag


def _about(folder: Path) -> Any:
    path = inside(folder, FILE)
    if not path.is_file():
        return None
    try:
        return stored.read(path, GalleryFile, stored.MOST_LISTED)
    except ValueError as error:
        raise ValueError(f"{error} Move the folder away, and write the gallery anew.") from None
