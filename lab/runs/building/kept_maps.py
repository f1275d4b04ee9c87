"""Maps that were drawn of a run's embeddings and are kept in its folder, as `maps/SPLIT.METHOD.safetensors`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np

from lab.core import arrays
from lab.runs.folder import Run

LARGE = 64_000_000
"""Bytes of a file of embeddings from which only pieces of it tell it apart."""


def file_of(run: Run, split: str, method: str) -> Path:
    """Where a map of a split is kept."""
    return run.path / "maps" / f"{split}.{method}.safetensors"


def fingerprint(files: Iterable[Path]) -> str:
    """Changes when the embeddings in these files do."""
    digests = [_digest(str(p), p.stat().st_mtime_ns, p.stat().st_size) for p in files]
    return hashlib.blake2b("".join(digests).encode(), digest_size=16).hexdigest()


def embedded(run: Run, split: str) -> list[Path]:
    """The file of embeddings that a map of a split is drawn from."""
    return [run.path / "embeddings" / f"{split}.safetensors"]


def read(file: Path, of: str) -> dict[str, np.ndarray] | None:
    """The arrays of a map, if it was drawn from the embeddings with this fingerprint.

    Returns:
        `steps` int64 [t], `flat` float32 [t n 2], `items` int64 [n] (maps of older versions lack them), and the three
        measures of honesty, float64 [t]. None where there is no such map, or a damaged one: it is drawn again.
    """
    try:
        return arrays.read(file) if file.is_file() and arrays.header(file).get("of") == of else None
    except (OSError, ValueError):
        return None


def places(run: Run, split: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The kept maps of a split by method: items int64 [n], and where each lies, float32 [n 2].

    Example (`run` is that of `lab.runs`, of which nobody has drawn a map):
        >>> from lab.runs.building import kept_maps
        >>> kept_maps.places(run, "test")
        {}
    """
    maps, end = {}, ".safetensors"
    for file in sorted((run.path / "maps").glob(f"{split}.*{end}")):
        method = file.name.removeprefix(f"{split}.").removesuffix(end)
        kept = read(file, fingerprint(embedded(run, split)))
        if kept is not None and {"items", "flat"} <= kept.keys():
            maps[method] = kept["items"], kept["flat"][-1]
    return maps


@cache
def _digest(path: str, changed: int, size: int) -> str:
    """Of a large file, pieces all over it are read: its numbers change everywhere or nowhere."""
    with open(path, "rb") as file:
        if size <= LARGE:
            return hashlib.file_digest(file, "md5").hexdigest()
        digest = hashlib.md5(str(size).encode())
        for begin in np.linspace(0, size - 65_536, 256).astype(int):
            file.seek(begin)
            digest.update(file.read(65_536))
        return digest.hexdigest()
