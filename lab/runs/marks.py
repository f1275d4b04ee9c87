"""Marks that a person gives single images, stored beside the runs.

`marks.json` in the folder of runs says what is wrong with an image, and which saved selections hold it. It identifies
an image by its content, so a moved or renamed folder keeps its marks, and nothing is written into that folder.
"""

from __future__ import annotations

import copy
import csv
import hashlib
import io
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated
from weakref import WeakKeyDictionary

import numpy as np
from filelock import FileLock
from pydantic import Field

from lab.core import files, stored
from lab.core.formats import counted, plain_cell
from lab.core.stored import Count, Flag, Stored, Text
from lab.data import ImageSet, read_corrections

ANSWERS = ("keep", "relabel", "drop", "duplicate")
"""Answers about an image: its label is right, is another one, it should go, or it repeats another image."""
FILE = "marks.json"
CORRECTIONS = ".corrections"
"""Folder of tables of corrections below the folder of runs; they outlive the run in which the images were marked."""
LOCK = ".marks.lock"
PATIENCE = 10.0
"""Lock that is held while marks are written, and the seconds that another process waits for it."""


@dataclass(frozen=True)
class Mark:
    """A mark of an image.

    answer: one of `ANSWERS`, or "". label: with `relabel`, the name of its true class. of: with `duplicate`, the key of
    the image that it repeats. tags: names of the saved selections that it belongs to.

    Raises:
        ValueError: there is no such answer, or `relabel` names no class.
    """

    answer: Text = ""
    label: Text = ""
    of: Text = ""
    tags: tuple[Text, ...] = ()

    def __post_init__(self) -> None:
        if self.answer not in ("", *ANSWERS):
            raise ValueError(f"An image is marked as one of {', '.join(ANSWERS)}, got {self.answer!r}.")
        if self.answer == "relabel" and not self.label:
            raise ValueError("An image is relabelled to a class; the mark names none.")

    def __bool__(self) -> bool:
        return bool(self.answer or self.tags)


@dataclass(frozen=True)
class _Entry:
    """A mark in the file: content and size of the image, its key as a hint, and whether its data set held another image
    of that content, which then must not get the mark when the first one is gone."""

    content: Text
    size: Count
    key: Text
    repeated: Flag
    mark: Mark


class MarkFile(Stored):
    """The file of marks."""

    marks: Annotated[list[_Entry], Field(fail_fast=True)]


_digests: WeakKeyDictionary[ImageSet, dict[int, str]] = WeakKeyDictionary()
_sizes: WeakKeyDictionary[ImageSet, dict[int, list[int]]] = WeakKeyDictionary()
"""Cache of the bytes of a data set's images: item to its digest, and size to items."""


def _in_files(images: ImageSet) -> bool:
    return images.root is not None and images.pixels is None


def _size(images: ImageSet, item: int) -> int:
    """Return the bytes of an image: of its file, or of its pixels if it has none."""
    if _in_files(images):
        return os.stat(images.path(item)).st_size
    return np.asarray(images.load(item)).nbytes


def _digest(images: ImageSet, item: int) -> str:
    """Return a digest of an image's bytes, read once for each open data set; "" if they cannot be read."""
    digests = _digests.setdefault(images, {})
    if item not in digests:
        try:
            if _in_files(images):
                content = images.path(item).read_bytes()
            else:
                content = np.asarray(images.load(item)).tobytes()
        except (OSError, ValueError):
            return ""
        digests[item] = hashlib.blake2b(content, digest_size=16).hexdigest()
    return digests[item]


def _same_content(images: ImageSet, content: str, size: int) -> list[int]:
    """Return the items of this content; none if all images would have to be fetched from an archive to compare."""
    if not _in_files(images) and images.pixels is None:
        return []
    sizes = _sizes.setdefault(images, {})
    if not sizes:
        for item in range(len(images)):
            with suppress(OSError):  # deleted since the folder was read
                sizes.setdefault(_size(images, item), []).append(item)
    return [item for item in sizes.get(size, ()) if _digest(images, item) == content]


def _entries(root: Path) -> list[_Entry]:
    """Read the file of marks.

    Raises:
        ValueError: it is damaged; says so.
    """
    if not (path := files.inside(root, FILE)).exists():
        return []
    try:
        return stored.read(path, MarkFile, stored.MOST_LISTED)["marks"]
    except ValueError as error:
        why = str(error).removeprefix(f"{path} ").removeprefix("is damaged: ").rstrip(".")
        raise ValueError(
            f"{path} is damaged ({why}), so no mark is read or written. Bring back a copy of it, or move it away to "
            "begin anew."
        ) from None


def _matched(images: ImageSet, entries: list[_Entry]) -> dict[int, _Entry]:
    """Return item to its entry: by key if that image has the content, else by size and content."""
    keys = {entry.key for entry in entries}
    items = {}
    if keys:
        items = {key: item for item, key in enumerate(images.keys) if key in keys}
    by_key = {}
    by_content = {}
    for entry in entries:
        item = items.get(entry.key)
        if item is not None and _digest(images, item) == entry.content:
            by_key[item] = entry
        elif not entry.repeated:
            for other in _same_content(images, entry.content, entry.size)[:1]:
                by_content[other] = entry
    return by_content | by_key


