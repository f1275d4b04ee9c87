"""A folder of class folders, your own images: `cats/1.jpg dogs/1.jpg`, or `train/cats/1.jpg test/lions/1.jpg`."""

from __future__ import annotations

from pathlib import Path

from lab.core.knobs import knob
from lab.data._base import ImageRecords, ImageSet, SplitKnobs
from lab.data._table import Table, personal
from lab.data.images.folders import (
    LOOSE,
    Classes,
    Listing,
    classes_sentence,
    folder_classes,
    list_images,
    sentences,
)


class ClassFolders(SplitKnobs, ImageSet):
    """One folder a class; its images may lie in folders below it, and no other folder is a class.

    When every folder is called train, validation (or val, valid) or test, these are the splits and the folders in
    them the classes; equal names are one class. Otherwise the classes are shared out by seed, and no class is in two
    splits. An image is known by its first bytes, whatever its name ends in. Hidden files and folders are passed over.
    `problems` says what was left out: broken images by name, all else by number and reason.

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
            raise ValueError(
                f"There is no folder {self.root}; give the folder that holds one folder a class."
            )
        listing = list_images(self.root)
        try:
            classes = folder_classes(listing)
        except ValueError as error:
            raise ValueError(f"{self.root}: {error}") from None
        table = _table(listing, classes)
        if not len(table):
            raise ValueError(
                f"{self.root} holds no images in class folders. Expected files such as CLASS/image.jpg or "
                f"train/CLASS/image.jpg. {' '.join(table.problems[:3])}".strip()
            )
        return personal(self, table)

    @property
    def classes_sentence(self) -> str:
        return classes_sentence(self.class_names, self.labels)


def _table(listing: Listing, classes: Classes) -> Table:
    table = Table(
        key=listing.keys, label=classes.names, split=classes.splits, problems=[*listing.problems]
    )
    in_class = [bool(name) for name in classes.names]
    loose = [key for key, name in zip(listing.keys, classes.names, strict=True) if not name]
    if loose:
        table.problems += sentences({LOOSE: loose})
    table.keep(in_class)
    table.problems += [
        f"Class {folder!r} has no readable image and is left out." for folder in classes.empty
    ]
    return table
