"""Corrections of a data set: images that are left out, and images that really are of another class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from lab.core import tables
from lab.core.explain import quoted
from lab.core.formats import plain_cell
from lab.core.results import labelled
from lab.data._splits import Split
from lab.data.images.paths import key_of

CLASS_NAMES = ("class", "labels", "target", "class_name")
"""Columns that other tables have for the label."""


def read_corrections(file: Path) -> dict[str, str]:
    """Read a CSV file with the columns image and label: each image to its true class, or to "" to leave it out.

    A table without labels leaves its images out, as does a table of marks of version 0.2, with a column mark.

    Raises:
        ValueError: there is no such file, it is no table with a column image, or it says two things of one image.
    """
    try:
        read = tables.read(file)
    except OSError as error:
        raise ValueError(
            f"data.corrections names {file}, which cannot be read: {error.strerror or error}. Give another file, or "
            "none."
        ) from None
    columns = {name.casefold(): values for name, values in read.items()}  # spreadsheets write Label
    if "image" not in columns:
        raise ValueError(f"{file} has no column image, which data.corrections needs.")
    # An image without a label is left out; a table with its classes in another column is refused.
    texts = {
        name: tables.names(values, f"values of {name} in {file}")
        for name, values in columns.items()
    }
    images = texts["image"]
    labels = [""] * len(images)
    if "mark" not in texts and "label" in texts:
        labels = texts["label"]
    elif "mark" not in texts:
        for name in CLASS_NAMES:
            if texts.get(name):
                raise ValueError(
                    f"{file} has no column label, so its images would be left out; rename the column {name} to label "
                    "if it says their classes, or take it out."
                )
    corrections: dict[str, str] = {}
    for row, (image, label) in enumerate(zip(images, labels, strict=True), start=1):
        if image and corrections.setdefault(image, label) != label:
            both = _both(corrections[image], label)
            raise ValueError(f"{file}, row {row}: {image} has two labels, {both}. Keep one row.")
    return corrections


def _both(label: str, other: str) -> str:
    """Name two labels in a message; an empty one leaves the image out."""
    return " and ".join(repr(name) if name else "left out" for name in (label, other))


def with_own_keys(
    table: Mapping[str, str], source: str, keys: Sequence[str], root: Path
) -> dict[str, str]:
    """Return the table with the data set's own keys for images that it names by another spelling of their paths.

    Raises:
        ValueError: it has two labels for one image.
    """
    existing = set(keys)
    corrections: dict[str, str] = {}
    for name, label in table.items():
        key = name
        if name not in existing and key_of(name, root) in existing:
            key = key_of(name, root)
        if corrections.setdefault(key, label) != label:
            both = _both(corrections[key], label)
            raise ValueError(
                f"{source} names {key} under two spellings, with two labels: {both}. Keep one row."
            )
    return corrections


def items_in(table: Mapping[str, str], source: str, keys: Sequence[str]) -> dict[int, str]:
    """Return the position of each image in a table to its label there.

    Tables are safe to open in a spreadsheet, so a name may have an apostrophe in front there.

    Raises:
        ValueError: no image of the table exists, or one to relabel does not.
    """
    positions = _positions(keys)
    labels = {positions[image]: label for image, label in table.items() if image in positions}
    absent = table.keys() - positions.keys()
    if table and (not labels or any(table[image] for image in absent)):
        image = min((image for image in absent if table[image]), default=min(absent))
        raise ValueError(
            f"{source} names {image!r}, which is no image of this data set; data.corrections needs its names."
        )
    return labels


def new_labels(table: Mapping[int, str], source: str, class_names: list[str]) -> dict[int, int]:
    """Return the position of each image that is relabelled to its new class.

    Raises:
        ValueError: there is no such class.
    """
    classes = _positions(class_names)
    for name in table.values():
        if name and name not in classes:
            raise ValueError(
                f"{source} relabels to {name!r}, which is no class of this data set: {quoted(class_names)}."
            )
    return {item: classes[name] for item, name in table.items() if name}


def _positions(names: Sequence[str]) -> dict[str, int]:
    """Return the position of each name, and of the cell that our tables have for it.

    A cell that several names share, or that is another's name, stands for none of them.
    """
    cells = [plain_cell(name) for name in names]
    counts = Counter(cells)
    positions = {cell: position for position, cell in enumerate(cells) if counts[cell] == 1}
    positions.update({name: position for position, name in enumerate(names)})
    return positions


def corrected_splits(
    splits: Mapping[str, Split],
    labels: np.ndarray,
    left_out: np.ndarray,
    relabelled: Mapping[int, int],
) -> dict[str, Split]:
    """Return the splits without the images that are left out, and with relabelled images where their class is.

    Where no class is in two splits, a relabelled image of a split moves to the split that holds its new class, so that
    afterwards no class is in two splits either. An image that had no class, and was in no split, moves there, too. In
    a split with queries and gallery, it moves to the gallery.

    Args:
        labels: int64 [n], before the corrections. left_out: int64 [m], items. relabelled: item to its new class.
    """
    moves = _moves(splits, labels, relabelled)
    removed = [*left_out, *moves]
    corrected = {}
    for name, split in splits.items():
        added = [item for item, target in moves.items() if target == name]
        query = split.query[~np.isin(split.query, removed)]
        if split.gallery is None:
            corrected[name] = Split(_with(query, added))
        else:
            gallery = split.gallery[~np.isin(split.gallery, removed)]
            corrected[name] = Split(query, _with(gallery, added))
    return corrected


def _moves(
    splits: Mapping[str, Split], labels: np.ndarray, relabelled: Mapping[int, int]
) -> dict[int, str]:
    """Return the relabelled images that change their split, each with its new split."""
    split_of_class: dict[int, str] = {}
    for name, split in splits.items():
        for label in split.by_class(labels)[0].tolist():
            if label in split_of_class:  # a class is in two splits: images may stay where they are
                return {}
            split_of_class[label] = name
    current = {item: "" for item in relabelled if not labelled(labels[item])}  # in no split yet
    changing = np.array(list(relabelled), np.int64)
    for name, split in splits.items():
        for item in np.intersect1d(split.items, changing).tolist():
            current[item] = name
    moves = {}
    for item, name in current.items():
        target = split_of_class.get(relabelled[item], name)
        if target != name:
            moves[item] = target
    return moves


def _with(items: np.ndarray, added: list[int]) -> np.ndarray:
    return np.sort(np.append(items, np.array(added, np.int64))) if added else items
