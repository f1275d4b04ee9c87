"""Base classes of the published benchmarks: an official layout below a folder, and published counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal, cast

import numpy as np

from lab.core.knobs import knob
from lab.data._base import ImageRecords, ImageSet, SplitKnobs
from lab.data._splits import Split, by_image
from lab.data._table import Table, assemble

Counts = tuple[int | None, int]
"""Classes (None: not counted) and images of one part of a published set."""


@dataclass(frozen=True)
class Archive:
    """One file to fetch: its address, its name, its MD5, and whether it is to be unpacked."""

    url: str
    file: str
    md5: str
    unpack: bool


class Published(ImageSet):
    """A published benchmark in its official files.

    An entry says where these lie, and defines `columns` and `_images`, or `_table`.

    Attributes:
        folder: name of the official top folder; `root` may be it or hold it.
        needs: files and folders below it without which nothing can be read.
        get: where to get the set and where to put it, in one or two sentences.
        counts: part (train, test, query, gallery) to its published numbers, several where releases differ.
        variants: knobs under which `lab.data.check` reads it, one after the other.
        columns: what `_images` gives of each image, such as "key label split".

    Lists are believed: an image file that turns out missing or corrupt is left out when it is met. `lab.data.check`
    looks at all of them beforehand.

    Raises:
        ValueError: files are missing or not in the official layout; the sentence names them and says where to get them.
    """

    _root: str = knob(
        "Folder that holds the data set in its official layout.", path=True, alias="root"
    )
    folder: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]
    get: ClassVar[str]
    counts: ClassVar[dict[str, tuple[Counts, ...]]]
    variants: ClassVar[tuple[dict[str, str], ...]] = ({},)
    columns: ClassVar[str] = "key label split"

    def _read(self) -> ImageRecords:
        root = Path(self.knobs.root).expanduser()
        self.root = root / self.folder if (root / self.folder).is_dir() else root
        missing = [name for name in self.needs if not (self.root / name).exists()]
        if missing:
            raise self._incomplete(f"{self.root} lacks {', '.join(missing)}")
        return self._records(self._table())

    def _incomplete(self, what: str) -> ValueError:
        return ValueError(f"{self.name} is not complete: {what}. {self.get}")

    def _table(self) -> Table:
        """Read the official lists."""
        return Table.of(self.columns, self._images())

    def _images(self) -> Iterator[tuple[str, ...]]:
        """Read the official lists: the `columns` of one image after the other."""
        raise NotImplementedError(f"{type(self).__name__} must define _images.")

    def _records(self, table: Table) -> ImageRecords:
        return assemble(table, self.knobs.split_seed, self.knobs.validation)

    @classmethod
    def archives(cls) -> tuple[Archive, ...]:
        """Return the files that `lab.data.download` may fetch; none for sets that must be requested from their authors
        or have no stable address."""
        return ()

    def checksums(self) -> dict[str, str]:
        """Return the published MD5 of files below `root`, as far as they are known."""
        return {}

    def parts(self) -> dict[str, np.ndarray]:
        """Return the parts that have published numbers, as positions: train with validation, test, query, gallery.

        A few-shot training split has none.
        """
        parts = {}
        is_whole = getattr(self.knobs, "shots", None) is None
        train = [self.splits[name].items for name in ("train", "validation") if name in self.splits]
        if is_whole and train:
            parts["train"] = np.concatenate(train)
        if "test" in self.splits:
            test = self.splits["test"]
            parts["test"] = test.items
            if test.gallery is not None:
                parts["query"] = test.query
                parts["gallery"] = test.gallery
        return parts


class PublishedSet(Published, SplitKnobs):
    """A published benchmark that has a training split."""

    validation: float = knob(
        "Fraction of the training classes that are kept for validation; 0: train on the whole published half.",
        default=0.0,
        ge=0,
        lt=1,
    )
    split_seed: int = knob("Random seed of the choice of validation classes.", default=0, ge=0)


class ClosedSet(PublishedSet):
    """A published set that tests on the classes it trains on, as in CAM; images validate, not classes.

    Test images are searched in all published training images, whichever of them train: CAM says "database" without
    saying what is in it, but its P@100 of .749 on Tiny ImageNet, with 50 test images a class, leaves no other choice.
    Validation images are searched among themselves.
    """

    class_disjoint = False
    validation: float = knob(
        "Fraction of each class's training images that are kept for validation; 0: train on all of them.",
        default=0.0,
        ge=0,
        lt=1,
    )
    split_seed: int = knob("Random seed of the choice of validation images.", default=0, ge=0)
    gallery: Literal["train", "test"] = knob(
        "What test images are searched in: the published training images, as in CAM, or the other test images.",
        default="train",
        source="CAM, section 4.2 and table 2",
    )

    def _records(self, table: Table) -> ImageRecords:
        whole = assemble(table, seed=0, validation=0.0)
        knobs = self.knobs
        published = whole.splits["train"].query
        train, validation = by_image(whole.labels, published, knobs.split_seed, knobs.validation)
        gallery = published if knobs.gallery == "train" else None
        splits = {"train": Split(train), "test": Split(whole.splits["test"].query, gallery)}
        if len(validation):
            splits["validation"] = Split(validation)
        return replace(whole, splits=splits)

    def parts(self) -> dict[str, np.ndarray]:
        """Return the parts that have published numbers; the gallery is none of them."""
        parts = super().parts()
        counted = {"test": self.splits["test"].query}
        if "train" in parts:
            counted["train"] = parts["train"]
        return counted


class InMemory(ClosedSet):
    """A closed set of small images that come as one array; subclasses set `_pixels`, uint8 [n h w 3], in `_table`."""

    _pixels = cast(np.ndarray, None)

    @property
    def pixels(self) -> np.ndarray:
        """uint8 [n h w 3]."""
        return self._pixels
