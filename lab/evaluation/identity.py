"""Identify images: the names and contents of a run's images, and the join of several runs by them.

An item is a number within one list of images. Two runs may have two lists (a file was added, renamed or replaced in
between), so equal numbers mean nothing. Every comparison of runs goes through `join`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.core.arrays import Names
from lab.core.formats import counted

if TYPE_CHECKING:
    from lab.data import ImageSet

COLUMNS = ("items", "keys", "contents", "classes")
"""Columns of `Pictures`."""

ROWS = "row numbers of "
"""Prefix of the place of images without names: they are joined only if the labels of all rows are equal."""


@dataclass(frozen=True)
class Pictures:
    """The n images that a run embedded of a split, in any order.

    run: the run's name. items: int64 [n], their numbers in the run's own list, each once.
    keys: n names, each once. contents: int64 [n], a digest of each image's content, 0 where it was not recorded.
    classes: the names of their classes [n] when they were embedded, "" for an image without a class.
    place: what the names are relative to (a folder, an address, a data set), "" where they are names alone.
    """

    run: str
    items: np.ndarray
    keys: np.ndarray
    contents: np.ndarray
    classes: np.ndarray
    place: str = ""

    def __len__(self) -> int:
        return len(self.items)

    def take(self, rows: np.ndarray) -> Pictures:
        """Return some of them, by their rows."""
        return replace(self, **{name: getattr(self, name)[rows] for name in COLUMNS})

    def of_items(self, items: np.ndarray) -> Pictures:
        """Return the images of some items [m], in their order.

        Raises:
            KeyError: an item is not among them.
        """
        return self.take(rows_of(self.items, items))

    @classmethod
    def of_images(cls, run: str, images: ImageSet, items: np.ndarray, place: str) -> Pictures:
        """Return images of a data set as it lists them now, their contents unknown."""
        keys = as_array([str(images.keys[item]) for item in items.tolist()])
        names = as_array(images.class_names)
        classes = class_of(names, np.asarray(images.labels)[items])
        return cls(
            run, np.asarray(items, np.int64), keys, np.zeros(len(items), np.int64), classes, place
        )

    @property
    def digest(self) -> str:
        """Sixteen letters that two sets share if they have the same images (by content, by name where that is
        unknown) with the same classes, whatever the images are called and in whatever order they come."""
        words = []
        for key, content, name in zip(self.keys, self.contents.tolist(), self.classes, strict=True):
            words.append(f"{content or key}\0{name}")
        words.sort()
        return hashlib.blake2b("\n".join(words).encode(errors="replace"), digest_size=8).hexdigest()


def as_array(words: Sequence[str]) -> np.ndarray:
    """Return words as an array of objects [n]: one long word does not lengthen all others."""
    array = np.empty(len(words), object)
    array[:] = list(words)
    return array


def class_of(names: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the name of each label's class [n], "" for a label without a name."""
    labels = np.asarray(labels, np.int64)
    named = (labels >= 0) & (labels < len(names))
    classes = as_array([""] * len(labels))
    classes[named] = names[labels[named]]
    return classes


