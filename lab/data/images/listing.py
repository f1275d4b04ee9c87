"""The list of a data set's images, as plain JSON: what was read once is there again at once, and the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import lab.data
from lab.data._base import ImageSet, Split


def to_list(images: ImageSet) -> dict[str, Any] | None:
    """All that a reader found; None for a set that is more than a list of files."""
    kind = type(images)
    if images.root is None or images.relevance or kind.load is not ImageSet.load or kind.path is not ImageSet.path:
        return None
    return {
        "root": str(images.root),
        "class_disjoint": bool(images.class_disjoint),
        "keys": images.keys,
        "labels": images.labels.tolist(),
        "class_names": images.class_names,
        "super_labels": None if images.super_labels is None else images.super_labels.tolist(),
        "super_names": images.super_names,
        "attributes": {name: values.tolist() for name, values in images.attributes.items()},
        "splits": {
            name: [split.query.tolist(), None if split.gallery is None else split.gallery.tolist()]
            for name, split in images.splits.items()
        },
        "problems": images.problems,
    }


def from_list(name: str, knobs: dict[str, Any], listed: dict[str, Any]) -> ImageSet:
    """The data set again, from what `of` gave. No file is looked at.

    Args:
        name: entry of `lab.data`.
        knobs: of that entry.
        listed: from `of`.

    Raises:
        ValueError: the folder of the images is gone, or this is no such list.
    """
    kind = lab.data.get(name)
    images: Any = kind.__new__(kind)
    images.knobs = kind.Knobs(**knobs)

    def places(part: Any) -> Any:
        return None if part is None else _within(part, len(images.keys))

    try:
        images.root, images.class_disjoint = Path(listed["root"]), bool(listed["class_disjoint"])
        images.keys, images.class_names = list(map(str, listed["keys"])), list(map(str, listed["class_names"]))
        images.labels = _within(listed["labels"], len(images.class_names))
        images.super_names = list(map(str, listed["super_names"]))
        grouped = listed["super_labels"] is not None
        images.super_labels = _within(listed["super_labels"], len(images.super_names)) if grouped else None
        images.attributes = {str(one): np.asarray(values, str) for one, values in listed["attributes"].items()}
        images.splits = {split: Split(*map(places, parts)) for split, parts in listed["splits"].items()}
        images.problems, images.relevance = list(map(str, listed["problems"])), {}
        columns = [images.labels, *images.attributes.values(), *([images.super_labels] if grouped else [])]
        if any(len(column) != len(images.keys) for column in columns):
            raise ValueError("columns differ in length")
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(f"The list of the images is damaged ({error}); delete it to read them anew.") from None
    if not images.root.is_dir():
        raise ValueError(f"There is no folder {images.root} any more; its images were moved or deleted.")
    return images


def _within(numbers: list[int], count: int) -> np.ndarray:
    """int64 [n], each 0..count-1."""
    items = np.asarray(numbers, np.int64)
    if items.ndim != 1 or (len(items) and not (items.min() >= 0 and items.max() < count)):
        raise ValueError(f"a number outside 0..{count - 1}")
    return items
