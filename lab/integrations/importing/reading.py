"""Files and tables of vectors: numpy, torch, safetensors, Arrow, Parquet, CSV, faiss, data frames."""

from __future__ import annotations

import json
import math
import re
import warnings
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lab.core import stored, tables
from lab.core.arrays import bytes_of
from lab.core.explain import faiss_library
from lab.core.files import check_fits, checked, inside
from lab.core.stored import Texts

VECTORS = ("vectors", "vector", "embeddings", "embedding", "features", "feature", "emb")
"""Names that the array or column of vectors has; the first that is there is taken."""

NUMBERED = re.compile(
    r"(v|e|f|d|x|z|pc|dim_?|emb_?|embedding_?|feat_?|feature_?|vec_?|vector_?|)(\d+)", re.IGNORECASE
)
"""Columns of single numbers: v0, v1, ... or 0, 1, ..., counted from 0 or 1."""

NUMBER = re.compile(r"-?\d+(\.\d*)?(e[-+]?\d+)?")
"""A number, as the first line of a table without names has them."""


@dataclass
class Source:
    """Vectors, and what stands beside them. columns: name to n values. taken: which columns the vectors were."""

    vectors: Any
    columns: dict[str, Any] = field(default_factory=dict)
    taken: str = ""


def read(path: Path | str, vector: str = "") -> Source:
    """What a file, or the folder of a faiss export, holds.

    Args:
        vector: name of the array or column of vectors; by default the first of `VECTORS` that is there.

    Raises:
        ValueError: there is no such file, it is of another kind or damaged, or it holds no vectors.
    """
    path = Path(path).expanduser()
    if not path.exists():
        raise ValueError(f"There is no file {path}.")
    if path.is_dir():
        return _folder(path, vector)
    reader = READERS.get(checked(path).suffix.lower())
    if reader is None:
        raise ValueError(
            f"{path.name} is of no kind that is read; these are: {', '.join(READERS)}."
        )
    _check_unpacked(path)
    source = _opened(path, lambda: reader(path, vector))
    # as float32; one number may stand for all of them
    check_fits(path, 4 * math.prod(source.vectors.shape))
    return source


def _check_unpacked(path: Path) -> None:
    """Refuse a file of numpy or torch, which is a ZIP, that would fill the memory when it is unpacked.

    Raises:
        ValueError: it would.
    """
    if path.suffix.lower() not in (".npz", ".pt", ".pth"):
        return
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
    except (
        zipfile.BadZipFile,
        NotImplementedError,
        OSError,
        ValueError,
    ):  # its reader says what is wrong
        return
    check_fits(path, unpacked)


def table(source: Any) -> dict[str, Any]:
    """The columns of what holds no vectors: a CSV, Parquet or Arrow file, a data frame, an Arrow table, a mapping.

    Raises:
        ValueError: it is none of these.
    """
    if isinstance(source, str | Path):
        path = Path(source).expanduser()
        if path.suffix.lower() == ".npy":  # X.npy with y.npy
            labels = _opened(path, lambda: _numpy(path, "")).vectors
            if labels.ndim != 1:
                raise ValueError(
                    f"{path} has the shape {list(labels.shape)}; as a table it is one label a row, [n]."
                )
            return {"label": labels}
        if path.suffix.lower() not in TABLES:
            raise ValueError(
                f"{path.name} is no table that is read; these are: .npy, {', '.join(TABLES)}."
            )
        if not path.is_file():
            raise ValueError(f"There is no file {path}.")
        columns = tables.read(path)
        if not any(len(values) for values in columns.values()):
            raise ValueError(
                f"{path} has no rows below the names of its columns ({', '.join(columns)})."
            )
        return columns
    if isinstance(source, Mapping):
        return dict(source)
    return tables.arrow_columns(_as_arrow(source))


def is_table(thing: Any) -> bool:
    """Whether it is a data frame (pandas, polars) or an Arrow table."""
    return (
        hasattr(thing, "column_names")
        or (hasattr(thing, "columns") and hasattr(thing, "iloc"))
        or hasattr(thing, "__arrow_c_stream__")
    )


