"""The list of a data set's images as plain JSON, from which the set is opened again quickly and unchanged.

Images of external data (`Listed`) have this list only: no reader can find them again.
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

SIDE = 384
MARGIN = 24
TOP = 104
TITLE = 52
TEXT = 36
"""Pixels: of the card, beside and above the words (where a page writes ranks), and the height of its letters."""


class OfList(ImageSet):
    """Images, or items without a picture, that a list describes.

    root: the folder that keys are relative to, or None: then `load` draws a card with the facts in words.
    """

    @property
    def called(self) -> str:
        return "your data"

    def load(self, i: int) -> Image.Image:
        """Return the i-th picture; of an item without one, a card with its class, name and attributes.

        Raises:
            ImageError: the file is missing or cannot be decoded.
        """
        if self.root is not None:
            return super().load(i)
        facts = (f"{name}: {values[i]}" for name, values in self.attributes.items() if values[i])
        return text_card([self.class_name(self.labels[i]), self.keys[i], *facts])

    def with_content(self, i: int) -> tuple[Image.Image, int]:
        """Return the i-th picture and the digest of its file; 0, for an unknown content, of an item without one."""
        if self.root is None:
            return self.load(i), 0
        return self.load(i), file_digest(self.path(i))


class Listed(OfList):
    """Images that came with their embeddings: no reader can find them again."""

    Knobs = Unchecked

    @property
    def name(self) -> str:
        return OUTSIDE


def text_card(lines: Sequence[str]) -> Image.Image:
    """Draw the first line that is not empty large, and below it as many others as there is room for; RGB, square."""
    card = Image.new("RGB", (SIDE, SIDE), "#f3f1ec")
    draw = ImageDraw.Draw(card)
    top = TOP
    size = TITLE
    for line in filter(None, lines):
        font = ImageFont.load_default(size)
        letters = max(4, int((SIDE - 2 * MARGIN) / (0.55 * size)))
        for part in textwrap.wrap(str(line), letters, max_lines=3, placeholder=" ..."):
            if top + size > SIDE - MARGIN:
                return card
            draw.text(
                (MARGIN, top), part, fill="#22262b" if size == TITLE else "#565d66", font=font
            )
            top += round(1.25 * size)
        size = TEXT
    return card


def listed_as(root: Path | None, records: ImageRecords, knobs: dict[str, Any]) -> Listed:
    """Return a user's records as a data set.

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
    """Return all that a reader found, as JSON; None for a set that a list cannot describe."""
    kind = type(images)
    is_listed = issubclass(kind, OfList)
    if images.root is not None and images.pixels is None:
        is_listed = is_listed or (kind.load is ImageSet.load and kind.path is ImageSet.path)
    if images.relevance or not is_listed or any(map(_leaves, images.keys)):
        return None
    splits = {}
    for name, split in images.splits.items():
        gallery = None if split.gallery is None else split.gallery.tolist()
        splits[name] = [split.query.tolist(), gallery]
    return {
        "root": None if images.root is None else str(images.root),
        "class_disjoint": bool(images.class_disjoint),
        "keys": images.keys,
        "labels": np.maximum(images.labels, -1).tolist(),  # -1: no class
        "class_names": images.class_names,
        "super_labels": None
        if images.super_labels is None
        else np.maximum(images.super_labels, -1).tolist(),
        "super_names": images.super_names,
        "attributes": {name: values.tolist() for name, values in images.attributes.items()},
        "splits": splits,
        "problems": images.problems,
    }


def from_list(name: str, knobs: dict[str, Any], listed: ImageList) -> ImageSet:
    """Open the data set that `to_list` described, without looking at a file.

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
    """Return root and records of a list.

    Raises:
        ValueError: its columns differ in length, a number in it is of no image or class, or an image lies outside root.
    """
    keys = listed["keys"]
    labels = _within(listed["labels"], len(listed["class_names"]), least=-1)
    attributes = {name: np.asarray(values, str) for name, values in listed["attributes"].items()}
    columns = [labels, *attributes.values()]
    super_labels: np.ndarray | None = None
    if listed["super_labels"] is not None:
        super_labels = _within(listed["super_labels"], len(listed["super_names"]), least=-1)
        columns.append(super_labels)
    if any(len(column) != len(keys) for column in columns):
        raise ValueError("columns differ in length")
    root = None if listed["root"] is None else Path(listed["root"])
    if root is not None:
        for key in keys:
            if _leaves(key):
                raise ValueError(f"{key!r} is not below the images' folder")
    splits = {}
    for split, (query, gallery) in listed["splits"].items():
        if query is None:
            raise ValueError(f"the split {split!r} has no queries")
        gallery_items = None if gallery is None else _within(gallery, len(keys))
        splits[split] = Split(_within(query, len(keys)), gallery_items)
    records = ImageRecords(
        keys,
        labels,
        listed["class_names"],
        splits,
        super_labels,
        listed["super_names"],
        attributes,
        listed["problems"],
    )
    return root, records


def _leaves(key: str) -> bool:
    """Return whether a key, which is a path below the images' folder, leads out of it."""
    return key.startswith("/") or ".." in key.split("/")


def _within(numbers: list[int], count: int, least: int = 0) -> np.ndarray:
    """Return numbers as int64 [n], each least..count-1."""
    items = np.asarray(numbers, np.int64)
    if len(items) and not (items.min() >= least and items.max() < count):
        raise ValueError(f"a number outside {least}..{count - 1}")
    return items
