"""Named arrays in one safetensors file, each with a checksum: a flipped bit is found when the file is read.

Files without checksums (version 0.1) are read as they are. Imports no torch.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from lab.core.files import write_bytes

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
        why = " ".join(str(reason).split()).rstrip(".")  # a damaged header is quoted with its line breaks
        super().__init__(f"{path} cannot be read, it is damaged ({why}); {still}.")


def write(path: Path, arrays: Mapping[str, np.ndarray], header: Mapping[str, Any] | None = None) -> None:
    """Write arrays and a JSON header atomically.

    Raises:
        OSError: the disk is full or the folder cannot be written; the old file stays.
    """
    from safetensors.numpy import save

    plain = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
    write_bytes(Path(path), save(plain, {"header": json.dumps(dict(header or {})), CHECKSUMS: checksums(plain)}))


def read(path: Path, only: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """The arrays of a file that `write` wrote.

    Args:
        only: names of the arrays to read, by default all; those that the file does not hold are left out.

    Raises:
        ValueError: it does not hold what was written (`Damaged`), is not there, or not for us to read.
    """
    with opened(path) as file:
        known = [name for name in file.keys() if only is None or name in only]  # noqa: SIM118 (no mapping)
        arrays = {name: file.get_tensor(name) for name in known}
        verify(path, file.metadata() or {}, arrays)
    return arrays


def names(path: Path) -> set[str]:
    """What the arrays of a file that `write` wrote are called; only its header is read.

    Raises:
        ValueError: as `read`.
    """
    with opened(path) as file:
        return set(file.keys())


def header(path: Path) -> dict[str, Any]:
    """What was written beside the arrays.

    Raises:
        ValueError: as `read`.
    """
    with opened(path) as file:
        return json.loads((file.metadata() or {}).get("header", "{}"))


def stamp(path: Path) -> str:
    """The checksums in a file's head: another one for other contents, without reading them.

    Raises:
        ValueError: as `read`.
    """
    with opened(path) as file:
        return str((file.metadata() or {}).get(CHECKSUMS))


@contextmanager
def opened(path: Path, framework: str = "numpy") -> Iterator[Any]:
    """A safetensors file, open.

    Raises:
        ValueError: something is wrong with it (`Damaged`), or the system's reason why it cannot be opened.
    """
    from safetensors import SafetensorError, safe_open

    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))  # safetensors calls every reason a missing file
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}.") from None
    try:
        with safe_open(path, framework=framework) as file:
            yield file
    except Damaged:
        raise
    except (SafetensorError, OSError, TypeError, KeyError, ValueError, AttributeError, RecursionError) as error:
        raise Damaged(path, error) from None


def mapped(path: Path, names: Collection[str]) -> dict[str, np.ndarray]:
    """Some arrays of a file that `write` wrote, by memory map: nothing is read, nothing is checked but the length.

    What is written into them stays in memory.

    Raises:
        Damaged: it is not there, cut short, or lacks an array.
    """
    path = Path(path)
    try:
        with open(path, "rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            if size > path.stat().st_size:
                raise ValueError("its head is longer than the file")
            head = json.loads(file.read(size))
        arrays, kinds = {}, {word: np.dtype(kind) for kind, word in TYPES.items()}
        for name in names:
            (first, last), shape = head[name]["data_offsets"], tuple(head[name]["shape"])
            kind, begin = kinds[head[name]["dtype"]], 8 + size + first
            arrays[name] = np.memmap(path, kind, "c", begin, shape) if first < last else np.empty(shape, kind)
        return arrays
    except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
        raise Damaged(path, error) from None


def checksums(arrays: Mapping[str, np.ndarray]) -> str:
    """CRC-32 of every array's bytes."""
    return json.dumps({name: _crc(values) for name, values in arrays.items()})


def verify(path: Path, metadata: Mapping[str, str], arrays: Mapping[str, np.ndarray]) -> None:
    """Compare arrays with the checksums beside them, if there are any.

    Raises:
        Damaged: they differ; names the array.
    """
    try:
        written = json.loads(metadata.get(CHECKSUMS, "{}"))
        changed = next((name for name, values in arrays.items() if written and written[name] != _crc(values)), None)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Damaged(path, error) from None
    if changed:
        raise Damaged(path, f"{changed} has changed since it was written")


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
        return cls(np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([len(one) for one in encoded], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        row = range(len(self))[row]
        return bytes(self.joined[self.ends[row - 1] if row else 0 : self.ends[row]]).decode()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Names):
            return NotImplemented
        return np.array_equal(self.ends, other.ends) and np.array_equal(self.joined, other.joined)
