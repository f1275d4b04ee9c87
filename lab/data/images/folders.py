"""List the images of a folder: what is an image, what its class is, what is left out, and why.

Every command, page and function that is given a folder calls `list_images`, so all of them find the same images.
"""

from __future__ import annotations

import os
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np

from lab.core import tables
from lab.core.formats import counted
from lab.data.images.reading import (
    CONVERT,
    EXTENSIONS,
    HEAD,
    HEIC,
    has_signature,
    is_heic,
    nameable,
    problems_of,
    size_of,
)

SYSTEM_NAMES = frozenset(
    {
        "__macosx",
        "@eadir",
        "@tmp",
        "#recycle",
        "#snapshot",
        "$recycle.bin",
        "system volume information",
        "lost+found",
        "thumbs.db",
        "ehthumbs.db",
        "desktop.ini",
        "icon\r",
    }
)
"""Files and folders that operating systems and storage devices create, in small letters."""

SPLITS = {
    "train": "train",
    "validation": "validation",
    "val": "validation",
    "valid": "validation",
    "test": "test",
}
"""Usual names of the splits, to the split."""

LISTED = 8
"""Problems that one sentence lists."""

SHOWN = 6
"""Classes that a sentence names."""

NO_IMAGE = "file that is no image", "files that are no images"
PHOTO = "HEIC photo", "HEIC photos"
HIDDEN = "hidden file or folder", "hidden files and folders"
CLOSED = "file or folder that cannot be opened", "files and folders that cannot be opened"
NOWHERE = "link that leads nowhere", "links that lead nowhere"
AGAIN = "link to what is listed already", "links to what is listed already"
NO_FILE = "pipe, socket or device", "pipes, sockets and devices"
UNNAMED = "file whose name cannot be written down", "files whose names cannot be written down"
LOOSE = "image that lies in no class folder", "images that lie in no class folder"

NAMELESS = "image without a class", "images without a class"

LeftOut = dict[tuple[str, str], list[str]]
"""Reason, in the singular and plural, to the files that are left out for it."""


def is_hidden(name: str) -> bool:
    """Return whether a file or folder of this name is ignored."""
    return name.startswith(".") or name.casefold() in SYSTEM_NAMES


@dataclass(frozen=True)
class Listing:
    """The images below a folder.

    keys: paths below the folder with forward slashes, in the order of their parts. broken: a sentence for each file
    that has the name or the first bytes of an image, and whose head cannot be read. left_out: all other files that
    are ignored. folders: every folder that was listed.
    """

    keys: list[str]
    broken: list[str]
    left_out: LeftOut = field(default_factory=dict)
    folders: Sequence[str] = ()

    @property
    def problems(self) -> list[str]:
        """A sentence for each broken image, and one with the number for each other reason to leave something out."""
        return [*self.broken, *sentences(self.left_out)]


def sentences(left_out: LeftOut) -> list[str]:
    """Say how many files were left out for each reason, with an example."""
    lines = []
    for (singular, plural), names in left_out.items():
        if not names:
            continue
        verb = "is" if len(names) == 1 else "are"
        sentence = (
            f"{counted(len(names), singular, plural)} {verb} left out, for instance {names[0]}"
        )
        if (singular, plural) == PHOTO:
            sentence += f"; {CONVERT}"
        lines.append(f"{sentence}.")
    return lines


def list_images(folder: Path | str, deep: bool = True) -> Listing:
    """List the images below a folder; files are known by their first bytes, not by their names.

    Hidden files and folders, and those that systems add, are passed over. Links are followed: a folder or file that
    is reached twice is listed once, by the path without a link if there is one.

    Args:
        deep: look into folders of the folder, too.
    """
    left: LeftOut = defaultdict(list)
    paths, folders = _walk(str(folder), deep, left)
    files = [Path(folder, key) for key in paths]
    keys = []
    broken = []
    for key, file, problem in zip(paths, files, problems_of(files, size_of), strict=True):
        if problem is None:
            keys.append(key)
            continue
        reason = _no_image(file)
        if reason is None:
            broken.append(problem)
        else:
            left[reason].append(key)
    return Listing(keys, broken, dict(left), folders)


def _no_image(file: Path) -> tuple[str, str] | None:
    """Return why a file that cannot be read as an image is none; None if it should be one, and is broken."""
    try:
        with file.open("rb") as opened:
            head = opened.read(HEAD)
    except OSError:
        return None if file.suffix.lower() in EXTENSIONS else CLOSED
    if is_heic(head) or file.suffix.lower() in HEIC:
        return PHOTO
    is_meant = has_signature(head) or file.suffix.lower() in EXTENSIONS
    return None if is_meant else NO_IMAGE


