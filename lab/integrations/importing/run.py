"""`from_embeddings`: external embeddings, with metadata of their rows, as a run folder like any other."""

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
"""Most pairs of query and gallery that are measured by default: half a minute on a laptop."""


@dataclass(frozen=True)
class ExternalEmbeddings:
    """Checked embeddings, from which a run is written.

    rows: of the vectors, for each split and part. items: their images. like: the run whose images these are.
    contents: int64 [m], a digest of the picture of each of the m images; 0 if it is unknown.
    """

    vectors: Any
    images: ImageSet
    rows: Mapping[str, Mapping[str, np.ndarray]]
    items: Mapping[str, Mapping[str, np.ndarray]]
    contents: np.ndarray
    like: Run | None = None


def from_embeddings(
    vectors: Any,
    labels: Sequence[Any] | str | None = None,
    images: Sequence[Any] | str | None = None,
    *,
    keys: Sequence[Any] | None = None,
    root: Path | str | None = None,
    split: Sequence[str] | str | None = None,
    roles: Sequence[str] | None = None,
    super_classes: Sequence[Any] | None = None,
    metadata: Any = None,
    columns: Mapping[str, str] | None = None,
    like: Run | Path | str | None = None,
    encoder: str = "",
    method: str = "",
    seed: int | None = None,
    normalise: bool | None = None,
    measure: bool | None = None,
    contents: Sequence[int] | None = None,
    name: str | None = None,
    runs: Path | str | None = None,
) -> Run:
    """Make a run of external embeddings; it is browsed, mapped, inspected and reported like any other.

    Args:
        vectors: a table of floating-point numbers [n d] (numpy, memory map, torch, lists), a `lab.EmbeddingSet`, a data
            frame or Arrow table with a column of vectors, or a file of one of them (npy, npz, safetensors, pt, Parquet,
            Arrow, CSV, faiss).
        labels: the class of each row, as names or numbers; None, NaN, "" and negative numbers stand for no class. Or
            the name of the column.
        images: the picture file of each row, or the name of the column. Without pictures the pages show the metadata of
            a row in words.
        keys: a name for each row, where there are no pictures; by default its number.
        root: folder that paths of pictures are relative to; by default that of the file, or the current one. Given
            together with keys, these are pictures below it.
        split: train, validation or test, for all rows or for each; by default the values of a column, else test.
        roles, super_classes: of each row, query or gallery where one part is searched in the other; its super-class.
        metadata: further columns, to colour and filter by, or those above: a mapping, data frame, Arrow table, CSV,
            Parquet or Arrow file; or y.npy, the labels beside X.npy.
        columns: which column is the vector, label, image, key, split, role or super_class, if it has another name.
        like: a run on the same images; keys or images then say which of its images each row is, and without them the
            rows are in the order of its stored embeddings. The two can be compared query by query.
        encoder: the encoder of the vectors, in your own words, such as the backbone.
        method, seed: the loss or method that it was trained by, and the seed. A report makes one row of the runs of one
            method that differ in nothing but their seed; a run without a method is a row of its own.
        normalise: True scales rows to unit length, False keeps their lengths and compares by distance; None accepts
            unit vectors only.
        contents: a digest of each picture's content, whole numbers of 64 bits; by default that of each picture file,
            or of the images of the run given as `like`. Runs are joined by what the pictures hold, and not by their
            names alone. Without picture files the contents are unknown, and comparisons say so.
        measure: whether the metrics are computed; by default where rows have classes and there are at most a billion
            pairs. `lab evaluate` does it later.
        name, runs: of the run, by default that of the file; and its folder, by default `lab.runs.default_root()`.

    Raises:
        ValueError: the vectors or their metadata cannot be used; one sentence, and no run is left behind.
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
    arguments = {
        "label": labels,
        "image": images,
        "key": keys,
        "role": roles,
        "super_class": super_classes,
        "split": split,
    }
    table, row_facts = _rows_and_facts(vectors, arguments, metadata, dict(columns or {}))
    file = Path(vectors) if isinstance(vectors, str | Path) else None
    # Paths of pictures are relative to `root`, else to the folder of the file.
    base = Path()
    if root is not None:
        base = Path(root)
    elif file:
        base = file.parent
    compared = open_run(like, runs) if isinstance(like, Path | str) else like
    digests = None if contents is None else _checked_contents(contents, table.shape[0])
    external = external_embeddings(
        table, row_facts, base, compared, with_root=root is not None, contents=digests
    )
    # The configuration says what the vectors are of, and the run is written and measured.
    root = default_root(runs)
    like_name = ""
    if external.like is None:
        data = external.images.knobs.model_dump()
    else:
        data = external.like.config.data.as_dict()
        like_name = external.like.name
    facts = {
        "what": encoder,
        "dim": int(external.vectors.shape[1]),
        "normalise": normalise is not False,
    }
    config = outside_config(data, facts, method, seed)
    if not name:
        name = free_name(root, plain_name(file.stem if file else "imported"))
    words = described.in_words(row_facts, external.images, like_name)
    run = _write(external, words, config, normalise, root, name)
    return _measured(run, external, measure)


def external_embeddings(
    table: Any,
    row_facts: dict[str, Any],
    base: Path,
    like: Run | None,
    *,
    with_root: bool = False,
    contents: np.ndarray | None = None,
) -> ExternalEmbeddings:
    """Check the rows of external embeddings, with images of their own or with those of another run.

    Args:
        table: vectors [n d]. row_facts: label, image, key, split, ..., a value for each row or None, and `metadata`.
        base: folder that paths of pictures are relative to. with_root: whether keys are pictures below it.
        contents: int64 [n], a digest of the picture of each row; by default the picture files are read for it.

    Raises:
        ValueError: the metadata of the rows cannot be used; names the row.
    """
    named = row_facts.get("key") is not None or row_facts.get("image") is not None
    if with_root and not named:
        raise ValueError(
            f"{base} is given as the folder of the pictures, but nothing says which picture each row is; give their "
            "paths as keys or images (--key, --image), or leave the folder out."
        )
    if like is None:
        return _described(table, row_facts, base, with_root, contents)
    external = _like(table, row_facts, base, like)
    if contents is not None:
        external = replace(external, contents=_of_images(external, contents))
    return external


def _rows_and_facts(
    vectors: Any, arguments: dict[str, Any], metadata: Any, columns: dict[str, str]
) -> tuple[Any, dict[str, Any]]:
    """Return the rows and their metadata, from the arguments, from `metadata` and from the columns of the source.

    arguments: a value for each row, the name of a column, or None; for the split also one value for all rows.
    """
    vector_column = columns.pop("vector", "")
    if not any(
        arguments[field] is None or isinstance(arguments[field], str) for field in ("key", "image")
    ):
        raise ValueError(
            "keys and images both name the rows; pictures are named by their paths, so leave out keys."
        )
    # Read the vectors, and the columns beside them.
    vectors, arguments["label"] = parts_of(vectors, arguments["label"])
    if isinstance(vectors, str | Path):
        source = reading.read(vectors, vector_column)
    elif reading.is_table(vectors):
        source = reading.of_table(vectors, vector_column)
    else:
        source = reading.unnamed(vectors, vector_column, "vectors")
    beside = {} if metadata is None else reading.table(metadata)
    table_columns = dict(source.columns) | described.in_order_of(
        source.columns, beside, columns.get("key", "")
    )
    for field in ("label", "image"):
        if isinstance(arguments[field], str):  # the argument names a column of the table
            columns[field] = arguments[field]
    # The other arguments hold the values themselves.
    values_of = {}
    for field, values in arguments.items():
        if values is not None and not isinstance(values, str):
            values_of[field] = values
    given = set(values_of)
    if arguments["split"] is not None:
        given.add("split")
    row_facts = described.assign_columns(table_columns, columns, given)
    for field, values in values_of.items():
        row_facts[field] = values
        row_facts["taken"].pop(field, None)
    row_facts.setdefault("split", "test" if arguments["split"] is None else arguments["split"])
    row_facts["taken"]["vector"] = source.taken
    return as_rows(source.vectors), row_facts


def _described(
    table: Any, row_facts: dict[str, Any], base: Path, with_root: bool, contents: np.ndarray | None
) -> ExternalEmbeddings:
    """Return rows with images of their own."""
    from lab.data.images.listing import file_digests, listed_as

    keys = row_facts.get("key")
    folder = None
    pictured = row_facts.get("image", keys if with_root else None)
    if pictured is not None:
        folder, keys = described.pictures(pictured, base, table.shape[0])
    # Classes, splits and metadata of the rows.
    records = described.records(
        table.shape[0],
        keys=keys,
        label=row_facts.get("label"),
        split=row_facts["split"],
        role=row_facts.get("role"),
        super_class=row_facts.get("super_class"),
        metadata=row_facts.get("metadata"),
    )
    parts = {}
    for name, split in records.splits.items():
        parts[name] = {"query": split.query}
        if split.gallery is not None:
            parts[name]["gallery"] = split.gallery
    # What identifies these images, when runs are compared.
    knobs: dict[str, Any] = {"what": "imported", "digest": digest_of(folder, records)}
    if folder is None and keys is not None:
        knobs["named"] = (
            True  # these are names even if they look like row numbers; see `lab.runs.joined`
        )
    if folder is None and keys is None and not records.class_names:
        knobs["unnamed"] = secrets.token_hex(8)  # nothing identifies these rows
    images = listed_as(folder, records, knobs)
    if contents is None:
        contents = file_digests(images)
    return ExternalEmbeddings(table, images, parts, parts, contents)


def _of_images(external: ExternalEmbeddings, of_rows: np.ndarray) -> np.ndarray:
    """Turn digests of rows' pictures, int64 [n], into those of images, int64 [m]; 0 for an image without a row."""
    contents = np.zeros(len(external.images), np.int64)
    for split, parts in external.rows.items():
        for part, rows in parts.items():
            contents[external.items[split][part]] = of_rows[rows]
    return contents


