"""`from_embeddings`: vectors of anybody's making, with what is known of them, as a run folder like any other."""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.core import tables
from lab.core.catalog import OUTSIDE
from lab.core.explain import quoted
from lab.core.files import check_allowed, write_json, write_text
from lab.core.formats import counted
from lab.core.results import EmbeddingSet, labelled, names_at, parts_of
from lab.integrations.importing import described, reading
from lab.integrations.importing.described import as_rows, checked_rows
from lab.runs.config import RunConfig
from lab.runs.execute import new_folder, write_status
from lab.runs.folder import FINISHED, Run, write_images
from lab.runs.joined import recorded_contents
from lab.runs.store import default_root, free_name, open_run
from lab.runs.writer import Writer

if TYPE_CHECKING:
    from lab.data import ImageRecords, ImageSet

PAIRS = 1_000_000_000
"""Most pairs of query and gallery that are measured without being asked: half a minute on a laptop."""


@dataclass(frozen=True)
class Brought:
    """What a run is made of. rows: of the vectors, for each split and part. items: their images. like: the run whose
    images these are. contents: int64 [m], a digest of the picture of each of the m images; 0 where it is unknown."""

    vectors: Any
    images: ImageSet
    rows: Mapping[str, Mapping[str, np.ndarray]]
    items: Mapping[str, Mapping[str, np.ndarray]]
    contents: np.ndarray
    like: Run | None = None


def from_embeddings(
    vectors: Any, labels: Sequence[Any] | str | None = None, images: Sequence[Any] | str | None = None, *,
    keys: Sequence[Any] | None = None, root: Path | str | None = None, split: Sequence[str] | str | None = None,
    roles: Sequence[str] | None = None, super_classes: Sequence[Any] | None = None, metadata: Any = None,
    columns: Mapping[str, str] | None = None, like: Run | Path | str | None = None, encoder: str = "",
    method: str = "", seed: int | None = None, normalise: bool | None = None, measure: bool | None = None,
    contents: Sequence[int] | None = None,
    name: str | None = None, runs: Path | str | None = None,
) -> Run:  # fmt: skip
    """A run out of vectors that were made elsewhere; it is browsed, mapped, inspected and reported like any other.

    Args:
        vectors: a table of floating-point numbers [n d] (numpy, memory map, torch, lists), a `lab.EmbeddingSet`, a data
            frame or Arrow table with a column of vectors, or a file of one of them (npy, npz, safetensors, pt, Parquet,
            Arrow, CSV, faiss).
        labels: the class of each row, as names or numbers; None, NaN, "" and negative numbers stand for no class. Or
            the name of the column.
        images: the picture file of each row, or the name of the column. Without pictures the pages show in words what
            is known of a row.
        keys: a name for each row, where there are no pictures; by default its number.
        root: folder that paths of pictures are relative to; by default that of the file, or the current one. Given
            together with keys, these are pictures below it.
        split: train, validation or test, for all rows or for each; by default what a column says, else test.
        roles, super_classes: of each row, query or gallery where one part is searched in the other; its super-class.
        metadata: further columns, to colour and filter by, or those above: a mapping, data frame, Arrow table, CSV,
            Parquet or Arrow file; or y.npy, the labels beside X.npy.
        columns: which column is the vector, label, image, key, split, role or super_class, where its name does not
            say so.
        like: a run on the same images; keys or images then say which of its images each row is, and without them the
            rows are in the order of its stored embeddings. The two can be compared query by query.
        encoder: what made the vectors, in your own words, such as the backbone.
        method, seed: the loss or method that it was trained by, and the seed. A report makes one row of the runs of one
            method that differ in nothing but their seed; a run without a method is a row of its own.
        normalise: True brings rows to unit length, False keeps their lengths and compares by distance; None takes
            unit vectors only.
        contents: a digest of each picture's content, whole numbers of 64 bits; by default that of each picture file,
            or of the images of the run given as `like`. Runs are joined by what the pictures hold, and not by their
            names alone. Without picture files the contents are unknown, and comparisons say so.
        measure: whether the metrics are computed; by default where rows have classes and there are at most a billion
            pairs. `lab evaluate` does it later.
        name, runs: of the run, by default that of the file; and its folder, by default `lab.runs.default_root()`.

    Raises:
        ValueError: the vectors, or what is said of them, cannot be used; one sentence, and no run is left behind.
        OSError: the disk is full or the folder cannot be written.

    Example (`root` is that of `lab.runs`):
        >>> import lab, numpy
        >>> circle = numpy.linspace(0, 6, 12)
        >>> vectors = numpy.stack([numpy.cos(circle), numpy.sin(circle)], axis=1)
        >>> run = lab.runs.from_embeddings(vectors, ["left", "right"] * 6, name="circle", runs=root)
        >>> run.state, run.splits, run.scores()["queries"]
        ('finished', ('test',), 12)
    """
    check_allowed()
    known = {"label": labels, "image": images, "key": keys, "role": roles, "super_class": super_classes, "split": split}
    table, row_facts = _sorted_out(vectors, known, metadata, dict(columns or {}))
    file = Path(vectors) if isinstance(vectors, str | Path) else None
    base = Path(root) if root is not None else file.parent if file else Path()
    compared = open_run(like, runs) if isinstance(like, Path | str) else like
    digests = None if contents is None else _checked_contents(contents, table.shape[0])
    brought = brought_of(table, row_facts, base, compared, with_root=root is not None, contents=digests)
    stem = file.stem if file else "imported"
    root = default_root(runs)
    words = described.in_words(row_facts, brought.images, brought.like.name if brought.like else "")
    config = outside_config(
        brought.images.knobs.model_dump() if brought.like is None else brought.like.config.data.as_dict(),
        {"what": encoder, "dim": int(brought.vectors.shape[1]), "normalise": normalise is not False},
        method,
        seed,
    )
    run = _write(brought, words, config, normalise, root, name or free_name(root, plain_name(stem)))
    return _measured(run, brought, measure)


