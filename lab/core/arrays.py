"""Named arrays in one safetensors file, each with a checksum: a flipped bit is found when the file is read.

Files without checksums (version 0.1) are read as they are. Imports no torch.
"""

from __future__ import annotations

import json
import math
import os
import struct
import zlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from lab.core.files import replacing

CHECKSUMS = "crc32"

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
    "shard": "delete the folder that it lies in, and `lab embed --shards` writes the gallery anew",
}
"""What can be done about a damaged file, by its folder's name or the beginning of its own."""


class Damaged(ValueError):
    """A stored file does not hold what was written."""

    def __init__(self, path: Path, reason: object):
        path = Path(path)
        name = path.stem.partition(".")[0] if path.parent.name == "checkpoints" else path.parent.name
        still = STILL.get("shard" if path.name.startswith("shard-") else name, "delete it, nothing else needs it")
        super().__init__(f"{path} cannot be read, it is damaged ({str(reason).rstrip('.')}); {still}.")


class Streamed(Protocol):
    """An array that comes in pieces, for what is too large to be held at once.

    shape, dtype: of the whole. blocks: its rows in order, each piece of that dtype; asked for once.
    """

    shape: tuple[int, ...]
    dtype: np.dtype

    def blocks(self) -> Iterator[np.ndarray]: ...


