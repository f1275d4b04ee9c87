"""From what a reader found on disk (a row an image) to checked records with splits."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lab.data import _splits
from lab.data._base import ImageRecords
from lab.data._splits import Split
from lab.data.images.reading import ImageError, check_header

AT_ONCE = 256
"""Files that one thread looks at before the next task: a task a file would take longer than the looking."""


@dataclass
class Table:
    """Columns of one entry an image, and what was left out.

    key: path below the root, with forward slashes.
    label: name of the class.
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

    def __len__(self) -> int:
        return len(self.key)

    def columns(self) -> Iterable[tuple[dict[str, Any], str, list[str]]]:
        """Every column that is present: its holder, its name there, its values."""
        for name in ("key", "label", "split", "role", "super_class"):
            if getattr(self, name) is not None:
                yield vars(self), name, getattr(self, name)
        for name, values in self.attributes.items():
            yield self.attributes, name, values

    def keep(self, wanted: np.ndarray) -> None:
        """Leave out the images for which `wanted` [n] is False."""
        for holder, name, values in list(self.columns()):
            holder[name] = [value for value, stays in zip(values, wanted, strict=True) if stays]


def leave_out_unreadable(table: Table, root: Path) -> None:
    """Look at the header of every file; name those that are missing or no images, and leave them out.

    Raises:
        ValueError: not one file is an image.
    """
    if not len(table):
        return

    def problem(key: str) -> str | None:
        try:
            check_header(root / key)
        except ImageError as error:
            return str(error)
        return None

    def problems(start: int) -> list[str | None]:
        return [problem(key) for key in table.key[start : start + AT_ONCE]]

    with ThreadPoolExecutor(8) as pool:
        reasons = [one for part in pool.map(problems, range(0, len(table), AT_ONCE)) for one in part]
    bad = [one for one in reasons if one]
    if len(bad) == len(table):
        raise ValueError(
            f"None of the {len(table)} images below {root} can be read; the first: {' '.join(bad[0].split())}"
        )
    before = list(dict.fromkeys(table.label))
    table.keep(np.array([one is None for one in reasons]))
    table.problems += bad
    left = set(table.label)
    table.problems += [f"Class {name!r} has no readable image and is left out." for name in before if name not in left]


def assemble(table: Table, seed: int, validation: float, test: float = 0.5) -> ImageRecords:
    """Number the classes in order of appearance and make the splits.

    Splits come from the table; without that column the classes are shared out by seed. A table that has training
    images and no validation images gives the fraction `validation` of its training classes to validation.

    Raises:
        ValueError: a split has queries without a gallery, or the other way round.
    """
    class_names, labels = numbered(table.label)
    super_names, super_labels = numbered(table.super_class) if table.super_class is not None else ([], None)
    if table.split is None:
        splits = _splits.class_disjoint(labels, seed, test, validation)
    else:
        splits = _published(table, labels, seed, validation)
    return ImageRecords(
        keys=table.key,
        labels=labels,
        class_names=class_names,
        super_labels=super_labels,
        super_names=super_names,
        attributes={name: np.array(values, dtype=str) for name, values in table.attributes.items()},
        splits=splits,
        problems=table.problems,
    )


def numbered(names: list[str]) -> tuple[list[str], np.ndarray]:
    """The different names in order of appearance, and the number of each entry: int64 [n]."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return list(numbers), np.array([numbers[name] for name in names], dtype=np.int64)


def _published(table: Table, labels: np.ndarray, seed: int, validation: float) -> dict[str, Split]:
    split, role = np.array(table.split), np.array(table.role if table.role is not None else [""] * len(table))
    splits = {}
    for name in ("train", "validation", "test"):
        mine = np.flatnonzero(split == name)
        if len(mine):
            splits[name] = Split.with_roles(name, mine, role[mine])
    if "train" in splits and "validation" not in splits and splits["train"].gallery is None:
        splits = _splits.hold_out(labels, splits["train"].query, seed, validation) | {
            name: part for name, part in splits.items() if name != "train"
        }
    return splits