def _opened(path: Path, read: Callable[[], Any]) -> Any:
    """What a reader finds; its own library's error as a sentence about the file."""
    try:
        return read()
    except Exception as error:  # each library raises kinds of its own
        if type(error) is ValueError:  # a sentence of ours
            raise
        raise ValueError(
            f"{path} cannot be read, it is damaged or of another kind{_why(error)}."
        ) from None


def _why(error: Exception) -> str:
    """What a library says, in brackets; "" for what Python says, which nobody needs."""
    if isinstance(error, MemoryError):
        return " (or is larger than memory)"
    if isinstance(error, OSError | UnicodeError | LookupError | TypeError | AttributeError):
        return ""
    return f" ({' '.join(str(error).split())[:300].rstrip('.')})"


def _numpy(path: Path, vector: str) -> Source:
    """The array of an npy file by memory map, or those of an npz file."""
    try:
        read = np.load(path, mmap_mode="r", allow_pickle=False)
        held = None
        if not isinstance(read, np.ndarray):
            with read:
                held = {name: read[name] for name in read.files}
    except ValueError as error:
        if "allow_pickle" not in str(error) and "Python objects" not in str(error):
            raise ValueError(f"{path} is damaged, or no array that numpy wrote.") from None
        raise ValueError(
            f"{path} is no file of numbers, or holds pickled Python objects, which can run any program when they are "
            'read; save the vectors as numbers: numpy.save(file, vectors.astype("float32")).'
        ) from None
    return unnamed(read, vector, str(path)) if held is None else _named(held, vector, path)


def unnamed(vectors: Any, vector: str, what: str) -> Source:
    """Return vectors that stand alone, so that no name of an array or column can choose them.

    Raises:
        ValueError: one is given.
    """
    if vector:
        raise ValueError(
            f"{what} is one array without a name, so {vector!r} names nothing in it; leave out --vector."
        )
    return Source(vectors)


def _torch(path: Path, vector: str) -> Source:
    """The tensor of a file of torch.save, or those of a dictionary; read as weights, so that no program can run."""
    import pickle

    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch describes odd pickles to its developers
            read = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise ValueError(
            f"{path} holds more than tensors, which can run any program when it is read; save the vectors alone: "
            "torch.save(vectors, file), or torch.save({'vectors': vectors, 'labels': labels}, file)."
        ) from None
    if isinstance(read, torch.Tensor):
        return unnamed(read, vector, str(path))
    if not isinstance(read, Mapping):
        raise ValueError(
            f"{path} holds a {type(read).__name__}, not a tensor or a dictionary of tensors."
        )
    held = {str(name): values for name, values in read.items() if hasattr(values, "shape")}
    source = _of_tensors(held, vector, path)
    lists = {str(name): values for name, values in read.items() if isinstance(values, list | tuple)}
    return Source(source.vectors, lists | source.columns)


def _of_tensors(held: dict[str, Any], vector: str, path: Path) -> Source:
    source = _named(held, vector, path)
    columns = {}
    for name, values in source.columns.items():  # numpy has no bfloat16
        columns[name] = values if values.is_floating_point() else values.numpy()
    return Source(source.vectors, columns)


def _named(held: dict[str, Any], vector: str, path: Path) -> Source:
    """The table of numbers among arrays, and the others as columns."""
    flat = [name for name, values in held.items() if len(values.shape) == 2]
    name = vector or next(
        (one for one in VECTORS if one in held), flat[0] if len(flat) == 1 else ""
    )
    if name not in held:
        wrong = (
            f"has no array {vector!r}"
            if vector
            else "does not say which of its arrays are the vectors"
        )
        raise ValueError(
            f"{path} {wrong}; it has {', '.join(held) or 'none'}. Name one with --vector."
        )
    vectors = held.pop(name)
    return Source(
        vectors, {name: values for name, values in held.items() if len(values.shape) == 1}
    )


def _safetensors(path: Path, vector: str) -> Source:
    """Arrays; where the header has a list of `keys`, also the names of the rows."""
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:  # which knows bfloat16
        check_fits(path, bytes_of(file, file.keys()))
        held, metadata = (
            {name: file.get_tensor(name) for name in file.keys()},  # noqa: SIM118  it is no dictionary
            file.metadata() or {},
        )
    source = _of_tensors(held, vector, path)
    if "keys" in metadata:
        source.columns["key"] = _keys_in(metadata["keys"], f"{path} (keys in its head)")
        source.columns.pop("items", None)
    return source


