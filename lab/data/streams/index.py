"""An index of the images in large files: built once, memory-mapped, and sorted by class.

Opening it costs the same for a thousand images and for a hundred million: only the rows that are used are read.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lab.core import arrays
from lab.core.arrays import Names
from lab.core.files import cache_folder

COLUMNS = ("file", "place", "size", "labels", "bounds", "names", "name_ends")


@dataclass(frozen=True)
class IndexedImage:
    """One image: the number of its file, its position and size there, the name of its class, and its own name."""

    file: int
    place: int
    size: int
    class_name: str
    name: str


class ImageIndex:
    """Columns by row, all memory-mapped; rows of one class are contiguous.

    file, place, size: int [n], the position of an image in the files. labels: int64 [n], ascending. bounds: int64
    [c+1], class c owns the rows bounds[c]:bounds[c+1]. names: of the images. files, class_names,
    problems: lists of str.
    """

    def __init__(self, path: Path):
        about = arrays.header(path)
        columns = arrays.mapped(path, COLUMNS)
        self.path = path
        self.files: list[str] = about["files"]
        self.class_names: list[str] = about["class_names"]
        self.problems: list[str] = about["problems"]
        self.file = columns["file"]
        self.place = columns["place"]
        self.size = columns["size"]
        self.labels = columns["labels"]
        self.bounds = columns["bounds"]
        self.names = Names(columns["names"], columns["name_ends"])

    def __len__(self) -> int:
        return len(self.labels)

    def __reduce__(self) -> Any:
        return ImageIndex, (self.path,)


def built(kind: str, identity: Sequence[Any], files: Sequence[str], images: Any) -> ImageIndex:
    """Return the index of some files, from the cache folder or built: `images()` goes through all images once.

    Args:
        identity: facts that change with the index: the address, each file's size and state, columns.

    Raises:
        ValueError: there is no image.
        OSError: the disk is full or the folder of caches cannot be written.
    """
    digest = hashlib.sha256(json.dumps([kind, list(identity), list(files)]).encode()).hexdigest()[
        :16
    ]
    path = cache_folder() / "indexes" / f"{kind}-{digest}.safetensors"
    if path.is_file():
        try:
            return ImageIndex(path)
        except arrays.Unreadable:
            pass  # it can be made again
    problems: list[str] = []
    write(path, list(files), images(problems), problems)
    return ImageIndex(path)


def write(
    path: Path, files: list[str], images: Iterable[IndexedImage], problems: list[str]
) -> None:
    """Write an index; memory while it is built is some 100 bytes an image and the names.

    Raises:
        ValueError: there is no image.
    """
    file = array("i")
    place = array("q")
    size = array("q")
    label = array("q")
    names: list[str] = []
    number: dict[str, int] = {}
    for image in images:
        file.append(image.file)
        place.append(image.place)
        size.append(image.size)
        label.append(number.setdefault(image.class_name, len(number)))
        names.append(image.name)
    if not file:
        reason = f" {problems[0]}" if problems else ""
        raise ValueError(f"{Path(files[0]).parent} holds no image with a class.{reason}")
    # Number the classes by name, and order the images by class.
    class_names = sorted(number)
    renumbered = np.empty(len(number), np.int64)
    renumbered[[number[name] for name in class_names]] = np.arange(len(number))
    labels = renumbered[np.frombuffer(label, np.int64)]
    order = np.argsort(labels, kind="stable")
    labels = labels[order]
    packed = Names.of(names[row] for row in order)
    columns: dict[str, np.ndarray] = {
        "file": np.frombuffer(file, np.int32)[order],
        "place": np.frombuffer(place, np.int64)[order],
        "size": np.frombuffer(size, np.int64)[order],
        "labels": labels,
        "bounds": np.searchsorted(labels, np.arange(len(number) + 1)),
        "names": packed.joined,
        "name_ends": packed.ends,
    }
    arrays.write(
        path, columns, {"files": files, "class_names": class_names, "problems": problems[:100]}
    )
