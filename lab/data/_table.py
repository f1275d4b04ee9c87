"""Turn the table that a reader made (a row an image) into checked records with splits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from lab.core.results import no_class
from lab.data import _splits
from lab.data._base import ImageRecords, ImageSet
from lab.data._splits import Split
from lab.data.images.reading import problems_of, size_of


@dataclass
class Table:
    """Columns of one entry an image, and what was left out.

    key: path below the root, with forward slashes.
    label: name of the class, "" for an image without a class.
    split: train, validation or test for each image; None to share the classes out by seed.
    role: query, gallery or "" for each image; None when no split has a gallery of its own.
    super_class: name of the super-class; None when there are none.
    attributes: further columns.
    """

    key: list[str] = field(default_factory=list)
    label: list[str] = field(default_factory=list)
    # Lists of str, or None.
    split: Any = None
    role: Any = None
    super_class: Any = None
    attributes: dict[str, list[str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, names: str, images: Iterable[Sequence[str]]) -> Table:
        """Make a table of one row an image; names: of its columns, such as "key label split"."""
        rows = list(images)
        table = cls()
        for number, name in enumerate(names.split()):
            setattr(table, name, [row[number] for row in rows])
        return table

    def __len__(self) -> int:
        return len(self.key)

    def keep(self, kept: Sequence[bool]) -> None:
        """Leave out the images for which `kept` [n] is False."""
        for name in ("key", "label", "split", "role", "super_class"):
            values = getattr(self, name)
            if values is not None:
                setattr(self, name, list(compress(values, kept)))
        for name, values in self.attributes.items():
            self.attributes[name] = list(compress(values, kept))


def leave_out_unreadable(table: Table, root: Path) -> None:
    """Leave out the images of a table that are missing or cannot be read, and name them.

    Raises:
        ValueError: not one file is an image.
    """
    reasons = problems_of([root / key for key in table.key], size_of)
    bad = [reason for reason in reasons if reason]
    if len(bad) == len(table):
        raise ValueError(
            f"None of the {len(table)} images below {root} can be read; the first: {' '.join(bad[0].split())}"
        )
    before = list(dict.fromkeys(filter(None, table.label)))
    table.keep([reason is None for reason in reasons])
    table.problems += bad
    left = set(table.label)
    for name in before:
        if name not in left:
            table.problems.append(f"Class {name!r} has no readable image and is left out.")


def personal(images: ImageSet, table: Table) -> ImageRecords:
    """Return the records of a user's own images, which have no published split."""
    pairs = set(zip(table.label, table.split or [], strict=False))
    names = set(filter(None, table.label))
    images.class_disjoint = not any(
        (name, "train") in pairs and (name, "test") in pairs for name in names
    )
    return assemble(table, images.knobs.split_seed, images.knobs.validation, images.knobs.test)


def assemble(table: Table, seed: int, validation: float, test: float = 0.5) -> ImageRecords:
    """Number the classes in order of appearance and make the splits.

    Splits come from the table; without that column the classes are shared out by seed. A table that has training
    images and no validation images gives the fraction `validation` of its training classes to validation.

    Raises:
        ValueError: a split has queries without a gallery, or the other way round.
    """
    class_names, labels = numbered(table.label)
    super_names: list[str] = []
    super_labels = None
    if table.super_class is not None:
        super_names, super_labels = numbered(table.super_class)
    if table.split is None:
        splits = _splits.class_disjoint(labels, seed, test, validation)
    else:
        splits = _published(table, labels, seed, validation)
    attributes = {name: np.array(values, dtype=str) for name, values in table.attributes.items()}
    return ImageRecords(
        table.key,
        labels,
        class_names,
        splits,
        super_labels,
        super_names,
        attributes,
        problems=table.problems,
    )


def numbered(names: list[str]) -> tuple[list[str], np.ndarray]:
    """Return the different names in order of appearance, and each entry's number: int64 [n], `no_class` where empty."""
    different = [name for name in dict.fromkeys(names) if name]
    number_of = {name: number for number, name in enumerate(different)}
    numbers = np.array([number_of.get(name, -1) for name in names], dtype=np.int64)
    return different, np.where(numbers < 0, no_class(np.arange(len(names))), numbers)


def _published(table: Table, labels: np.ndarray, seed: int, validation: float) -> dict[str, Split]:
    split = np.array(table.split)
    role = np.array(table.role or [""] * len(table))
    splits = {}
    for name in ("train", "validation", "test"):
        items = np.flatnonzero(split == name)
        if len(items):
            splits[name] = Split.with_roles(name, items, role[items])
    if "train" in splits and "validation" not in splits and splits["train"].gallery is None:
        train = splits.pop("train")
        return _splits.hold_out(labels, train.query, seed, validation) | splits
    return splits