def _keys_in(text: str, name: str) -> list[str]:
    """The names of rows in a JSON list.

    Raises:
        ValueError: it is no list of texts.
    """
    try:
        keys = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"{name} is damaged: it is no JSON list.") from None
    return stored.check(keys, Texts, name)


def _table(path: Path, vector: str) -> Source:
    """The vectors of a table, and its other columns."""
    if path.suffix.lower() not in tables.TEXT:
        return of_table(tables.read_arrow(path), vector)

    def choose(first: list[str]) -> tuple[list[str] | None, list[str]]:
        """Names for a table without a line of names, and which of its columns are numbers."""
        # whole ones may be names
        numbers = all(map(NUMBER.fullmatch, first)) and not all(map(str.isdecimal, first))
        names = [f"v{number}" for number in range(len(first))] if numbers else None
        header = names or first
        return names, [] if _named_vector(header, vector) else _numbered(header)

    read = tables.read_text(path, choose)
    name = _named_vector(read.columns, vector)
    if name:
        texts = read.columns.pop(name)
        return Source(_lists_of_texts(texts, name), dict(read.columns), f"column `{name}`")
    if read.numbers is None:
        raise ValueError(_no_vectors(list(read.columns)))
    return Source(read.numbers, dict(read.columns), f"{read.numbers.shape[1]} columns of numbers")


TABLES = (".csv", ".tsv", *tables.ARROW)
"""Suffixes of files that are tables."""


def _as_arrow(table: Any) -> Any:
    import pyarrow as pa

    if isinstance(table, pa.Table):
        return table
    try:
        if hasattr(table, "iloc"):
            return pa.Table.from_pandas(
                _of_one_type(table.rename(columns=str)), preserve_index=False
            )
        return pa.table(table)
    except (
        pa.ArrowException,
        TypeError,
        ValueError,
    ) as error:  # a column of texts and numbers, for instance
        reason = "; ".join(str(one).rstrip(".") for one in error.args)[:300]
        raise ValueError(f"This is no table whose columns have one type each ({reason}).") from None


def _of_one_type(frame: Any) -> Any:
    """A data frame whose columns of Python objects are texts, but for those of lists, which are vectors."""
    changed = {}
    for name in frame.columns:
        column = frame[name]
        if column.dtype == object and all(
            isinstance(one, str | bytes) or not hasattr(one, "__len__") for one in column
        ):
            changed[name] = tables.names(column, name)
    return frame.assign(**changed)


def _named_vector(columns: Iterable[str], vector: str) -> str:
    """The column of lists: the one that a person named, else the first of `VECTORS` that is there, or "".

    Raises:
        ValueError: there is no column of the name given.
    """
    columns = list(columns)
    if vector and vector not in columns:
        raise ValueError(
            f"There is no column {vector!r}; the columns are {', '.join(columns[:20]) or 'none'}."
        )
    return vector or next((one for one in VECTORS if one in columns), "")


def _numbered(columns: Iterable[str]) -> list[str]:
    """The columns v0, v1, ... or v1, v2, ... by their number; of several such rows of columns, the longest."""
    groups: dict[str, dict[int, str]] = {}
    for name in columns:
        if found := NUMBERED.fullmatch(name):
            groups.setdefault(found[1].lower(), {})[int(found[2])] = name
    whole = []
    for group in groups.values():
        first = min(group)
        if sorted(group) == list(range(first, first + len(group))) and (
            first == 0 or (first == 1 and len(group) > 1)
        ):
            whole.append(group)
    longest = max(whole, key=len, default={})
    return [longest[number] for number in sorted(longest)]


def _no_vectors(columns: Sequence[str]) -> str:
    return (
        f"No column holds vectors: none is called {', '.join(VECTORS[:4])}, and there are no columns v0, v1, ...; "
        f"the columns are {', '.join(columns[:20])}. Name it with --vector."
    )