def read(root: Path, images: ImageSet) -> dict[int, Mark]:
    """Return item to its mark, of the images of a data set that are marked.

    Args:
        root: folder of runs.

    Raises:
        ValueError: the file of marks is damaged; says so.
    """
    return {item: entry.mark for item, entry in _matched(images, _entries(root)).items() if entry.mark}


def write(root: Path, images: ImageSet, changes: Mapping[int, Mark | None]) -> dict[int, Mark | None]:
    """Mark images, or remove their marks (None); marks that others wrote meanwhile stay.

    Returns:
        the marks before, which undo the change when they are written back.

    Raises:
        ValueError: the file of marks is damaged and stays as it is, or an image cannot be read.
        GuestRefused: a guest asks.
    """
    files.check_allowed()
    with FileLock(root / LOCK, timeout=PATIENCE):
        entries = _entries(root)
        before = _matched(images, entries)
        replaced = {id(before[item]) for item in changes if item in before}
        kept = [entry for entry in entries if id(entry) not in replaced]
        for item, mark in changes.items():
            if not mark:
                continue
            content = _digest(images, item)
            if not content:
                raise ValueError(f"{images.keys[item]} cannot be read, so it cannot be marked.")
            size = _size(images, item)
            repeated = len(_same_content(images, content, size)) > 1
            kept.append(_Entry(content, size, images.keys[item], repeated, mark))
        files.write_json(root / FILE, {"marks": [asdict(entry) for entry in kept]})
    return {item: before[item].mark if item in before else None for item in changes}


def where(images: ImageSet, items: Collection[int], thing: str = "marked image") -> str:
    """Say in which splits images are: "12 marked images: 9 for training, 3 for testing"."""
    purposes = {"train": "for training", "validation": "for validation", "test": "for testing"}
    splits = _split_of_items(images)
    counts = Counter(purposes.get(splits.get(item, ""), "in no split") for item in items)
    order = [*purposes.values(), "in no split"]
    words = ", ".join(f"{counts[purpose]:,} {purpose}" for purpose in order if counts[purpose])
    return f"{counted(len(items), thing)}: {words or 'none'}"


def _split_of_items(images: ImageSet) -> dict[int, str]:
    """Return item to its split; an image that is trained on and searched in belongs to train."""
    splits: dict[int, str] = {}
    for name in sorted(images.splits, key=("test", "validation", "train").index):
        splits |= dict.fromkeys(images.splits[name].items.tolist(), name)
    return splits


def corrections(images: ImageSet, marks: Mapping[int, Mark], before: str | None = None) -> dict[str, str]:
    """Return the corrections that marks ask for: the key of an image to the name of its true class, or to "" to leave
    it out (`drop` and `duplicate`). Images that have tags alone are not in it.

    Args:
        before: table of corrections that these are added to; `keep` takes an image out of it.
    """
    table = {} if before is None else read_corrections(Path(before).expanduser())
    for item, mark in sorted(marks.items()):
        key = images.keys[item]
        if mark.answer:
            for form in (key, plain_cell(key)):
                table.pop(form, None)
            if mark.answer != "keep":
                table[key] = mark.label if mark.answer == "relabel" else ""
    return table


def save_corrections(root: Path, table: Mapping[str, str]) -> Path:
    """Write a table for the knob `data.corrections` below the folder of runs, named by its content."""
    files.check_allowed()
    text = _as_csv(["image", "label"], map(list, sorted(table.items())))
    path = root / CORRECTIONS / f"{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}.csv"
    if not path.is_file():
        files.write_text(path, text)
    return path


def as_manifest(images: ImageSet, marks: Mapping[int, Mark]) -> str:
    """Return the corrected data set as a table with the columns path, label, split, which the data set `manifest` reads
    beside the folder of the images, as do other programs. Images that marks drop and images of no split are not in it;
    the label of an image without a class is empty.

    Raises:
        ValueError: the images are no files.
    """
    if images.root is None or images.pixels is not None:
        raise ValueError(f"The images of {images.called} are no files, so no table can name them.")
    corrected = copy.copy(images)
    corrected.correct(corrections(images, marks), "The marks")
    rows = []
    for item, name in sorted(_split_of_items(corrected).items()):
        rows.append([_path(images, item), images.class_name(corrected.labels[item]), name])
    return _as_csv(["path", "label", "split"], rows)


def _path(images: ImageSet, item: int) -> str:
    """Return an image's path for a table that a spreadsheet opens: no cell begins as a formula does."""
    key = images.keys[item]
    return f"./{key}" if plain_cell(key) != key else key


def as_table(images: ImageSet, items: Iterable[int], marks: Mapping[int, Mark]) -> str:
    """Return images as a table with the columns path, label, split, tags, answer; a manifest if all have a split."""
    splits = _split_of_items(images)
    rows = []
    for item in items:
        mark = marks.get(item, Mark())
        label = images.class_name(images.labels[item])
        rows.append([_path(images, item), label, splits.get(item, ""), " | ".join(mark.tags), mark.answer])
    return _as_csv(["path", "label", "split", "tags", "answer"], rows)


def _as_csv(names: list[str], rows: Iterable[list[str]]) -> str:
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(names)
    table.writerows([*map(plain_cell, row)] for row in rows)
    return out.getvalue()
