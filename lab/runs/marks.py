"""What a person says of single images, kept beside the runs.

`marks.json` in the folder of runs says what is wrong with an image, and which saved selections hold it. It knows an
image by its content, so a moved or renamed folder keeps its marks, and nothing is written into the folder of pictures.
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
"""What can be said of an image: its label is right, is another one, it should go, or it repeats another image."""
FILE = "marks.json"
CORRECTIONS = ".corrections"
"""Below the folder of runs: tables of corrections; they outlive the run in which the images were marked."""
LOCK, PATIENCE = ".marks.lock", 10.0
"""Held while a mark is added to those that there are, and the seconds that others wait for it."""


@dataclass(frozen=True)
class Mark:
    """What a person says of an image.

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
            raise ValueError(
                f"An image is marked as one of {', '.join(ANSWERS)}, got {self.answer!r}."
            )
        if self.answer == "relabel" and not self.label:
            raise ValueError("An image is relabelled to a class; the mark names none.")

    def __bool__(self) -> bool:
        return bool(self.answer or self.tags)


@dataclass(frozen=True)
class _Entry:
    """A mark in the file: content and size of the image, its key as a hint, and whether its data set held another image
    of that content, which then must not take its mark when it is gone."""

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
"""What is known so far of the bytes of a data set's images: item to its digest, and size to items."""


def _in_files(images: ImageSet) -> bool:
    return images.root is not None and images.pixels is None


def _size(images: ImageSet, item: int) -> int:
    """Bytes of an image: of its file, or of its pixels where it has none."""
    return (
        os.stat(images.path(item)).st_size
        if _in_files(images)
        else np.asarray(images.load(item)).nbytes
    )


def _digest(images: ImageSet, item: int) -> str:
    """Of the bytes of an image, read once for each data set that is open; "" where they cannot be read."""
    digests = _digests.setdefault(images, {})
    if item not in digests:
        try:
            content = (
                images.path(item).read_bytes()
                if _in_files(images)
                else np.asarray(images.load(item)).tobytes()
            )
        except (OSError, ValueError):
            return ""
        digests[item] = hashlib.blake2b(content, digest_size=16).hexdigest()
    return digests[item]


def _same_content(images: ImageSet, content: str, size: int) -> list[int]:
    """Items of this content; none where all images would have to be fetched from an archive to tell."""
    if not _in_files(images) and images.pixels is None:
        return []
    sizes = _sizes.setdefault(images, {})
    if not sizes:
        for item in range(len(images)):
            with suppress(OSError):  # deleted since the folder was read
                sizes.setdefault(_size(images, item), []).append(item)
    return [item for item in sizes.get(size, ()) if _digest(images, item) == content]


def _entries(root: Path) -> list[_Entry]:
    """What the file holds.

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
    """Item to its entry: by key where that image has the content, else by size and content."""
    wanted = {one.key for one in entries}
    at = {key: item for item, key in enumerate(images.keys) if key in wanted} if wanted else {}
    here = {
        at[one.key]: one
        for one in entries
        if one.key in at and _digest(images, at[one.key]) == one.content
    }
    placed = {id(one) for one in here.values()}
    elsewhere = {
        item: one
        for one in entries
        if id(one) not in placed and not one.repeated
        for item in _same_content(images, one.content, one.size)[:1]
    }
    return elsewhere | here


def read(root: Path, images: ImageSet) -> dict[int, Mark]:
    """Item to its mark, of the images of a data set that are marked.

    Args:
        root: folder of runs.

    Raises:
        ValueError: the file of marks is damaged; says so.
    """
    return {item: one.mark for item, one in _matched(images, _entries(root)).items() if one.mark}


def write(
    root: Path, images: ImageSet, changes: Mapping[int, Mark | None]
) -> dict[int, Mark | None]:
    """Mark images, or take their marks back (None): what others marked meanwhile stays.

    Returns:
        what stood there before, so that writing that back is undoing.

    Raises:
        ValueError: the file of marks is damaged and stays as it is, or an image cannot be read.
        GuestRefused: a guest asks.
    """
    files.check_allowed()
    with FileLock(root / LOCK, timeout=PATIENCE):
        entries = _entries(root)
        found = _matched(images, entries)
        gone = {id(found[item]) for item in changes if item in found}
        kept = [one for one in entries if id(one) not in gone]
        for item, mark in changes.items():
            if mark:
                if not (content := _digest(images, item)):
                    raise ValueError(f"{images.keys[item]} cannot be read, so it cannot be marked.")
                size = _size(images, item)
                repeated = len(_same_content(images, content, size)) > 1
                kept.append(_Entry(content, size, images.keys[item], repeated, mark))
        files.write_json(root / FILE, {"marks": [asdict(one) for one in kept]})
    return {item: found[item].mark if item in found else None for item in changes}


def where(images: ImageSet, items: Collection[int], thing: str = "marked image") -> str:
    """Which splits images are in: "12 marked images: 9 for training, 3 for testing"."""
    purposes = {"train": "for training", "validation": "for validation", "test": "for testing"}
    homes = _homes(images)
    counts = Counter(purposes.get(homes.get(item, ""), "in no split") for item in items)
    words = ", ".join(
        f"{counts[one]:,} {one}" for one in [*purposes.values(), "in no split"] if counts[one]
    )
    return f"{counted(len(items), thing)}: {words or 'none'}"


def _homes(images: ImageSet) -> dict[int, str]:
    """Item to its split; what is trained on and searched in trains."""
    order = sorted(images.splits, key=("test", "validation", "train").index)
    return {item: name for name in order for item in images.splits[name].items.tolist()}


def corrections(
    images: ImageSet, marks: Mapping[int, Mark], before: str | None = None
) -> dict[str, str]:
    """What marks say about a training: the key of an image to the name of its true class, or to "" where it is left
    out (`drop` and `duplicate`). Images that have tags alone are not in it.

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
    """The corrected data set as a table with the columns path, label, split, which the data set `manifest` reads beside
    the folder of the images, as do other programs. Images that marks drop and those of no split are not in it;
    the label of an image without a class is empty.

    Raises:
        ValueError: the images are no files.
    """
    if images.root is None or images.pixels is not None:
        raise ValueError(f"The images of {images.called} are no files, so no table can name them.")
    corrected = copy.copy(images)
    corrected.correct(corrections(images, marks), "The marks")
    return _as_csv(
        ["path", "label", "split"],
        (
            [
                f"./{key}" if plain_cell(key) != key else key,
                images.class_name(corrected.labels[item]),
                name,
            ]
            for item, name in sorted(_homes(corrected).items())
            for key in [images.keys[item]]
        ),
    )


def as_table(images: ImageSet, items: Iterable[int], marks: Mapping[int, Mark]) -> str:
    """Some images as a table with the columns path, label, split, tags, answer; a manifest if all have a split."""
    homes, rows = _homes(images), []
    for item in items:
        mark, key = marks.get(item, Mark()), images.keys[item]
        label, path = (
            images.class_name(images.labels[item]),
            f"./{key}" if plain_cell(key) != key else key,
        )
        rows.append([path, label, homes.get(item, ""), " | ".join(mark.tags), mark.answer])
    return _as_csv(["path", "label", "split", "tags", "answer"], rows)


def _as_csv(names: list[str], rows: Iterable[list[str]]) -> str:
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(names)
    table.writerows([*map(plain_cell, row)] for row in rows)
    return out.getvalue()
