"""Maps that were drawn of a run's embeddings and are kept in its folder, as `maps/SPLIT.METHOD.safetensors`."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path

import numpy as np

from lab.core import arrays
from lab.runs.folder import Run


def file_of(run: Run, split: str, method: str) -> Path:
    """Where a map of a split is kept."""
    return run.path / "maps" / f"{split}.{method}.safetensors"


def fingerprint(files: Collection[Path]) -> str:
    """Changes when the embeddings in these files do, by their checksums or, in version 0.1, their age."""
    stamps = [(arrays.stamp(path), path.stat().st_size) for path in files]
    ages = [path.stat().st_mtime_ns for path, (stamp, _) in zip(files, stamps, strict=True) if stamp == "None"]
    return hashlib.blake2b(repr((stamps, ages)).encode(), digest_size=16).hexdigest()


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
