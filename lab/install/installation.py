"""Which installation this environment holds: the ordinary one, with CUDA libraries, or the light one without."""

from __future__ import annotations

import importlib.metadata
from typing import NamedTuple

from lab.core.formats import size


class Installation(NamedTuple):
    """name: ordinary, light, or neither when it is something of both; detail: what shows it; change: how to change."""

    name: str
    detail: str
    change: str


CHANGE = {
    "ordinary": "Without a GPU the light one is enough: make clean, then make demo LIGHT=1 (docs/installation.md).",
    "light": "For a GPU take the ordinary one: make clean, then make demo (docs/installation.md).",
    "neither": "To save disk, make clean, then make demo LIGHT=1; for a GPU, make demo (docs/installation.md).",
}


def current() -> Installation:
    """This one, told by the build of faiss and by the CUDA libraries that pip installed. Imports neither of them."""
    installed = {(one.name or "").lower(): one for one in importlib.metadata.distributions()}
    cuda = [one for name, one in installed.items() if name.startswith("nvidia-")]
    faiss = "faiss-gpu" if "faiss-gpu" in installed else "faiss-cpu" if "faiss-cpu" in installed else "no faiss"
    name = {("faiss-gpu", True): "ordinary", ("faiss-cpu", False): "light"}.get((faiss, bool(cuda)), "neither")
    libraries = f"CUDA libraries of {size(sum(map(_bytes, cuda)))}" if cuda else "no CUDA libraries"
    return Installation(name, f"{name}: {faiss}, {libraries}", CHANGE[name])


def _bytes(distribution: importlib.metadata.Distribution) -> int:
    """What a distribution says it put on the disk."""
    return sum(file.size or 0 for file in distribution.files or ())
