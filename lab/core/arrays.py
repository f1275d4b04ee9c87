"""Named arrays in one safetensors file, each with a checksum: a flipped bit is found when the file is read.

Files without checksums (version 0.1) are read as they are. Imports no torch.
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from lab.core.files import check_fits, parse_json, write_bytes
from lab.core.kinds import what_is
from lab.core.stored import Count, Stored, check, parse

CHECKSUMS = "crc32"
HEAD = 1 << 20
"""Bytes in which our mark is looked for."""

TYPES = {
    "f8": "F64", "f4": "F32", "f2": "F16", "i8": "I64", "i4": "I32", "i2": "I16", "i1": "I8",
    "u8": "U64", "u4": "U32", "u2": "U16", "u1": "U8", "b1": "BOOL",
}  # fmt: skip
"""numpy's word for a type of numbers to that of safetensors."""

_ANEW = "`lab evaluate RUN` makes it anew, everything else of the run still works"
STILL = {
    "embeddings": _ANEW,
    "scores": _ANEW,
    "last": "training cannot go on from it; the best checkpoint may still be evaluated, with "
    "`lab evaluate RUN --evaluation.checkpoint best`",
    "best": "the last one may still be used: `lab evaluate RUN --evaluation.checkpoint last`",
    "shard": "move the folder that it lies in away, and `lab embed --shards` writes the gallery anew",
}
"""What can be done about a damaged file, by its folder's name or the beginning of its own."""


class Unreadable(ValueError):
    """A file does not hold what `write` writes; see `unreadable`."""


class Damaged(Unreadable):
    """A file that `write` wrote does not hold what was written."""


def unreadable(path: Path, reason: object) -> Unreadable:
    """Return the error of a file that cannot be read: `Damaged` if it bears our mark, else one that says what it is.

    No sentence tells anybody to delete a file: what cannot be read here may be somebody's table or model.
    """
    path = Path(path)
    name = path.stem.partition(".")[0] if path.parent.name == "checkpoints" else path.parent.name
    still = STILL.get("shard" if path.name.startswith("shard-") else name, "")
    if not bears_mark(path):
        return Unreadable(
            f"{path} is no file of Rankscope: it is {what_is(path)}{still and '; '}{still}."
        )
    # a damaged header is quoted with its line breaks
    why = " ".join(str(reason).split()).rstrip(".")
    still = still or "move it away, everything else can still be read"
    return Damaged(f"{path} cannot be read, it is damaged ({why}); {still}.")


def bears_mark(path: Path) -> bool:
    """Return whether a file begins with a header that `write` wrote, be the rest as damaged as it may.

    Raises:
        ValueError: it is not there, or not for us to read.
    """
    if Path(path).is_dir():
        return False
    try:
        with open(path, "rb") as file:
            begin = file.read(HEAD)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}.") from None
    return any(f'"{name}":'.encode() in begin for name in (CHECKSUMS, "header"))


def write(
    path: Path, arrays: Mapping[str, np.ndarray], header: Mapping[str, Any] | None = None
) -> None:
    """Write arrays and a JSON header atomically.

    Raises:
        OSError: the disk is full or the folder cannot be written; the old file stays.
    """
    from safetensors.numpy import save

    plain = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
    write_bytes(
        Path(path),
        save(plain, {"header": json.dumps(dict(header or {})), CHECKSUMS: checksums(plain)}),
    )