def brought_of(
    table: Any, row_facts: dict[str, Any], base: Path, like: Run | None, *, with_root: bool = False,
    contents: np.ndarray | None = None,
) -> Brought:  # fmt: skip
    """Return what a run is made of: rows with images of their own, or with those of another run.

    Args:
        table: vectors [n d]. row_facts: label, image, key, split, ..., a value for each row or None, and `metadata`.
        base: what paths of pictures are relative to. with_root: whether keys are pictures below it.
        contents: int64 [n], a digest of the picture of each row; by default the picture files are read for it.

    Raises:
        ValueError: what is known of the rows cannot be used; names the row.
    """
    named = row_facts.get("key") is not None or row_facts.get("image") is not None
    if with_root and not named:
        raise ValueError(
            f"{base} is given as the folder of the pictures, but nothing says which picture each row is; give their "
            "paths as keys or images (--key, --image), or leave the folder out."
        )
    if like is None:
        return _described(table, row_facts, base, with_root, contents)
    brought = _like(table, row_facts, base, like)
    if contents is not None:
        brought = replace(brought, contents=_of_images(brought, contents))
    return brought


def _sorted_out(
    vectors: Any, known: dict[str, Any], metadata: Any, columns: dict[str, str]
) -> tuple[Any, dict[str, Any]]:
    """The rows, and what is known of them, from what was given by name, from `metadata` and from the source's columns.

    known: a value for each row, the name of a column, or None; of the split, one for all rows, too.
    """
    column = columns.pop("vector", "")
    if not any(known[what] is None or isinstance(known[what], str) for what in ("key", "image")):
        raise ValueError("keys and images both name the rows; pictures are named by their paths, so leave out keys.")
    vectors, known["label"] = parts_of(vectors, known["label"])
    if isinstance(vectors, str | Path):
        source = reading.read(vectors, column)
    else:
        is_table = reading.is_table(vectors)
        source = reading.of_table(vectors, column) if is_table else reading.alone(vectors, column, "vectors")
    beside = {} if metadata is None else reading.table(metadata)
    table_columns = dict(source.columns) | described.in_order_of(source.columns, beside, columns.get("key", ""))
    columns |= {what: known[what] for what in ("label", "image") if isinstance(known[what], str)}
    given = [what for what, values in known.items() if values is not None and not isinstance(values, str)]
    if known["split"] is not None:
        given.append("split")
    row_facts = described.sorted_out(table_columns, columns, given)
    for what, values in known.items():
        if values is not None and not isinstance(values, str):  # values for the rows, not the name of a column
            row_facts[what] = values
            row_facts["taken"].pop(what, None)
    row_facts.setdefault("split", "test" if known["split"] is None else known["split"])
    row_facts["taken"]["vector"] = source.taken
    return as_rows(source.vectors), row_facts


