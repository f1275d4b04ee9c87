"""Which installation this environment holds: the ordinary one, with CUDA libraries, or the light one without."""

from __future__ import annotations

import importlib.metadata
from typing import NamedTuple

from lab.core.formats import size
from lab.install import shipped


class Installation(NamedTuple):
    """name: ordinary, light, or neither when it is something of both; detail: what shows it; change: how to change."""

    name: str
    detail: str
    change: str


CHANGE = {
    "ordinary": "Without a GPU the light one is enough: {light} (docs/installation.md).",
    "light": "For a GPU take the ordinary one: {ordinary} (docs/installation.md).",
    "neither": "To save disk take the light one, {light}; for a GPU the ordinary, {ordinary} (docs/installation.md).",
}

WAYS = {
    True: {"light": "make clean, then make demo LIGHT=1", "ordinary": "make clean, then make demo"},
    False: {"light": "a new environment, and uv with --override", "ordinary": "a new environment, and pip or uv"},
}
"""How to come to each installation from a checkout, and from a wheel."""


def current() -> Installation:
    """This one, told by the build of faiss and by the CUDA libraries that pip installed. Imports neither of them."""
    installed = {(one.name or "").lower(): one for one in importlib.metadata.distributions()}
    cuda = [one for name, one in installed.items() if name.startswith("nvidia-")]
    faiss = "faiss-gpu" if "faiss-gpu" in installed else "faiss-cpu" if "faiss-cpu" in installed else "no faiss"
    name = {("faiss-gpu", True): "ordinary", ("faiss-cpu", False): "light"}.get((faiss, bool(cuda)), "neither")
    space = sum(file.size or 0 for one in cuda for file in one.files or ())
    libraries = f"CUDA libraries of {size(space)}" if cuda else "no CUDA libraries"
    return Installation(
        name, f"{name}: {faiss}, {libraries}", CHANGE[name].format(**WAYS[shipped.checkout() is not None])
    )
