"""What is known of images besides their pixels, field by field, and filters that let only some of them through."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lab.core.formats import beside
from lab.core.results import names_at
from lab.data import ImageSet

CLASS, SUPER = "class", "super-class"
NEAREST, PRECISION = "nearest is right", "average precision"
"""What the Map page colours by besides: whether the nearest image is of the same class, and how well a query is
answered."""
MANY = 300
"""Values of a field above which it names images and makes no slices."""


@dataclass(frozen=True)
class Filter:
    """Which values of which fields are let through, and on which side.

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
        return self._through(images, items) if self.side != "neighbours" else np.ones(len(items), bool)

    def neighbours(self, images: ImageSet, items: np.ndarray) -> np.ndarray:
        """bool [n]: which of these images may be shown as neighbours."""
        return self._through(images, items) if self.side != "queries" else np.ones(len(items), bool)

    def _through(self, images: ImageSet, items: np.ndarray) -> np.ndarray:
        through = np.ones(len(items), bool)
        for name, passing in self.values.items():
            if passing:
                through &= np.isin(column(images, name, items), list(passing))
        for name, words in self.words.items():
            if words:
                through &= np.char.find(np.char.lower(column(images, name, items)), words.lower()) >= 0
        return through

    @property
    def as_address(self) -> str | None:
        """What passes, as an object; None when everything does."""
        choices: dict[str, Any] = {name: sorted(passing) for name, passing in self.values.items() if passing}
        choices |= {name: words for name, words in self.words.items() if words}
        return json.dumps(choices, ensure_ascii=False, separators=(",", ":")) if choices else None


def fields(images: ImageSet) -> list[str]:
    """What images can be filtered by."""
    super_class = [SUPER] if images.super_labels is not None else []
    return [CLASS, *super_class, *_columns(images)]


def _columns(images: ImageSet) -> dict[str, str]:
    """Return the fields that a person's own columns give, each with its column.

    A column that bears a name of ours, such as `class`, is shown under another one.
    """
    titles = beside(images.attributes, ours=(CLASS, SUPER, NEAREST, PRECISION))
    return {title: name for name, title in titles.items()}


def column(images: ImageSet, name: str, items: np.ndarray) -> np.ndarray:
    """str [n]: one field of some images."""
    if name == CLASS:
        return names_at(images.class_names, images.labels[items])
    if name == SUPER and images.super_labels is not None:
        return names_at(images.super_names, images.super_labels[items])
    return np.asarray(images.attributes[_columns(images)[name]])[items].astype(str)


def slicing_fields(images: ImageSet, items: np.ndarray) -> dict[str, np.ndarray]:
    """Field to its value for each of some images, str [n]: the class, and what else makes slices; of two that say the
    same, the first."""
    slicing: dict[str, np.ndarray] = {}
    known: list[np.ndarray] = []
    for name in fields(images):
        values, codes = np.unique(column(images, name, items), return_inverse=True)
        telling = 1 < len(values) <= MANY and not any(np.array_equal(codes, one) for one in known)
        if name == CLASS or telling:
            slicing[name] = values[codes]
            known.append(codes)
    return slicing