def _described(
    table: Any, row_facts: dict[str, Any], base: Path, with_root: bool, contents: np.ndarray | None
) -> Brought:
    """Rows with images of their own."""
    from lab.data.images.listing import file_digests, listed_as

    keys, folder, count = row_facts.get("key"), None, table.shape[0]
    pictured = row_facts.get("image", keys if with_root else None)
    if pictured is not None:
        folder, keys = described.pictures(pictured, base, count)
    columns: dict[str, Any] = {
        what: row_facts.get(what) for what in ("label", "role", "super_class", "split", "metadata")
    }
    records = described.records(count, keys=keys, **columns)
    parts = {
        name: {"query": one.query} | ({} if one.gallery is None else {"gallery": one.gallery})
        for name, one in records.splits.items()
    }
    knobs: dict[str, Any] = {"what": "imported", "digest": digest_of(folder, records)}
    if folder is None and keys is not None:
        knobs["named"] = True  # names that look like row numbers are names all the same; see `lab.runs.joined`
    if folder is None and keys is None and not records.class_names:
        knobs["unnamed"] = secrets.token_hex(8)  # nothing tells these rows from other rows
    images = listed_as(folder, records, knobs)
    if contents is None:
        contents = file_digests(images)
    return Brought(table, images, parts, parts, contents)


def _of_images(brought: Brought, of_rows: np.ndarray) -> np.ndarray:
    """Digests of the pictures of rows, int64 [n], as those of images, int64 [m]; 0 for an image without a row."""
    contents = np.zeros(len(brought.images), np.int64)
    for split, parts in brought.rows.items():
        for part, rows in parts.items():
            contents[brought.items[split][part]] = of_rows[rows]
    return contents


def digest_of(folder: Path | None, records: ImageRecords) -> str:
    """Return the digest of the images of a run that was made elsewhere: of their folder if they are files, their keys,
    the names of their classes, and which are searched in which. It is the same for imported and recorded runs.
    """
    classes = names_at(records.class_names, records.labels).tolist()
    parts = []
    for split in records.splits.values():
        gallery = None if split.gallery is None else split.gallery.tolist()
        parts.append([split.query.tolist(), gallery])
    identity = json.dumps([str(folder), records.keys, classes, parts])
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def _like(table: Any, row_facts: dict[str, Any], base: Path, like: Run) -> Brought:
    """Rows that are the images of another run.

    Raises:
        ValueError: they are not; says which image is missing.
    """
    pictured = row_facts.get("image") is not None
    named = row_facts["image"] if pictured else row_facts.get("key")
    taken = [what for what in ("label", "role", "super_class") if row_facts.get(what) is not None]
    if taken and named is None:
        raise ValueError(f"{', '.join(taken)} come from run {like.name}; leave them out.")
    images = like.dataset()
    explicit = [what for what in ("role", "super_class") if what in taken and what not in row_facts["taken"]]
    if explicit:
        raise ValueError(f"{', '.join(explicit)} come from run {like.name}; leave them out.")
    stored = {
        name: {part: one.items for part in ("query", "gallery") if (one := like.embeddings(name, part)) is not None}
        for name in like.splits
    }
    if named is None:
        return _in_stored_order(table, row_facts["split"], images, like, stored)
    place = {key: item for item, key in enumerate(images.keys)}
    if images.root is not None and pictured:
        place |= {str((images.root / key).resolve()): item for key, item in tuple(place.items())}
    row_of: dict[int, int] = {}
    for row, key in enumerate(tables.names(named, "keys")):
        elsewhere = str((base / key).resolve()) if pictured else ""
        if (item := place.get(key, place.get(elsewhere))) is not None:
            row_of[item] = row
    if "label" in taken:
        _check_classes(row_facts["label"], row_of, images, like)
    rows: dict[str, dict[str, np.ndarray]] = {
        split: {part: np.array([row_of[item] for item in items.tolist()]) for part, items in parts.items()}
        for split, parts in stored.items()
        if all(item in row_of for items in parts.values() for item in items.tolist())
    }
    if not rows:
        raise ValueError(
            f"The rows are not the images of run {like.name}: none of its embedded splits ({', '.join(like.splits)}) "
            f"is there as a whole; its images have keys such as {images.keys[0]!r}."
        )
    return Brought(table, images, rows, stored, recorded_contents(like, len(images)), like)


