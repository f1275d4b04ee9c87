"""The list of a data set's images, as plain JSON: what was read once is there again at once, and the same.

What was not read here but brought along (`Listed`) is known by its list alone.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import lab.data
from lab.core.catalog import OUTSIDE
from lab.core.image_list import ImageList
from lab.core.knobs import Unchecked
from lab.data._base import ImageRecords, ImageSet, file_digest
from lab.data._splits import Split

SIDE, MARGIN, TOP, TITLE, TEXT = 384, 24, 104, 52, 36
"""Pixels: of the card, beside and above the words (where a page writes ranks), and the height of its letters."""


class OfList(ImageSet):
    """Images, or things without a picture, that a list tells of.

    root: the folder that keys are relative to, or None: then `load` draws what is known in words.
    """

    @property
    def called(self) -> str:
        return "your data"

    def load(self, i: int) -> Image.Image:
        """The i-th picture; of what has none, a card with its class, name and attributes.

        Raises:
            ImageError: the file is missing or cannot be decoded.
        """
        if self.root is not None:
            return super().load(i)
        known = (f"{name}: {values[i]}" for name, values in self.attributes.items() if values[i])
        return text_card([self.class_name(self.labels[i]), self.keys[i], *known])

    def with_content(self, i: int) -> tuple[Image.Image, int]:
        """The i-th picture and the digest of its file; of what has none the content is unknown, 0."""
        return self.load(i), 0 if self.root is None else file_digest(self.path(i))


class Listed(OfList):
    """Those that came with their vectors: no reader can find them again."""

    Knobs = Unchecked

    @property
    def name(self) -> str:
        return OUTSIDE


def text_card(lines: Sequence[str]) -> Image.Image:
    """The first line that is not empty large, the others below it, as many as there is room for; RGB, square."""
    card = Image.new("RGB", (SIDE, SIDE), "#f3f1ec")
    draw = ImageDraw.Draw(card)
    top, size = TOP, TITLE
    for line in filter(None, lines):
        font = ImageFont.load_default(size)
        letters = max(4, int((SIDE - 2 * MARGIN) / (0.55 * size)))
        for part in textwrap.wrap(str(line), letters, max_lines=3, placeholder=" ..."):
            if top + size > SIDE - MARGIN:
                return card
            draw.text((MARGIN, top), part, fill="#22262b" if size == TITLE else "#565d66", font=font)
            top += round(1.25 * size)
        size = TEXT
    return card


def listed_as(root: Path | None, records: ImageRecords, knobs: dict[str, Any]) -> Listed:
    """Records that somebody brought, as a data set.

    Args:
        knobs: what the run's configuration says of the data.
    """
    return Listed.of_records(records, Unchecked(**knobs), root)


def file_digests(images: OfList) -> np.ndarray:
    """Return a digest of each image's file, int64 [n]; 0, for an unknown content, where there are no files."""
    if images.root is None:
        return np.zeros(len(images), np.int64)
    with ThreadPoolExecutor(8) as pool:
        digests = pool.map(file_digest, map(images.path, range(len(images))))
        return np.array(list(digests), np.int64)


def to_list(images: ImageSet) -> dict[str, Any] | None:
    """All that a reader found; None for a set that is more than a list."""
    kind = type(images)
    of_files = images.root is not None and kind.load is ImageSet.load and kind.path is ImageSet.path
    of_files = of_files and images.pixels is None
    if images.relevance or not (of_files or issubclass(kind, OfList)) or any(map(_leaves, images.keys)):
        return None
    return {
        "root": None if images.root is None else str(images.root),
        "class_disjoint": bool(images.class_disjoint),
        "keys": images.keys,
        "labels": np.maximum(images.labels, -1).tolist(),  # -1: no class
        "class_names": images.class_names,
        "super_labels": None if images.super_labels is None else np.maximum(images.super_labels, -1).tolist(),
        "super_names": images.super_names,
        "attributes": {name: values.tolist() for name, values in images.attributes.items()},
        "splits": {
            name: [split.query.tolist(), None if split.gallery is None else split.gallery.tolist()]
            for name, split in images.splits.items()
        },
        "problems": images.problems,
    }


def from_list(name: str, knobs: dict[str, Any], listed: ImageList) -> ImageSet:
    """The data set again, from what `to_list` gave. No file is looked at.

    Args:
        name: entry of `lab.data`, or `outside`.
        knobs: of that entry.
        listed: from `to_list`.

    Raises:
        ValueError: the folder of the images is gone, or this is no such list.
    """
    kind: Any = Listed if name == OUTSIDE else lab.data.get(name)
    settings = kind.Knobs(**knobs)
    try:
        root, records = read_list(listed)
        images = kind.of_records(records, settings, root, listed["class_disjoint"])
    except ValueError as error:
        raise ValueError(
            f"The list of the images is damaged ({error}); move images.json away to read them anew."
        ) from None
    if root is not None and not root.is_dir():
        raise ValueError(f"There is no folder {root} any more; its images were moved or deleted.")
    return images


def read_list(listed: ImageList) -> tuple[Path | None, ImageRecords]:
    """Root and records of a list.

    Raises:
        ValueError: its columns differ in length, a number in it is of no image or class, or an image lies outside root.
    """
    keys, class_names, super_names = listed["keys"], listed["class_names"], listed["super_names"]
    labels = _within(listed["labels"], len(class_names), least=-1)
    super_labels: np.ndarray | None = None
    if listed["super_labels"] is not None:
        super_labels = _within(listed["super_labels"], len(super_names), least=-1)
    attributes = {name: np.asarray(values, str) for name, values in listed["attributes"].items()}
    columns = [labels, *attributes.values(), *([] if super_labels is None else [super_labels])]
    if any(len(column) != len(keys) for column in columns):
        raise ValueError("columns differ in length")
    root = None if listed["root"] is None else Path(listed["root"])
    if root is not None and (outside := next(filter(_leaves, keys), None)):
        raise ValueError(f"{outside!r} is not below the images' folder")

    def places(part: Any) -> Any:
        return None if part is None else _within(part, len(keys))

    splits = {}
    for split, (query, gallery) in listed["splits"].items():
        if query is None:
            raise ValueError(f"the split {split!r} has no queries")
        splits[split] = Split(_within(query, len(keys)), places(gallery))
    return root, ImageRecords(
        keys, labels, class_names, splits, super_labels, super_names, attributes, listed["problems"]
    )


def _leaves(key: str) -> bool:
    """Whether a key, which is a path below the images' folder, leads out of it."""
    return key.startswith("/") or ".." in key.split("/")


def _within(numbers: list[int], count: int, least: int = 0) -> np.ndarray:
    """int64 [n], each least..count-1."""
    items = np.asarray(numbers, np.int64)
    if len(items) and not (items.min() >= least and items.max() < count):
        raise ValueError(f"a number outside {least}..{count - 1}")
    return items