def digest_of(folder: Path | None, records: ImageRecords) -> str:
    """Return the digest of the images of an external run: of their folder if they are files, their keys,
    the names of their classes, and which are searched in which. It is the same for imported and recorded runs.
    """
    classes = names_at(records.class_names, records.labels).tolist()
    parts = []
    for split in records.splits.values():
        gallery = None if split.gallery is None else split.gallery.tolist()
        parts.append([split.query.tolist(), gallery])
    identity = json.dumps([str(folder), records.keys, classes, parts])
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def _like(table: Any, row_facts: dict[str, Any], base: Path, like: Run) -> ExternalEmbeddings:
    """Return rows that are the images of another run.

    Raises:
        ValueError: they are not; says which image is missing.
    """
    pictured = row_facts.get("image") is not None
    named = row_facts["image"] if pictured else row_facts.get("key")
    given = [use for use in ("label", "role", "super_class") if row_facts.get(use) is not None]
    if given and named is None:
        raise ValueError(f"{', '.join(given)} come from run {like.name}; leave them out.")
    images = like.dataset()
    explicit = [
        use for use in ("role", "super_class") if use in given and use not in row_facts["taken"]
    ]
    if explicit:
        raise ValueError(f"{', '.join(explicit)} come from run {like.name}; leave them out.")
    stored: dict[str, dict[str, np.ndarray]] = {}
    for split in like.splits:
        stored[split] = {"query": like.embeddings(split).items}
        gallery = like.embeddings(split, "gallery")
        if gallery is not None:
            stored[split]["gallery"] = gallery.items
    if named is None:
        return _in_stored_order(table, row_facts["split"], images, like, stored)
    # Find each image's row, by its key, or by its file if paths are given.
    position = {key: item for item, key in enumerate(images.keys)}
    if images.root is not None and pictured:
        position |= {
            str((images.root / key).resolve()): item for key, item in tuple(position.items())
        }
    row_of: dict[int, int] = {}
    for row, key in enumerate(tables.names(named, "keys")):
        elsewhere = str((base / key).resolve()) if pictured else ""
        item = position.get(key, position.get(elsewhere))
        if item is not None:
            row_of[item] = row
    if "label" in given:
        _check_classes(row_facts["label"], row_of, images, like)
    # Splits that have a row for every image.
    rows: dict[str, dict[str, np.ndarray]] = {}
    for split, parts in stored.items():
        if all(row_of.keys() >= set(items.tolist()) for items in parts.values()):
            rows[split] = {
                part: np.array([row_of[item] for item in items.tolist()])
                for part, items in parts.items()
            }
    if not rows:
        raise ValueError(
            f"The rows are not the images of run {like.name}: none of its embedded splits ({', '.join(like.splits)}) "
            f"is there as a whole; its images have keys such as {images.keys[0]!r}."
        )
    return ExternalEmbeddings(
        table, images, rows, stored, recorded_contents(like, len(images)), like
    )


