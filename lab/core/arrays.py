"""Named arrays in one safetensors file, each with a checksum: a flipped bit is found when the file is read.

Files without checksums (version 0.1) are read as they are. Imports no torch.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lab.core.files import write_bytes

CHECKSUMS = "crc32"

_ANEW = "`lab evaluate RUN` makes it anew, everything else of the run still works"
STILL = {
    "embeddings": _ANEW,
    "scores": _ANEW,
    "last": "training cannot go on from it; the best checkpoint may still be evaluated, with "
    "`lab evaluate RUN --evaluation.checkpoint best`",
    "best": "the last one may still be used: `lab evaluate RUN --evaluation.checkpoint last`",
}
"""What can be done about a damaged file, by its folder's or its own name."""


class Damaged(ValueError):
    """A stored file does not hold what was written."""

    def __init__(self, path: Path, reason: object):
        path = Path(path)
        still = STILL.get(path.stem if path.parent.name == "checkpoints" else path.parent.name)
        still = still or "delete it, nothing else needs it"
        super().__init__(f"{path} cannot be read, it is damaged ({str(reason).rstrip('.')}); {still}.")


def write(path: Path, arrays: Mapping[str, np.ndarray], header: Mapping[str, Any] | None = None) -> None:
    """Write arrays and a JSON header atomically.

    Raises:
        OSError: the disk is full or the folder cannot be written; the old file stays.
    """
    from safetensors.numpy import save

    text = json.dumps(dict(header or {}))
    contiguous = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
    write_bytes(path, save(contiguous, {"header": text, CHECKSUMS: checksums(contiguous, text)}))


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
        raise Damaged(path, "its header is not what was written")
    if arrays and arrays.keys() != written.keys() - {""}:
        raise Damaged(path, "arrays are missing")
    for name, values in arrays.items():
        if written[name] != _crc(values):
            raise Damaged(path, f"{name} is not what was written")


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
