"""Check external embeddings and the metadata of their rows, and turn them into the records of a data set."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from lab.core import tables
from lab.core.files import whole
from lab.core.formats import counted
from lab.core.results import as_array, no_class
from lab.data import ImageRecords, Split
from lab.data.images.paths import key_of, place_finder
from lab.data.images.reading import ImageError, size_of

NAMES = {
    "image": ("image", "path", "image_path", "file", "filename", "file_name"),
    "key": ("key", "keys", "id", "name"),
    "label": ("class", "label", "labels", "target", "class_name"),
    "split": ("split", "splits"),
    "role": ("query_gallery", "part", "role"),
    "super_class": ("super_class", "superclass", "super"),
}
"""Columns that are read of a table, with their usual names; the first name that exists is taken."""

SPLITS = {
    "train": "train",
    "validation": "validation",
    "val": "validation",
    "valid": "validation",
    "test": "test",
}

LENGTH = 2e-3
"""Tolerance of the length of a unit vector: half-precision numbers have such rounding errors."""


def as_rows(vectors: Any) -> Any:
    """Return vectors (numpy, torch, lists) as an object with a shape, a dtype and rows.

    Raises:
        ValueError: it is no table of floating-point numbers, or an empty one.
    """
    if hasattr(vectors, "detach") or not hasattr(vectors, "shape") or not hasattr(vectors, "dtype"):
        vectors = as_array(vectors, "vectors")
    if len(vectors.shape) != 2:
        raise ValueError(
            f"Vectors are a table [n d], one row an image; these have the shape {list(vectors.shape)}."
        )
    if vectors.dtype.kind != "f":
        raise ValueError(
            f"The vectors are of type {vectors.dtype}, not floating-point numbers; convert them with "
            '`.astype("float32")` if they are embeddings.'
        )
    if not vectors.shape[0] or not vectors.shape[1]:
        raise ValueError(
            f"There are no vectors: the table has {vectors.shape[0]} rows of {vectors.shape[1]} numbers."
        )
    return vectors


def checked_rows(vectors: Any, rows: np.ndarray, normalise: bool | None) -> np.ndarray:
    """Return some rows, int64 [n], of the result of `as_rows`, as float32 [n d].

    normalise: True scales each to unit length, False keeps lengths, None refuses other lengths than 1.

    Raises:
        ValueError: a number is not finite, or a length not 1; names the row.
    """
    block = np.asarray(vectors)[rows].astype(np.float32, copy=False)
    finite = np.isfinite(block).all(1)
    if not finite.all():
        raise ValueError(
            f"Row {rows[~finite][0]:,} of the vectors holds NaN or infinity (rows are counted from 0); leave such "
            "rows out."
        )
    if normalise is False:
        return block
    lengths = np.linalg.norm(block.astype(np.float64), axis=1)
    if not lengths.all():
        raise ValueError(
            f"Row {rows[lengths == 0][0]:,} of the vectors is zero, so it has no direction; leave it out."
        )
    if normalise:
        return (block / lengths[:, None]).astype(np.float32)
    off = np.abs(lengths - 1) > LENGTH
    if off.any():
        raise ValueError(
            f"Row {rows[off][0]:,} of the vectors has length {lengths[off][0]:.4g} instead of 1; say whether to "
            "bring all to unit length and compare by cosine (normalise=True, --normalise), or to keep their lengths "
            "and compare by distance (normalise=False, --no-normalise)."
        )
    return block


def assign_columns(
    columns: Mapping[str, Sequence[Any]], chosen: Mapping[str, str], given: Collection[str] = ()
) -> dict[str, Any]:
    """Return columns by their use: those of `NAMES`, `metadata` with the others, and `taken`, the name of each column.

    Args:
        columns: name to n values.
        chosen: use to column, as the user says, for instance that the column `species` is the label.
        given: uses that need no column, such as labels that are given beside the table. A column `class` is then
            metadata.

    Raises:
        ValueError: there is no such column.
    """
    left = {str(name): values for name, values in columns.items()}
    # a name in small letters to the column, as spreadsheets write Label
    written: dict[str, str] = {}
    for name in left:
        written.setdefault(name.strip().casefold(), name)
    columns_by_use: dict[str, Any] = {}
    taken: dict[str, str] = {}
    for use, names in NAMES.items():
        column = chosen.get(use)
        if use in given and not column:
            continue
        if column and column not in left:
            raise ValueError(
                f"There is no column {column!r}; the columns are {', '.join(map(str, columns)) or 'none'}."
            )
        # Take the column that the user chose, else the first of the usual names.
        for word in (column,) if column else names:
            name = word if word in left else written.get(word, word)
            if name not in left:
                continue
            if word in ("part", "role") and not column:  # such a column may have another meaning
                values = {str(value).lower() for value in left[name]}
                if not values <= {"query", "gallery"}:
                    continue
            columns_by_use[use] = left.pop(name)
            taken[use] = name
            break
    if "label" in columns_by_use and "label" not in chosen:
        left.pop("label", None)  # the number of the class, whose name was taken
    if "image" in columns_by_use:
        left.pop("key", None)
    return columns_by_use | {"metadata": left, "taken": taken}


def in_order_of(
    columns: Mapping[str, Sequence[Any]], table: Mapping[str, Sequence[Any]], key: str = ""
) -> dict[str, Any]:
    """Return a table with its rows in the order of other columns, by their keys, if both have a column of keys.

    Args:
        columns: name to n values, of the columns beside the vectors. table: name to m values. key: the name of the
            column of keys, if the user gave it.

    Raises:
        ValueError: a key of the vectors is not in the table, or there twice.
    """
    names = (key,) if key else NAMES["key"]
    key_column = next((name for name in names if name in columns), "")
    table_key = next((name for name in names if name in table), "")
    if not key_column or not table_key:
        return dict(table)
    keys = tables.names(columns[key_column], "keys")
    table_keys = tables.names(table[table_key], "keys of the table")
    if keys == table_keys:
        return dict(table)
    # Find the row of each key in the table, then reorder all its columns.
    row_of: dict[str, int] = {}
    for row, word in enumerate(table_keys):
        if row_of.setdefault(word, row) != row:
            raise ValueError(
                f"The table has the key {word!r} in rows {row_of[word]:,} and {row:,}; keep one of them."
            )
    for word in keys:
        if word not in row_of:
            raise ValueError(
                f"The vectors have keys (column `{key_column}`), and {word!r} is not among those of the table (column "
                f"`{table_key}`), so the rows cannot be put beside each other; complete the table, or leave its keys "
                "out."
            )
    order = [row_of[word] for word in keys]
    ordered: dict[str, Any] = {}
    for name, values in table.items():
        # an array keeps its dtype, which says how exact its numbers are
        values = tables.column(values)
        if isinstance(values, np.ndarray):
            ordered[name] = values[order]
        else:
            ordered[name] = [values[row] for row in order]
    return ordered


def in_words(row_facts: Mapping[str, Any], images: Any, like: str = "") -> str:
    """Say which columns were used: "label: 120 classes from column `sku`; 3 rows without; metadata: price".

    Args:
        row_facts: of `assign_columns`.
        images: the records or data set that were made of them.
        like: name of the run whose images these are; labels, roles and super-classes are then those of that run.
    """
    taken = row_facts["taken"]
    metadata = ", ".join(row_facts["metadata"])
    parts = []
    if taken.get("vector"):
        parts.append(f"vectors: {taken['vector']}")
    if row_facts.get("label") is not None and not like:
        source = f" from column `{taken['label']}`" if "label" in taken else ""
        parts.append(f"label: {counted(len(images.class_names), 'class', 'classes')}{source}")
        without = int((np.asarray(images.labels) < 0).sum())
        if without:
            parts.append(f"{counted(without, 'row')} without")
        parts += filter(
            None,
            (
                tables.negative_sentence(images.class_names),
                tables.alike_sentence(images.class_names),
            ),
        )
    for use in (
        ("image", "key", "split") if like else ("image", "key", "split", "role", "super_class")
    ):
        if use in taken:
            parts.append(f"{use.replace('_', '-')}: column `{taken[use]}`")
    if like:
        parts.append(f"labels: those of run {like}")
    if like and metadata:
        parts.append(f"left out, since metadata are those of run {like}: {metadata}")
    elif metadata:
        parts.append(f"metadata: {metadata}")
    return "; ".join(parts)


def labelled(labels: Sequence[Any] | None, count: int) -> tuple[np.ndarray, list[str]]:
    """Return labels int64 [n] and the names of their classes.

    A value that names no class (None, NaN, an empty text, a negative number) has a label below 0: see
    `lab.core.results`. A text "-1" is a name.
    """
    words = [""] * count
    if labels is not None:
        words = tables.label_names(labels, "labels")
    numbers: dict[str, int] = {}
    for word in words:
        if word:
            numbers.setdefault(word, len(numbers))
    class_of_row = no_class(np.arange(count))
    for row, word in enumerate(words):
        if word:
            class_of_row[row] = numbers[word]
    return class_of_row, list(numbers)


def records(
    count: int,
    *,
    keys: Sequence[Any] | None,
    label: Sequence[Any] | None,
    split: Sequence[Any] | str,
    role: Sequence[Any] | None = None,
    super_class: Sequence[Any] | None = None,
    metadata: Mapping[str, Sequence[Any]] | None = None,
) -> ImageRecords:
    """Check the columns of n rows and return them as image records.

    Raises:
        ValueError: columns differ in length, a key stands twice, or a split or role is none; names the row.
    """
    metadata = metadata or {}
    columns: dict[str, Any] = {
        "keys": keys,
        "labels": label,
        "split": split,
        "role": role,
        "super_class": super_class,
    }
    if isinstance(split, str):  # one split for all rows
        del columns["split"]
    for name, values in {**columns, **metadata}.items():
        if values is not None and len(values) != count:
            raise ValueError(
                f"There are {count:,} vectors, but {len(values):,} values of {name}; each row needs one."
            )
    if keys is None:
        texts = [str(row) for row in range(count)]
    else:
        texts = tables.names(keys, "keys")
    first: dict[str, int] = {}
    for row, key in enumerate(texts):
        if not key:
            raise ValueError(
                f"Row {row:,} has no key; give each row its own, or leave the keys out."
            )
        if first.setdefault(key, row) != row:
            raise ValueError(
                f"Rows {first[key]:,} and {row:,} have the same key {key!r}; each row needs its own."
            )
    labels, names = labelled(label, count)
    super_labels: np.ndarray | None = None
    super_names: list[str] = []
    if super_class is not None:
        super_labels, super_names = labelled(super_class, count)
    attributes = {}
    for name, values in metadata.items():
        attributes[name] = np.array(tables.names(values, name, exact=False), str)
    return ImageRecords(
        keys=texts,
        labels=labels,
        class_names=names,
        super_labels=super_labels,
        super_names=super_names,
        attributes=attributes,
        splits=_splits(count, split, role),
    )


def pictures(images: Sequence[Any], base: Path, count: int) -> tuple[Path, list[str]]:
    """Check `count` picture files; return a folder that holds them all, and their paths below it.

    Args:
        base: what relative paths are relative to.

    Raises:
        ValueError: one is missing or no picture; says how many are. Or there are more or fewer, or one stands twice.
    """
    if len(images) != count:
        raise ValueError(
            f"There are {count:,} vectors, but {len(images):,} pictures; each row needs one."
        )
    root = whole(base)
    paths = tables.names(images, "paths of pictures")
    keys = [key_of(os.path.expanduser(path), root) for path in paths]
    # some lie elsewhere: take a folder of all
    if any(os.path.isabs(key) or key.startswith("..") for key in keys):
        places = [os.path.normpath(os.path.join(root, key)) for key in keys]
        root = Path(os.path.commonpath([os.path.dirname(place) for place in places]))
        keys = [Path(place).relative_to(root).as_posix() for place in places]

    def problem(key: str) -> str:
        try:
            size_of(root / key)
        except ImageError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(8) as pool:
        problems = list(filter(None, pool.map(problem, keys, chunksize=256)))
    if problems:
        raise ValueError(
            f"{len(problems):,} of {len(keys):,} pictures cannot be read, the first: {problems[0].rstrip('.')}. "
            "Correct the paths, or import without pictures; the pages then show what is known in words."
        )
    _check_once(root, keys)
    return root, keys


def _check_once(root: Path, keys: Sequence[str]) -> None:
    """Refuse a picture that stands in two rows, even under another path; links are followed.

    Raises:
        ValueError: one does; names the rows.
    """
    place_of = place_finder()
    first: dict[str, int] = {}
    for row, key in enumerate(keys):
        earlier = first.setdefault(place_of(root / key), row)
        if earlier < row:
            also = "" if keys[earlier] == key else f", which is {keys[earlier]}"
            raise ValueError(
                f"Rows {earlier:,} and {row:,} have the same picture {key}{also}; each row needs its own."
            )


def plain(values: Any) -> list[Any]:
    """Return an array or another sequence as a list of Python's own values."""
    if hasattr(values, "tolist"):
        return values.tolist()
    return list(values)


def _splits(count: int, split: Sequence[Any] | str, role: Sequence[Any] | None) -> dict[str, Split]:
    """Return the splits of n rows, from one word for all or a word per row."""
    if isinstance(split, str):
        words = [split] * count
    else:
        words = [word.lower() for word in tables.names(split, "splits")]
    for row, word in enumerate(words):
        if word not in SPLITS:
            raise ValueError(f"Row {row:,}: the split is {word!r}, not one of {', '.join(SPLITS)}.")
    names = np.array([SPLITS[word] for word in words])
    roles = np.array(["query"] * count)
    if role is not None:
        roles = np.array([word.lower() for word in tables.names(role, "roles")])
    splits = {}
    for name in ("train", "validation", "test"):
        items = np.flatnonzero(names == name)
        if not len(items):
            continue
        if (roles[items] == "query").all():  # searched among each other
            splits[name] = Split(items)
        else:
            splits[name] = Split.with_roles(name, items, roles[items])
    return splits