def _check_classes(
    labels: Sequence[Any], row_of: Mapping[int, int], images: ImageSet, like: Run
) -> None:
    """Refuse labels that differ from those of the other run, which are used.

    Raises:
        ValueError: they differ; names the first row.
    """
    words = tables.label_names(labels, "labels")
    for item, row in row_of.items():
        expected = images.class_name(images.labels[item])
        if words[row] != expected:
            raise ValueError(
                f"Labels come from run {like.name}, and row {row + 1} is {_class_in_words(words[row])} here and "
                f"{_class_in_words(expected)} there; correct one of them, or leave the labels out."
            )


def _class_in_words(name: str) -> str:
    return quoted(name) if name else "no class"


def _in_stored_order(
    table: Any, split: Any, images: ImageSet, like: Run, stored: Mapping[str, Any]
) -> ExternalEmbeddings:
    name = split if isinstance(split, str) else "test"
    ends = np.cumsum([len(items) for items in stored.get(name, {}).values()])
    if not len(ends) or ends[-1] != table.shape[0]:
        raise ValueError(
            f"There are {table.shape[0]:,} vectors, but the {name} split of run {like.name} has {ends[-1:].sum():,}"
            " images; give one for each in the order of its stored embeddings, or say by keys which image each row is."
        )
    rows = np.split(np.arange(table.shape[0]), ends[:-1])
    rows_of_parts = {name: dict(zip(stored[name], rows, strict=True))}
    return ExternalEmbeddings(
        table, images, rows_of_parts, stored, recorded_contents(like, len(images)), like
    )