def rows_of(all_items: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Return the rows int64 [m] of some items [m] among all items [n].

    Raises:
        KeyError: an item is not among them.
    """
    if not len(items):
        return np.zeros(0, np.int64)
    order = np.argsort(all_items, kind="stable")
    place = np.searchsorted(all_items, items, sorter=order).clip(max=max(len(order) - 1, 0))
    rows = order[place] if len(order) else np.full(len(items), -1)
    if not len(order) or (all_items[rows] != items).any():
        raise KeyError("An item is not among these images.")
    return rows


def columns(
    images: ImageSet, items: np.ndarray, contents: np.ndarray | None
) -> dict[str, np.ndarray]:
    """Return the columns that are stored beside embeddings of `items` [n], so that later readers can identify them.

    Args:
        contents: int64 [n], see `Pictures`; None where no image was read.
    """
    keys = Names.of(images.keys[item] for item in items.tolist())
    contents = np.zeros(len(items), np.int64) if contents is None else contents
    return {"keys": keys.joined, "key_ends": keys.ends, "contents": contents.astype(np.int64)}


def class_columns(images: ImageSet) -> dict[str, np.ndarray]:
    """Return the names of a data set's classes as they are stored beside embeddings."""
    names = Names.of(images.class_names)
    return {"class_names": names.joined, "class_name_ends": names.ends}


def names_in(stored: dict[str, np.ndarray], joined: str, ends: str) -> np.ndarray:
    """Return names [n] from two stored columns."""
    return as_array(Names(stored[joined], stored[ends])[:])


def keys_digest(images: ImageSet) -> str:
    """Return sixteen letters that two lists of images share if they give the same names the same numbers."""
    digest = hashlib.blake2b(f"{len(images)}\n".encode(), digest_size=8)
    keys: Any = images.keys if isinstance(images.keys, Names) else Names.of(images.keys)
    digest.update(np.ascontiguousarray(keys.ends, np.int64).data)
    digest.update(np.ascontiguousarray(keys.joined).data)
    return digest.hexdigest()


@dataclass(frozen=True)
class Joined:
    """The n images that r runs have in common.

    names: of the runs. items: int64 [r n], the number of each image in each run's own list, ascending in the first.
    sizes: images that each run has. renamed: how many have not the same name everywhere. replaced: names of different
    contents, which are left out. unknown: runs whose contents were not recorded. by_row: whether the images have no
    names, so that their row numbers were compared.
    """

    names: tuple[str, ...]
    items: np.ndarray
    sizes: tuple[int, ...]
    renamed: int = 0
    replaced: int = 0
    unknown: tuple[str, ...] = ()
    by_row: bool = False

    def __len__(self) -> int:
        return self.items.shape[1]

    @property
    def whole(self) -> bool:
        """Whether no image of any run is left out."""
        return all(size == len(self) for size in self.sizes)

    @property
    def same_numbers(self) -> bool:
        """Whether no image is left out and each has the same number in all runs."""
        return self.whole and bool((self.items == self.items[0]).all())

    @property
    def sentence(self) -> str:
        """Say how many images were joined, by what, and how many were not and why."""
        if self.by_row:
            criterion = "row number"
        elif self.unknown:
            criterion = "name"
        else:
            criterion = "name and content"
        sentence = f"{counted(len(self), 'image')} joined by {criterion}"
        if self.renamed:
            sentence += f", {self.renamed:,} of them renamed"
        lost = []
        for name, size in zip(self.names, self.sizes, strict=True):
            if size > len(self):
                lost.append(f"{size - len(self):,} of {name}")
        sentence += f"; not joined: {', '.join(lost)}" if lost else "; none is left out"
        if self.replaced:
            sentence += f" ({counted(self.replaced, 'name')} with another content)"
        if self.by_row:
            return f"{sentence}. The rows have no names; they were joined since their labels are equal."
        if self.unknown:
            return f"{sentence}. The contents of the images of {', '.join(self.unknown)} are not recorded."
        return f"{sentence}."


def join(tables: Sequence[Pictures]) -> Joined:
    """Join the images of several runs by name and content.

    Two images are the same if name and content are equal, or if only the content is: the file was renamed. Of several
    copies under other names, those of equal class are joined first, in order. The same name with another content is
    another image. Where the content of one is not recorded, the names alone are compared, if both runs name images of
    the same place.

    Example:
        >>> import numpy as np
        >>> from lab.evaluation.identity import Pictures, as_array, join
        >>> def pictures(run, keys, contents):
        ...     return Pictures(run, np.arange(3), as_array(keys), np.array(contents), as_array(["x"] * 3))
        >>> found = join([pictures("a", ["1", "2", "3"], [11, 12, 13]), pictures("b", ["1", "4", "3"], [11, 12, 99])])
        >>> found.items.tolist(), found.renamed, found.replaced
        ([[0, 1], [0, 1]], 1, 1)
    """
    # The other tables are joined with the one of which most contents are recorded.
    recorded = [int((table.contents != 0).sum()) for table in tables]
    first = int(np.argmax(recorded))
    base = tables[first]
    rows = np.full((len(tables), len(base)), -1)
    replaced: set[str] = set()
    by_row = False
    for number, other in enumerate(tables):
        if number == first:
            rows[number] = np.arange(len(base))
            continue
        base_rows, other_rows, by_name = _pairs(base, other)
        rows[number, base_rows] = other_rows
        by_row |= bool(by_name) and _rows(base)
        replaced |= _left(base, base_rows) & _left(other, other_rows)
    rows = rows[:, (rows >= 0).all(0)]
    # Two tables may each agree with a third of unknown content, and not with each other.
    contents = _column("contents", tables, rows)
    largest = contents.max(0, initial=np.iinfo(np.int64).min, where=contents != 0)
    rows = rows[:, ((contents == largest) | (contents == 0)).all(0)]
    items = _column("items", tables, rows)
    keys = _column("keys", tables, rows)
    order = np.argsort(items[0], kind="stable")
    has_unknown = (_column("contents", tables, rows) == 0).any(1)
    unknown = [table.run for table, lacks in zip(tables, has_unknown, strict=True) if lacks]
    return Joined(
        names=tuple(table.run for table in tables),
        items=items[:, order],
        sizes=tuple(map(len, tables)),
        renamed=int((keys != keys[0]).any(0).sum()),
        replaced=len(replaced),
        unknown=tuple(unknown) if len(tables) > 1 else (),
        by_row=by_row,
    )


def _column(name: str, tables: Sequence[Pictures], rows: np.ndarray) -> np.ndarray:
    """Return a column of each table at its rows, [r n]."""
    values = [getattr(table, name)[own_rows] for table, own_rows in zip(tables, rows, strict=True)]
    return np.array(values, values[0].dtype).reshape(rows.shape)


def unite(tables: Sequence[Pictures]) -> tuple[Pictures, list[np.ndarray]]:
    """Return every image of several runs once, by the rules of `join`.

    Returns:
        the n images, each as the first run that has it lists it; and for each run the position int64 [m] of each of its
        images among them.
    """
    base = tables[0]
    places = [np.arange(len(base))]
    for other in tables[1:]:
        base_rows, other_rows, _ = _pairs(base, other)
        place = np.full(len(other), -1)
        place[other_rows] = base_rows
        more = np.flatnonzero(place < 0)
        place[more] = len(base) + np.arange(len(more))
        places.append(place)
        added = other.take(more)
        both: dict[str, Any] = {}
        for name in COLUMNS:
            both[name] = np.concatenate([getattr(base, name), getattr(added, name)])
        base = replace(base, **both)
    return base, places


def _pairs(one: Pictures, other: Pictures) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the rows of the same images in two tables, int64 [m] each, and how many were joined by names alone."""
    import pandas as pd

    split = len(one)
    # Number keys, classes and contents of both tables together.
    keys = pd.factorize(np.concatenate([one.keys, other.keys]))[0]
    classes = pd.factorize(np.concatenate([one.classes, other.classes]))[0]
    all_contents = np.concatenate([one.contents, other.contents])
    contents = pd.factorize(all_contents)[0]
    unknown = all_contents == 0
    most = len(keys) + 1
    same_place = one.place == other.place or (
        "" in (one.place, other.place) and not _rows(one) and not _rows(other)
    )
    free_rows = np.ones(len(one), bool)
    free_others = np.ones(len(other), bool)
    pairs: list[tuple[np.ndarray, np.ndarray]] = []

    def match(codes: np.ndarray, usable: np.ndarray) -> int:
        """Pair free rows of equal codes: the first with the first, the second with the second."""
        codes = pd.factorize(codes)[0]  # small numbers, which leave room for `_numbered`
        rows = np.flatnonzero(free_rows & usable[:split])
        others = np.flatnonzero(free_others & usable[split:])
        row_codes = _numbered(codes[rows], most)
        other_codes = _numbered(codes[others + split], most)
        _, first, second = np.intersect1d(
            row_codes, other_codes, assume_unique=True, return_indices=True
        )
        free_rows[rows[first]] = False
        free_others[others[second]] = False
        pairs.append((rows[first], others[second]))
        return len(first)

    # The surest first: name and content, name where a content is unknown, content and class, content.
    match(keys * most + contents, ~unknown)
    by_name = 0
    if same_place and unknown.any():
        # Names whose contents are known on both sides, and differ, are no pair.
        either = np.isin(keys, keys[unknown])
        by_name = match(keys, either)
    match(contents * most + classes, ~unknown)
    match(contents, ~unknown)
    rows = np.concatenate([first for first, _ in pairs])
    others = np.concatenate([second for _, second in pairs])
    return rows, others, by_name


def _left(one: Pictures, joined: np.ndarray) -> set[str]:
    """Return the names of rows of known content that were not joined."""
    left = one.contents != 0
    left[joined] = False
    return set(one.keys[left].tolist())


def _rows(one: Pictures) -> bool:
    return one.place.startswith(ROWS)


def _numbered(codes: np.ndarray, most: int) -> np.ndarray:
    """Return codes [n] made unique: each with its position among the equal ones."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.zeros(0, np.int64)
    if len(codes):
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    lengths = np.diff(np.r_[starts, len(codes)])
    place = np.empty(len(codes), np.int64)
    place[order] = np.arange(len(codes)) - np.repeat(starts, lengths)
    return codes.astype(np.int64) * most + place
