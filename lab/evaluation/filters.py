"""Fields of images besides their pixels, and filters that let only some images through."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lab.core.formats import beside
from lab.core.results import names_at
from lab.data import ImageSet

CLASS = "class"
SUPER = "super-class"
NEAREST = "nearest is right"
PRECISION = "average precision"
"""Fields of the Map page alone: whether the nearest image is of the same class, and how well a query is answered."""
MANY = 300
"""Most values of a field that makes slices; a field with more values names images."""


@dataclass(frozen=True)
class Filter:
    """The values of fields that are let through, and on which side.

    values: field to those that pass; fields without values let everything through.
    words: field to words that a value must hold.
    """

    values: Mapping[str, frozenset[str]] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    side: str = "both"

    def __bool__(self) -> bool:
        return any(self.values.values()) or any(self.words.values())

    def queries(self, images: ImageSet, items: np.ndarray) -> np.ndarray:
        """bool [n]: which of these images may be offered as queries."""
        if self.side == "neighbours":
            return np.ones(len(items), bool)
        return self._through(images, items)

    def neighbours(self, images: ImageSet, items: np.ndarray) -> np.ndarray:
        """bool [n]: which of these images may be shown as neighbours."""
        if self.side == "queries":
            return np.ones(len(items), bool)
        return self._through(images, items)

    def _through(self, images: ImageSet, items: np.ndarray) -> np.ndarray:
        through = np.ones(len(items), bool)
        for name, passing in self.values.items():
            if passing:
                through &= np.isin(column(images, name, items), list(passing))
        for name, words in self.words.items():
            if words:
                through &= (
                    np.char.find(np.char.lower(column(images, name, items)), words.lower()) >= 0
                )
        return through

    @property
    def as_address(self) -> str | None:
        """The filter as JSON for the URL; None if everything passes."""
        choices: dict[str, Any] = {}
        for name, passing in self.values.items():
            if passing:
                choices[name] = sorted(passing)
        for name, words in self.words.items():
            if words:
                choices[name] = words
        return json.dumps(choices, ensure_ascii=False, separators=(",", ":")) if choices else None


def fields(images: ImageSet) -> list[str]:
    """Return the fields that images can be filtered by."""
    names = [CLASS]
    if images.super_labels is not None:
        names.append(SUPER)
    return [*names, *_columns(images)]


def _columns(images: ImageSet) -> dict[str, str]:
    """Return the fields of the user's own columns, each with its column.

    A column with the name of a field above, such as `class`, is shown under another name.
    """
    titles = beside(images.attributes, ours=(CLASS, SUPER, NEAREST, PRECISION))
    return {title: name for name, title in titles.items()}


def column(images: ImageSet, name: str, items: np.ndarray) -> np.ndarray:
    """Return one field of some images, str [n]."""
    if name == CLASS:
        return names_at(images.class_names, images.labels[items])
    if name == SUPER and images.super_labels is not None:
        return names_at(images.super_names, images.super_labels[items])
    return np.asarray(images.attributes[_columns(images)[name]])[items].astype(str)


def slicing_fields(images: ImageSet, items: np.ndarray) -> dict[str, np.ndarray]:
    """Return field to its value for each of some images, str [n]: the class, and other fields that make slices; of two
    fields with the same slices, the first."""
    slicing: dict[str, np.ndarray] = {}
    seen: list[np.ndarray] = []
    for name in fields(images):
        values, codes = np.unique(column(images, name, items), return_inverse=True)
        is_new = not any(np.array_equal(codes, other) for other in seen)
        if name == CLASS or (1 < len(values) <= MANY and is_new):
            slicing[name] = values[codes]
            seen.append(codes)
    return slicing
