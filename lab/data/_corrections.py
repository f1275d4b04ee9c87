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
    """Image to the class that it really is, or to "" where it is left out, from a CSV file with the columns image and
    label. A table without labels leaves its images out, as does a table of marks of version 0.2, with a column mark.

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
    texts = {name: tables.names(values, f"values of {name} in {file}") for name, values in columns.items()}
    images = texts["image"]
    if "mark" not in texts and "label" not in texts and (other := next(filter(texts.get, CLASS_NAMES), None)):
        raise ValueError(
            f"{file} has no column label, so its images would be left out; rename the column {other} to label if it "
            "says their classes, or take it out."
        )
    labels = [""] * len(images) if "mark" in texts else texts.get("label", [""] * len(images))
    said: dict[str, str] = {}
    for row, (image, label) in enumerate(zip(images, labels, strict=True), start=1):
        if image and said.setdefault(image, label) != label:
            both = " and ".join(f"{one!r}" if one else "left out" for one in (said[image], label))
            raise ValueError(f"{file}, row {row}: {image} has two labels, {both}. Keep one row.")
    return said


def respelt(table: Mapping[str, str], source: str, keys: Sequence[str], root: Path) -> dict[str, str]:
    """The table with the keys of the images that it names by another spelling of their paths.

    Raises:
        ValueError: it says two things of one image.
    """
    known, said = set(keys), dict[str, str]()
    for name, label in table.items():
        spelling = name if name in known else key_of(name, root)
        key = spelling if spelling in known else name
        if said.setdefault(key, label) != label:
            both = " and ".join(f"{one!r}" if one else "left out" for one in (said[key], label))
            raise ValueError(f"{source} names {key} under two spellings, with two labels: {both}. Keep one row.")
    return said


def found(table: Mapping[str, str], source: str, keys: Sequence[str]) -> dict[int, str]:
    """Item to what a table says of it. Tables are safe to open in a spreadsheet, so a name may stand in them behind an
    apostrophe.

    Raises:
        ValueError: none of its images is there, or one to relabel is not.
    """
    places = _by_form(keys)
    known = {places[image]: label for image, label in table.items() if image in places}
    absent = table.keys() - places.keys()
    if table and (not known or any(table[image] for image in absent)):
        image = min((image for image in absent if table[image]), default=min(absent))
        raise ValueError(
            f"{source} names {image!r}, which is no image of this data set; data.corrections needs its names."
        )
    return known


def classes_of(table: Mapping[int, str], source: str, class_names: list[str]) -> dict[int, int]:
    """Item to its new class, for those that are relabelled.

    Raises:
        ValueError: there is no such class.
    """
    classes = _by_form(class_names)
    for name in table.values():
        if name and name not in classes:
            raise ValueError(
                f"{source} relabels to {name!r}, which is no class of this data set: {quoted(class_names)}."
            )
    return {item: classes[name] for item, name in table.items() if name}


def _by_form(names: Sequence[str]) -> dict[str, int]:
    """Each name, and the cell that a table of ours has for it, to its place. A cell that several names share, or that
    is another's name, is not taken for any of them."""
    cells = [plain_cell(name) for name in names]
    often = Counter(cells)
    places = {cell: place for place, cell in enumerate(cells) if often[cell] == 1}
    places.update({name: place for place, name in enumerate(names)})
    return places


def moved(
    splits: Mapping[str, Split], labels: np.ndarray, out: np.ndarray, relabelled: Mapping[int, int]
) -> dict[str, Split]:
    """The splits without the images that are left out.

    Where no class is in two splits, a relabelled image of a split moves to the one that holds its new class, so that
    none is in two splits afterwards either. An image that had no class, and was in no split, comes there, too. Where a
    split has queries and gallery, it moves to the gallery.

    Args:
        labels: int64 [n], before the corrections. out: int64 [m], items. relabelled: item to its new class.
    """
    homes = [(label, name) for name, split in splits.items() for label in split.by_class(labels)[0].tolist()]
    home = dict(homes) if len({label for label, _ in homes}) == len(homes) else {}
    changing = np.array(list(relabelled), np.int64)
    inside = {int(item): name for name, split in splits.items() for item in np.intersect1d(split.items, changing)}
    inside |= {item: "" for item in relabelled if item not in inside and not labelled(labels[item])}  # in no split yet
    goes = {item: home[relabelled[item]] for item, name in inside.items() if home.get(relabelled[item], name) != name}
    changed = {}
    for name, split in splits.items():
        without, comes = [*out, *goes], [item for item, to in goes.items() if to == name]
        query, gallery = split.query[~np.isin(split.query, without)], split.gallery
        if gallery is None:
            changed[name] = Split(_with(query, comes))
        else:
            changed[name] = Split(query, _with(gallery[~np.isin(gallery, without)], comes))
    return changed


def _with(items: np.ndarray, comes: list[int]) -> np.ndarray:
    return np.sort(np.append(items, np.array(comes, np.int64))) if comes else items
