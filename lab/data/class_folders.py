"""A folder of class folders, your own images: `cats/1.jpg dogs/1.jpg`, or `train/cats/1.jpg test/lions/1.jpg`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from lab.core.knobs import knob
from lab.data._base import ImageRecords, ImageSet, SplitKnobs
from lab.data._table import SPLITS, Table, personal
from lab.data.images.reading import CONVERT, EXTENSIONS, HEIC, nameable


class ClassFolders(SplitKnobs, ImageSet):
    """One folder a class; its images may lie in folders below it.

    When every folder is called train, validation (or val, valid) or test, these are the splits and the folders in
    them the classes; equal names are one class. Otherwise the classes are shared out by seed, and no class is in two
    splits. Unreadable images are named in `problems` and left out; so are files that are no images.

    Raises:
        ValueError: there is no such folder, or not one readable image in class folders.
    """

    _root: str = knob("Folder that holds one folder for each class.", path=True, alias="root")
    test: float = knob(
        "Fraction of the classes that are kept for testing, unless folders named train and test say so.",
        default=0.5,
        ge=0,
        lt=1,
    )
    validation: float = knob(
        "Fraction of the training classes that are kept for validation, unless a folder named validation says so.",
        default=0.2,
        ge=0,
        lt=1,
    )

    def _read(self) -> ImageRecords:
        self.root = Path(self.knobs.root).expanduser()
        if not self.root.is_dir():
            raise ValueError(f"There is no folder {self.root}; give the folder that holds one folder a class.")
        table = _table(self.root)
        if not len(table):
            photos = next((f" {problem}" for problem in table.problems if CONVERT in problem), "")
            raise ValueError(
                f"{self.root} holds no images in class folders. Expected files such as CLASS/image.jpg or "
                f"train/CLASS/image.jpg, ending in {' '.join(sorted(EXTENSIONS))}.{photos}"
            )
        return personal(self, table, self.root)


def _table(root: Path) -> Table:
    table, strangers = Table(), list[Path]()
    photos: list[Path] = []
    top = _folders(root)
    named = [folder for folder in top if folder.name.lower() in SPLITS]
    by_split = bool(top) and len(named) == len(top)
    if not by_split and {"train", "test"} <= {SPLITS[folder.name.lower()] for folder in named}:
        other = next(folder.name for folder in top if folder not in named)
        raise ValueError(
            f"{root} holds train and test folders and also {other!r}, so it is unclear what the classes are. Move "
            f"{other!r} elsewhere if train and test are splits."
        )
    if by_split:
        table.split = []
    for part in top if by_split else [root]:
        for folder in _folders(part):
            before = len(table)
            for path in _files(folder):
                if path.suffix.lower() not in EXTENSIONS:
                    (photos if path.suffix.lower() in HEIC else strangers).append(path)
                    continue
                key = path.relative_to(root).as_posix()
                if not nameable(key):
                    table.problems.append(f"{ascii(key)} has a name that cannot be written down and is left out.")
                    continue
                table.key.append(key)
                table.label.append(folder.name)
                if by_split:
                    table.split.append(SPLITS[part.name.lower()])
            if len(table) == before:
                table.problems.append(f"Class {folder.relative_to(root).as_posix()!r} has no image and is left out.")
    if photos:
        table.problems.append(f"{len(photos)} left out, for instance {photos[0]}: {CONVERT}.")
    if strangers:
        table.problems.append(f"{len(strangers)} files that are no images are left out, for instance {strangers[0]}.")
    return table


def _folders(parent: Path) -> list[Path]:
    return sorted(child for child in parent.iterdir() if child.is_dir() and not child.name.startswith("."))


def _files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(parent, name) for name in sorted(names) if not name.startswith("."))