def read(path: Path, only: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """The arrays of a file that `write` wrote.

    Args:
        only: names of the arrays to read, by default all; those that the file does not hold are left out.

    Raises:
        ValueError: it does not hold what was written (`Damaged`), is no file of ours, is not there, or not for us to
            read.
    """
    with opened(path) as file:
        known = [name for name in file.keys() if only is None or name in only]  # noqa: SIM118 (no mapping)
        check_fits(path, bytes_of(file, known))
        arrays = {name: file.get_tensor(name) for name in known}
        verify(path, file.metadata() or {}, arrays)
    return arrays


def bytes_of(file: Any, names: Iterable[str]) -> int:
    """Bytes of some arrays of an open safetensors file, by its head."""
    total = 0
    for name in names:
        place = file.get_slice(name)
        bits = re.search(r"\d+", place.get_dtype())
        total += math.prod(place.get_shape()) * (int(bits[0]) // 8 if bits else 1)
    return total


def names(path: Path) -> set[str]:
    """What the arrays of a file that `write` wrote are called; only its header is read.

    Raises:
        ValueError: as `read`.
    """
    with opened(path) as file:
        return set(file.keys())


def header(path: Path, kind: Any = Stored) -> dict[str, Any]:
    """What was written beside the arrays, checked by its schema; see `lab.core.stored`.

    Raises:
        ValueError: as `read`.
    """
    with opened(path) as file:
        return parse((file.metadata() or {}).get("header", "{}"), kind, "its header")


def check_shapes(path: Path, arrays: Mapping[str, np.ndarray], shapes: Mapping[str, str]) -> None:
    """Check types and shapes of arrays that were read from a file.

    Args:
        shapes: name to a type (`float`, `int`) and its dimensions, for instance `float n d`. A letter stands for the
            same number in all of them; a number stands for itself.

    Raises:
        Unreadable: an array is missing, or is another one; names it.

    Example:
        >>> import numpy as np
        >>> check_shapes("x", {"vectors": np.zeros((2, 3)), "labels": np.zeros(3, int)}, {"vectors": "float n d"})
    """
    known: dict[str, int] = {}
    for name, words in shapes.items():
        kind, *dimensions = words.split()
        array = arrays.get(name)
        if array is None:
            raise unreadable(path, f"it lacks {name}")
        expected = [
            int(letter) if letter.isdigit() else known.get(letter, letter) for letter in dimensions
        ]
        fits = array.dtype.kind in NUMBERS[kind] and array.ndim == len(dimensions)
        for letter, length in zip(dimensions, array.shape, strict=False):
            fits = fits and length == (
                int(letter) if letter.isdigit() else known.setdefault(letter, length)
            )
        if not fits:
            wanted = ", ".join(map(str, expected))
            raise unreadable(
                path, f"{name} is {array.dtype} {list(array.shape)} in place of {kind} [{wanted}]"
            )


NUMBERS = {"float": "f", "int": "iu"}
"""Word for a type of numbers to numpy's letters."""


def stamp(path: Path) -> str:
    """The checksums in a file's head: another one for other contents, without reading them.

    Raises:
        ValueError: as `read`.
    """
    with opened(path) as file:
        return str((file.metadata() or {}).get(CHECKSUMS))


def stamp_of(path: Path, name: str) -> str:
    """The checksum of one array, from the file's head; "" where there is none.

    Raises:
        ValueError: as `read`.
    """
    with opened(path) as file:
        written = parse_json((file.metadata() or {}).get(CHECKSUMS, "{}").encode())
    return str(written.get(name, "")) if isinstance(written, dict) else ""


class ArrayHead(Stored):
    """What the head of a safetensors file says of one array."""

    dtype: Literal[
        "F64", "F32", "F16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL"
    ]
    shape: Annotated[list[Count], Field(max_length=8)]
    data_offsets: tuple[Count, Count]


@contextmanager
def opened(path: Path, framework: str = "numpy") -> Iterator[Any]:
    """A safetensors file, open.

    Raises:
        ValueError: something is wrong with it, see `unreadable`, or the system's reason why it cannot be opened.
    """
    from safetensors import SafetensorError, safe_open

    try:
        # safetensors calls every reason a missing file
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}.") from None
    try:
        with safe_open(path, framework=framework) as file:
            yield file
    except Unreadable:
        raise
    except (SafetensorError, OSError, ValueError) as error:
        deep = "recursion" in str(error)
        raise unreadable(path, "its head is nested too deeply" if deep else error) from None
    except (TypeError, KeyError, AttributeError, RecursionError):
        raise unreadable(path, "its head is not one that safetensors writes") from None


def mapped(path: Path, names: Collection[str]) -> dict[str, np.ndarray]:
    """Some arrays of a file that `write` wrote, by memory map: nothing is read, nothing is checked but the length.

    What is written into them stays in memory.

    Raises:
        ValueError: it is not there, cut short, lacks an array, or is no file of ours.
    """
    path = Path(path)
    try:
        with open(path, "rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            whole = path.stat().st_size
            if size > whole:
                raise ValueError("its head is longer than the file")
            head = parse_json(file.read(size))
        arrays, kinds = {}, {word: np.dtype(kind) for kind, word in TYPES.items()}
        for name in names:
            entry = check(head.get(name), ArrayHead, f"its head of {name}")
            (first, last), shape = entry["data_offsets"], tuple(entry["shape"])
            kind, begin = kinds[entry["dtype"]], 8 + size + first
            if kind.itemsize * math.prod(shape) != last - first or 8 + size + last > whole:
                raise ValueError(f"{name} has another size than its place in the file")
            arrays[name] = (
                np.memmap(path, kind, "c", begin, shape) if first < last else np.empty(shape, kind)
            )
        return arrays
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    except struct.error:
        raise unreadable(path, "it is cut short") from None


def checksums(arrays: Mapping[str, np.ndarray]) -> str:
    """CRC-32 of every array's bytes."""
    return json.dumps({name: _crc(values) for name, values in arrays.items()})


def verify(path: Path, metadata: Mapping[str, str], arrays: Mapping[str, np.ndarray]) -> None:
    """Compare arrays with the checksums beside them, if there are any.

    Raises:
        Damaged: they differ; names the array.
    """
    try:
        written = parse_json(metadata.get(CHECKSUMS, "{}").encode())
    except ValueError as error:
        raise unreadable(path, error) from None
    changed = next(
        (name for name, values in arrays.items() if written and written.get(name) != _crc(values)),
        None,
    )
    if changed:
        raise unreadable(path, f"{changed} has changed since it was written")


def _crc(values: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)


class Names(Sequence[str]):
    """Names [n] out of one array of letters uint8, made when asked for; `ends` int64 [n]: where each ends."""

    def __init__(self, joined: np.ndarray, ends: np.ndarray):
        self.joined, self.ends = joined, ends

    @classmethod
    def of(cls, names: Iterable[str]) -> Names:
        """These names, packed."""
        encoded = [str(name).encode() for name in names]
        return cls(
            np.frombuffer(b"".join(encoded), np.uint8),
            np.cumsum([len(one) for one in encoded], dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        row = range(len(self))[row]
        return bytes(self.joined[self.ends[row - 1] if row else 0 : self.ends[row]]).decode(
            errors="replace"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Names):
            return NotImplemented
        return np.array_equal(self.ends, other.ends) and np.array_equal(self.joined, other.joined)