def _check_classes(labels: Sequence[Any], row_of: Mapping[int, int], images: ImageSet, like: Run) -> None:
    """Refuse labels that differ from those of the other run, which are the ones that count.

    Raises:
        ValueError: they differ; names the first row.
    """
    words = tables.label_names(labels, "labels")
    for item, row in row_of.items():
        theirs = "" if images.labels[item] < 0 else images.class_names[images.labels[item]]
        if words[row] != theirs:
            here, there = quoted(words[row]) if words[row] else "no class", quoted(theirs) if theirs else "no class"
            raise ValueError(
                f"Labels come from run {like.name}, and row {row + 1} is {here} here and {there} there; correct one of "
                "them, or leave the labels out."
            )


def _in_stored_order(table: Any, split: Any, images: ImageSet, like: Run, stored: Mapping[str, Any]) -> Brought:
    name = split if isinstance(split, str) else "test"
    ends = np.cumsum([len(one) for one in stored.get(name, {}).values()])
    if not len(ends) or ends[-1] != table.shape[0]:
        raise ValueError(
            f"There are {table.shape[0]:,} vectors, but the {name} split of run {like.name} has {ends[-1:].sum():,}"
            " images; give one for each in the order of its stored embeddings, or say by keys which image each row is."
        )
    rows = np.split(np.arange(table.shape[0]), ends[:-1])
    rows_of_parts = {name: dict(zip(stored[name], rows, strict=True))}
    return Brought(table, images, rows_of_parts, stored, recorded_contents(like, len(images)), like)


def outside_config(
    data: Mapping[str, Any], encoder: Mapping[str, Any], method: str = "", seed: int | None = None
) -> RunConfig:
    """The configuration of a run that was made elsewhere.

    Args:
        data: as it stands in YAML, or its knobs alone where it was made elsewhere.
        encoder: `what` it was, in a person's words, and whether it makes unit vectors (`normalise`).
        method, seed: what it was trained by, where somebody said.

    Raises:
        ValueError: the method is no text, or the seed no whole number from 0.
    """
    if not isinstance(method, str):
        raise ValueError(f"method is a name, such as 'proxy-anchor', got {quoted(method)}.")
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if seed is not None and not (whole and seed >= 0):
        raise ValueError(f"seed is a whole number from 0, got {quoted(seed)}.")
    loss: dict[str, Any] = {"name": OUTSIDE, "what": ""}
    if method.strip():
        loss["method"] = method.strip()
    if seed is not None:
        loss["seed"] = int(seed)
    sections = {"data": {"name": OUTSIDE, **data}, "encoder": {"name": OUTSIDE, **encoder}, "loss": loss}
    return RunConfig.of(sections, stored=True)


def plain_name(text: str) -> str:
    """A text as a run may be called."""
    plain = "".join(c if c.isalnum() and c.isascii() or c in "._-" else "-" for c in text)
    return plain.strip("._-")[:90] or "imported"