def outside_config(
    data: Mapping[str, Any], encoder: Mapping[str, Any], method: str = "", seed: int | None = None
) -> RunConfig:
    """Return the configuration of an external run.

    Args:
        data: as the YAML file has it, or its knobs alone if it is external.
        encoder: `what` it was, in the user's words, and whether its embeddings have unit length (`normalise`).
        method, seed: of the training, if given.

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
    sections = {
        "data": {"name": OUTSIDE, **data},
        "encoder": {"name": OUTSIDE, **encoder},
        "loss": loss,
    }
    return RunConfig.of(sections, stored=True)


def plain_name(text: str) -> str:
    """Return a text as a valid name of a run."""
    allowed = "._-"
    characters = [
        char if char.isascii() and (char.isalnum() or char in allowed) else "-" for char in text
    ]
    plain = "".join(characters)
    return plain.strip("._-")[:90] or "imported"


def _write(
    external: ExternalEmbeddings,
    words: str,
    config: RunConfig,
    normalise: bool | None,
    root: Path,
    name: str,
) -> Run:
    """Write the whole folder, or none."""
    from lab.core import arrays, ownership
    from lab.core.installed.environment import versions

    count, width = external.vectors.shape
    with new_folder(root, name) as folder:
        write_text(folder / "config.yaml", config.as_yaml())
        ownership.sign(folder, "config.yaml")
        write_images(folder, external.images, config)
        for split, parts in external.rows.items():
            values: dict[str, Any] = {}
            for part, rows in parts.items():
                items = np.asarray(external.items[split][part], np.int64)
                values[f"{part}.vectors"] = checked_rows(external.vectors, rows, normalise)
                values[f"{part}.labels"] = external.images.labels[items]
                values[f"{part}.items"] = items
            header = {"checkpoint": OUTSIDE, "step": 0, "evaluation": config.evaluation.as_dict()}
            header |= add_pictures(values, external.images, external.contents, config, name)
            arrays.write(folder / "embeddings" / f"{split}.safetensors", values, header)
        write_json(folder / "meta.json", {"versions": versions(), "started": time.time()})
        sentence = (
            f"{count:,} vectors of {width} numbers of {_classes_of(external)}, made elsewhere"
        )
        if words:
            sentence += f"; {words}"
        write_status(folder, FINISHED, "finished", 0, f"{sentence}.")
    return Run(root / name)


def _checked_contents(contents: Sequence[int], count: int) -> np.ndarray:
    """Return digests as int64 [n].

    Raises:
        ValueError: there is not one whole number for each vector.
    """
    digests = np.asarray(contents)
    if digests.shape != (count,) or digests.dtype.kind != "i":
        raise ValueError(
            f"contents must be {count:,} whole numbers, one for each vector, got {list(digests.shape)}."
        )
    return digests.astype(np.int64)


def add_pictures(
    values: dict[str, Any], images: ImageSet, contents: np.ndarray, config: RunConfig, name: str
) -> dict[str, Any]:
    """Add to the arrays of a split the columns about its pictures; return the part of its header about them.

    Args:
        values: vectors, labels and items of the queries, and of the gallery where there is one.
        contents: int64 [m], of all images. config, name: of the run.
    """
    from lab.runs import joined

    parts = {}
    for part in joined.PARTS:
        if f"{part}.items" in values:
            columns = [values[f"{part}.{column}"] for column in ("vectors", "labels", "items")]
            parts[part] = EmbeddingSet(*columns)
    values |= joined.columns(images, parts, contents)
    place = joined.place_of(images, config)
    return {"place": place, "images": joined.recorded(name, values, place).digest}


def _classes_of(external: ExternalEmbeddings) -> str:
    """Say how many classes the rows have, and how many rows have none."""
    used: set[int] = set()
    for parts in external.items.values():
        for items in parts.values():
            used.update(items.tolist())
    without = int((~external.images.labelled[sorted(used)]).sum())
    words = counted(len(external.images.class_names), "class", "classes")
    return f"{words}, {counted(without, 'row')} without a class" if without else words


def has_match(labels: np.ndarray) -> bool:
    """Return whether any class has two of the images with these labels, int64 [n]."""
    classes = labels[labelled(labels)]
    return len(np.unique(classes)) < len(classes)


def _measured(run: Run, external: ExternalEmbeddings, measure: bool | None) -> Run:
    """Measure the run if this is wanted and makes sense, and return it."""
    from lab.runs.evaluate import evaluate_run

    splits = []
    for name, parts in external.rows.items():
        pairs = len(parts["query"]) * len(parts.get("gallery", parts["query"]))
        if measure or pairs <= PAIRS:
            splits.append(name)
    judged = has_match(external.images.labels)
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
            for _ in evaluate_run(run, writer, splits=tuple(splits)):
                pass
    except BaseException:  # no run is left behind where measuring fails or is interrupted
        shutil.rmtree(run.path, ignore_errors=True)
        raise
    return run