def of_table(table: Any, vector: str) -> Source:
    """Vectors of a data frame or Arrow table, and what else it has: the column of lists (or of JSON lists in texts) or
    the numbered columns, and the others."""
    read = _as_arrow(table)
    name = _named_vector(read.column_names, vector)
    if name:
        return Source(
            _lists(read.column(name), name),
            tables.arrow_columns(read.drop_columns([name])),
            f"column `{name}`",
        )
    ordered = _numbered(read.column_names)
    if not ordered:
        raise ValueError(_no_vectors(read.column_names))
    try:
        vectors = np.stack(
            [read.column(name).to_numpy().astype(np.float32) for name in ordered], axis=1
        )
    except (TypeError, ValueError):
        raise ValueError(
            f"The columns {ordered[0]} to {ordered[-1]} hold texts where numbers are needed."
        ) from None
    return Source(
        vectors,
        tables.arrow_columns(read.drop_columns(ordered)),
        f"{len(ordered)} columns of numbers",
    )


def _lists(column: Any, name: str) -> Any:
    """The vectors in a column of lists, [n d]."""
    import pyarrow as pa
    import pyarrow.compute

    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return _lists_of_texts(column.to_pylist(), name)
    if not hasattr(column.type, "value_type"):
        raise ValueError(
            f"The column {name} holds {column.type}, not a list of numbers in each row."
        )
    flat = [chunk.flatten() for chunk in column.chunks if len(chunk)]
    lengths = pyarrow.compute.list_value_length(column).unique().to_pylist()
    if len(lengths) > 1 or None in lengths or any(part.null_count for part in flat):
        raise ValueError(
            f"The column {name} has vectors of several lengths, or with gaps; each needs as many numbers."
        )
    return np.concatenate(
        [part.to_numpy(zero_copy_only=False).reshape(-1, lengths[0]) for part in flat]
    )


def _lists_of_texts(texts: Sequence[str], name: str) -> np.ndarray:
    """The vectors in a column of JSON lists, float32 [n d]."""
    try:
        return np.asarray([json.loads(one) for one in texts], np.float32)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise ValueError(
            f"The column {name} holds texts that are no lists of as many numbers each."
        ) from None


def _faiss(path: Path, vector: str) -> Source:
    unnamed(None, vector, str(path))
    faiss = faiss_library()

    index = owner = faiss.read_index(str(path))  # which frees an index inside another one with it
    columns = {}
    if isinstance(index, faiss.IndexIDMap | faiss.IndexIDMap2):
        columns["key"] = faiss.vector_to_array(index.id_map)
        index = faiss.downcast_index(index.index)
    if hasattr(index, "make_direct_map"):
        index.make_direct_map()
    check_fits(path, 4 * index.ntotal * index.d)
    try:
        vectors = index.reconstruct_batch(np.arange(index.ntotal))
    except RuntimeError:
        raise ValueError(
            f"The index {path} ({type(index).__name__}) does not keep its vectors; import those it was built from."
        ) from None
    del owner
    return Source(vectors, columns)


def _folder(path: Path, vector: str) -> Source:
    """An export to faiss."""
    if not (path / "index.faiss").is_file():
        raise ValueError(
            f"{path} is no export to faiss; for a folder of pictures use `lab embed FOLDER --encoder NAME`, and write "
            "a data set of Hugging Face as Parquet."
        )
    source = _faiss(inside(path, "index.faiss"), vector)
    if (path / "keys.json").is_file():
        from lab.search import IndexFile

        names = stored.read(inside(path, "keys.json"), IndexFile, stored.MOST_LISTED)
        if "keys" not in names or "classes" not in names:
            raise ValueError(f"{path / 'keys.json'} is damaged: it lacks keys or classes.")
        source.columns = {"key": names["keys"], "class": names["classes"]}
    return source


READERS: dict[str, Callable[[Path, str], Source]] = {
    ".npy": _numpy, ".npz": _numpy, ".pt": _torch, ".pth": _torch, ".safetensors": _safetensors,
    **dict.fromkeys(TABLES, _table),
    ".faiss": _faiss, ".index": _faiss,
}  # fmt: skip
"""Suffix to what reads a file of vectors."""