def _walk(folder: str, deep: bool, left: LeftOut) -> tuple[list[str], list[str]]:
    """Return the keys of all files below a folder, in order, and of its folders; add what is no file to `left`."""
    top = os.path.realpath(folder)
    waiting = deque([("", top)])
    links: deque[tuple[str, str]] = deque()
    places: dict[str, str] = {}  # the place of each file that is reached without a link, to its key
    linked: list[tuple[str, str]] = []
    folders: dict[str, str] = {}
    while waiting or links:  # folders behind links come last
        key, place = (waiting or links).popleft()
        if place in folders or top.startswith(os.path.join(place, "")):
            left[AGAIN].append(key)
            continue
        folders[place] = key
        try:
            with os.scandir(place) as entries:
                inside = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            left[CLOSED].append(key or folder)
            continue
        # Sort the entries of this folder into files, folders, links, and what is left out.
        for entry in inside:
            name = f"{key}/{entry.name}" if key else entry.name
            if is_hidden(entry.name):
                left[HIDDEN].append(name)
                continue
            if not nameable(name):
                left[UNNAMED].append(ascii(name))
                continue
            reason = _no_file_or_folder(entry)
            if reason is not None:
                left[reason].append(name)
            elif entry.is_dir():
                queue = links if entry.is_symlink() else waiting
                if deep:
                    queue.append((name, os.path.realpath(entry.path)))
            elif entry.is_symlink():
                linked.append((name, os.path.realpath(entry.path)))
            else:
                places[os.path.join(place, entry.name)] = name
    # A link counts only if its file was not reached without it.
    for key, place in linked:
        other = places.setdefault(place, key)
        if other != key:
            left[AGAIN].append(f"{key}, which is {other}")
    return sorted(places.values(), key=lambda key: key.split("/")), list(folders.values())


def _no_file_or_folder(entry: os.DirEntry[str]) -> tuple[str, str] | None:
    """Return why an entry is neither a file nor a folder; None if it is one of them."""
    try:
        if entry.is_dir() or entry.is_file():
            return None
    except OSError:  # a link that leads to itself
        return NOWHERE
    return NOWHERE if entry.is_symlink() else NO_FILE


@dataclass(frozen=True)
class Classes:
    """The classes and splits that folders give some images.

    names: the class of each image, "" for one that is in no class folder. splits: train, validation or test for
    each image, or None if no folders have such names. empty: class folders without an image.
    """

    names: list[str]
    splits: list[str] | None
    empty: list[str]


def folder_classes(listing: Listing) -> Classes:
    """Find the class of each image: the name of the outermost folder that it lies in.

    If every such folder is called train, validation (or val, valid) or test, these are the splits, and the class is
    the folder below. Folders inside a class folder do not matter.

    Raises:
        ValueError: there are folders called train and test, and others beside them.
    """
    paths = [PurePosixPath(key).parts for key in listing.keys]
    depth = class_depth(paths)
    names = [class_at(parts, depth) for parts in paths]
    splits = None
    if depth == 1:
        splits = [SPLITS.get(parts[0].lower(), "") for parts in paths]
    full = {parts[: depth + 1] for parts in paths}
    folders = [PurePosixPath(folder).parts for folder in listing.folders]
    empty = ["/".join(parts) for parts in folders if len(parts) == depth + 1 and parts not in full]
    return Classes(names, splits, empty)


def class_depth(paths: Sequence[tuple[str, ...]]) -> int:
    """Find which folder of each path is its class: 0 for the outermost, 1 where the outermost ones are splits.

    Raises:
        ValueError: there are folders called train and test, and others beside them.
    """
    top = list(dict.fromkeys(parts[0] for parts in paths if len(parts) > 1))
    named = [folder for folder in top if folder.lower() in SPLITS]
    by_split = bool(top) and len(named) == len(top)
    if not by_split and {"train", "test"} <= {SPLITS[folder.lower()] for folder in named}:
        other = next(folder for folder in top if folder not in named)
        raise ValueError(
            f"There are train and test folders and also {other!r}, so it is unclear what the classes are. Move "
            f"{other!r} elsewhere if train and test are splits."
        )
    return 1 if by_split else 0


def class_at(parts: tuple[str, ...], depth: int) -> str:
    """Return the folder at a depth of a path; "" if the image is above it."""
    return parts[depth] if len(parts) > depth + 1 else ""


def classes_sentence(
    class_names: Sequence[str], labels: np.ndarray, what: str = "the folders"
) -> str:
    """Say what became classes.

    Args:
        labels: int64 [n], the class of each image, below 0 for none.
        what: became classes; folders, or other names.

    Example:
        >>> classes_sentence(["bags", "lamps"], np.array([0, 0, 1]))
        'Classes are the folders bags, lamps (3 images in 2 classes).'
    """
    loose = int((np.asarray(labels) < 0).sum())
    without_class = LOOSE if what == "the folders" else NAMELESS
    if loose == len(labels):
        return f"No class: {counted(loose, *without_class)}."
    shown = ", ".join(class_names[:SHOWN])
    if len(class_names) > SHOWN:
        shown += ", ..."
    images = counted(len(labels) - loose, "image")
    classes = counted(len(class_names), "class", "classes")
    sentence = f"Classes are {what} {shown} ({images} in {classes})"
    if loose:
        sentence += f"; {counted(loose, *without_class)}"
    alike = tables.alike_sentence(class_names)
    if alike:
        sentence += f"; {alike}"
    return f"{sentence}."


def problems_sentence(problems: Sequence[str]) -> str:
    """Join the sentences of `ImageSet.problems` and `Loader.problems` to one that a command or page shows.

    Example:
        >>> problems_sentence(["a.png is empty.", "2 files that are no images are left out, for instance b.txt."])
        'Left out of the data: a.png is empty; 2 files that are no images are left out, for instance b.txt.'
    """
    listed = "; ".join(problem.rstrip(".") for problem in problems[:LISTED])
    more = f"; and {len(problems) - LISTED:,} more" if len(problems) > LISTED else ""
    return f"Left out of the data: {listed}{more}."