def write(path: Path, arrays: Mapping[str, np.ndarray | Streamed], header: Mapping[str, Any] | None = None) -> None:
    """Write arrays and a JSON header atomically, piece by piece: nothing is held twice.

    Raises:
        OSError: the disk is full or the folder cannot be written; the old file stays.
        ValueError: an array of a type that safetensors does not have.
    """
    header_text = json.dumps(dict(header or {}))
    plain = {name: v if hasattr(v, "blocks") else np.ascontiguousarray(v) for name, v in arrays.items()}
    ordered = sorted(plain.items(), key=lambda one: (-one[1].dtype.itemsize, one[0]))  # so that each is aligned
    sums = {name: 0 for name in arrays}
    longest = {"header": header_text, CHECKSUMS: json.dumps({"": 2**32 - 1, **{name: 2**32 - 1 for name in arrays}})}
    size = -(-len(_head(ordered, longest)) // 8) * 8
    with replacing(path) as temporary, open(temporary, "xb") as file:
        file.seek(8 + size)
        for name, values in ordered:
            written = 0
            for block in _pieces(values):
                data = np.ascontiguousarray(block, block.dtype.newbyteorder("=")).reshape(-1).view(np.uint8).data
                sums[name] = zlib.crc32(data, sums[name])
                written += file.write(data)
            if written != _bytes(values):
                raise ValueError(f"{name} came with {written:,} bytes instead of {_bytes(values):,}.")
        told_sums = json.dumps({"": zlib.crc32(header_text.encode()), **sums})
        file.seek(0)
        file.write(struct.pack("<Q", size) + _head(ordered, {"header": header_text, CHECKSUMS: told_sums}).ljust(size))


def _pieces(values: np.ndarray | Streamed) -> Iterator[np.ndarray]:
    if not isinstance(values, np.ndarray):
        yield from values.blocks()
    elif values.size:
        yield values


def _bytes(values: np.ndarray | Streamed) -> int:
    return math.prod(values.shape) * values.dtype.itemsize


def _head(ordered: list[tuple[str, Any]], metadata: dict[str, str]) -> bytes:
    """The header of a safetensors file: name to type, shape and place, and our own words."""
    described: dict[str, Any] = {"__metadata__": metadata}
    place = 0
    for name, values in ordered:
        if values.dtype.str[1:] not in TYPES:
            raise ValueError(f"{name} is of type {values.dtype}, which a safetensors file cannot hold.")
        end = place + _bytes(values)
        described[name] = {
            "dtype": TYPES[values.dtype.str[1:]], "shape": list(values.shape), "data_offsets": [place, end],
        }  # fmt: skip
        place = end
    return json.dumps(described).encode()


def read(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file that `write` wrote.

    Raises:
        ValueError: it does not hold what was written (`Damaged`), is not there, or not for us to read.
    """
    metadata = _metadata(path)
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        arrays = load_file(path)
    except (SafetensorError, OSError, TypeError, KeyError, ValueError) as error:
        raise Damaged(path, error) from None
    verify(path, metadata, arrays, metadata.get("header", "{}"))
    return arrays


def names(path: Path) -> set[str]:
    """What the arrays of a file that `write` wrote are called; only its header is read, and nothing is checked.

    Raises:
        Damaged: it is not there, or its header is damaged.
    """
    try:
        return set(_described(Path(path))[1]) - {"__metadata__"}
    except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
        raise Damaged(path, error) from None


def mapped(path: Path, names: Collection[str]) -> dict[str, np.ndarray]:
    """Some arrays of a file that `write` wrote, by memory map: nothing is read, nothing is checked but the length.

    What is written into them stays in memory.

    Raises:
        Damaged: it is not there, cut short, or lacks an array.
    """
    path = Path(path)
    try:
        begin, head = _described(path)
        return {name: _mapped(path, begin, head[name]) for name in names}
    except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
        raise Damaged(path, error) from None


def stamp(path: Path) -> str:
    """The checksums in a file's head: another one for other contents, without reading them.

    Raises:
        Damaged: it is not there or cut short.
    """
    try:
        return str(_described(Path(path))[1]["__metadata__"].get(CHECKSUMS))
    except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
        raise Damaged(path, error) from None


def _described(path: Path) -> tuple[int, dict[str, Any]]:
    """Where the arrays of a file begin, and its head."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        if size > path.stat().st_size:
            raise ValueError("its head is longer than the file")
        return 8 + size, json.loads(file.read(size))


def _mapped(path: Path, begin: int, entry: dict[str, Any]) -> np.ndarray:
    (first, last), shape = entry["data_offsets"], tuple(entry["shape"])
    kind = np.dtype(next(kind for kind, word in TYPES.items() if word == entry["dtype"]))
    return np.empty(shape, kind) if first == last else np.memmap(path, kind, "c", begin + first, shape)


def header(path: Path) -> dict[str, Any]:
    """What was written beside the arrays.

    Raises:
        ValueError: it does not hold what was written (`Damaged`), is not there, or not for us to read.
    """
    metadata = _metadata(path)
    text = metadata.get("header", "{}")
    verify(path, metadata, {}, text)
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Damaged(path, error) from None
    return stored if isinstance(stored, dict) else {}


def checksums(arrays: Mapping[str, np.ndarray], text: str) -> str:
    """CRC-32 of every array's bytes, and, under the empty name, of the text beside them."""
    return json.dumps({"": zlib.crc32(text.encode()), **{name: _crc(values) for name, values in arrays.items()}})


def verify(path: Path, metadata: Mapping[str, str], arrays: Mapping[str, np.ndarray], text: str) -> None:
    """Compare what was read with the checksums beside it, if there are any.

    Raises:
        Damaged: they differ; names the array.
    """
    if CHECKSUMS not in metadata:
        return
    try:
        written = dict(json.loads(metadata[CHECKSUMS]))
    except (ValueError, TypeError, RecursionError) as error:
        raise Damaged(path, error) from None
    if written.get("") != zlib.crc32(text.encode()):
        raise Damaged(path, "its header has changed since it was written")
    if arrays and arrays.keys() != written.keys() - {""}:
        raise Damaged(path, "arrays are missing")
    for name, values in arrays.items():
        if written[name] != _crc(values):
            raise Damaged(path, f"{name} has changed since it was written")


def check_openable(path: Path) -> None:
    """Ask the system why a file cannot be opened: safetensors calls every reason a missing file.

    Raises:
        ValueError: with the system's reason.
    """
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}.") from None


def _crc(values: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)


def _metadata(path: Path) -> dict[str, str]:
    from safetensors import SafetensorError, safe_open

    check_openable(path)
    try:
        with safe_open(path, framework="numpy") as file:
            return file.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise Damaged(path, error) from None