def _write(brought: Brought, words: str, config: RunConfig, normalise: bool | None, root: Path, name: str) -> Run:
    """Make the whole folder, or none."""
    from lab.core import arrays, ownership
    from lab.core.installed.environment import versions

    count, width = brought.vectors.shape
    with new_folder(root, name) as folder:
        write_text(folder / "config.yaml", config.as_yaml())
        ownership.sign(folder, "config.yaml")
        write_images(folder, brought.images, config)
        for split, parts in brought.rows.items():
            values: dict[str, Any] = {}
            for part, rows in parts.items():
                items = np.asarray(brought.items[split][part], np.int64)
                values[f"{part}.vectors"] = checked_rows(brought.vectors, rows, normalise)
                values[f"{part}.labels"], values[f"{part}.items"] = brought.images.labels[items], items
            about = {"checkpoint": OUTSIDE, "step": 0, "evaluation": config.evaluation.as_dict()}
            about |= add_pictures(values, brought.images, brought.contents, config, name)
            arrays.write(folder / "embeddings" / f"{split}.safetensors", values, about)
        write_json(folder / "meta.json", {"versions": versions(), "started": time.time()})
        made = f"{count:,} vectors of {width} numbers of {_classes_of(brought)}, made elsewhere"
        write_status(folder, FINISHED, "finished", 0, f"{made}; {words}." if words else f"{made}.")
    return Run(root / name)


def _checked_contents(contents: Sequence[int], count: int) -> np.ndarray:
    """Return digests as int64 [n].

    Raises:
        ValueError: there is not one whole number for each vector.
    """
    digests = np.asarray(contents)
    if digests.shape != (count,) or digests.dtype.kind != "i":
        raise ValueError(f"contents must be {count:,} whole numbers, one for each vector, got {list(digests.shape)}.")
    return digests.astype(np.int64)


def add_pictures(
    values: dict[str, Any], images: ImageSet, contents: np.ndarray, config: RunConfig, name: str
) -> dict[str, Any]:
    """Add to the arrays of a split which pictures they are of; return what its header says of that.

    Args:
        values: vectors, labels and items of the queries, and of the gallery where there is one.
        contents: int64 [m], of all images. config, name: of the run.
    """
    from lab.runs import joined

    parts = {}
    for part in joined.PARTS:
        if f"{part}.items" in values:
            columns = (values[f"{part}.{column}"] for column in ("vectors", "labels", "items"))
            parts[part] = EmbeddingSet(*columns)
    values |= joined.columns(images, parts, contents)
    place = joined.place_of(images, config)
    return {"place": place, "images": joined.recorded(name, values, place).digest}


def _classes_of(brought: Brought) -> str:
    """How many classes the rows have, and how many rows have none."""
    items = np.unique(np.concatenate([items for parts in brought.items.values() for items in parts.values()]))
    without = int((~brought.images.labelled[items]).sum())
    words = counted(len(brought.images.class_names), "class", "classes")
    return f"{words}, {counted(without, 'row')} without a class" if without else words


def has_match(labels: np.ndarray) -> bool:
    """Whether any class has two of the images with these labels, int64 [n]."""
    classes = labels[labelled(labels)]
    return len(np.unique(classes)) < len(classes)


def _measured(run: Run, brought: Brought, measure: bool | None) -> Run:
    """The run, with its scores where these are wanted and make sense."""
    from lab.runs.evaluate import evaluate_run

    pairs = {name: len(of["query"]) * len(of.get("gallery", of["query"])) for name, of in brought.rows.items()}
    splits = tuple(name for name, count in pairs.items() if measure or count <= PAIRS)
    judged = has_match(brought.images.labels)
    if measure is False or not splits or not judged:
        if measure and not judged:
            shutil.rmtree(run.path, ignore_errors=True)
            raise ValueError(
                "measure is asked for, but no two rows are known to be of one class, so there is nothing to measure; "
                "give labels, or leave measure (--measure) out."
            )
        return run
    try:
        with Writer(run) as writer:
            for _ in evaluate_run(run, writer, splits=splits):
                pass
    except BaseException:  # no run is left behind where measuring fails or is interrupted
        shutil.rmtree(run.path, ignore_errors=True)
        raise
    return run
