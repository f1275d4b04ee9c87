"""Data sets, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`.

Derive your own from `ImageSet`.
"""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab.core.knobs import knob
    from lab.data._base import ImageRecords, ImageSet, OfFolder, SplitKnobs, Unlabelled, below
    from lab.data._check import Problem
    from lab.data._corrections import read_corrections
    from lab.data._download import Progress
    from lab.data._splits import Split, class_disjoint

__all__ = [
    "ImageSet", "ImageRecords", "OfFolder", "Problem", "Progress", "Split", "SplitKnobs", "Unlabelled", "add",
    "below", "broken", "check", "checking", "class_disjoint", "create", "entries", "download", "get", "knob", "names",
    "read_corrections",
]  # fmt: skip

_catalog: "Catalog[ImageSet]" = Catalog(__name__, __path__, "data set", base="lab.data._base:ImageSet")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
entries, broken = _catalog.entries, _catalog.broken
if TYPE_CHECKING:
    from lab.data import _entries
    from lab.data._entries import *

    __all__ += _entries.__all__  # type: ignore[attr-defined]  # for pyright
else:
    __getattr__, __dir__ = _catalog.public()


def check(name: str, path: str) -> list[str]:
    """What is missing, wrong or corrupt in the data set `name` at `path`, a sentence each."""
    from lab.data._check import check

    return check(get(name), path)


def checking(name: str, path: str) -> "Iterator[Progress | Problem]":
    """As `check`, as a generator of `Problem` and `Progress` records; see `lab.data._check.checking`."""
    from lab.data._check import checking

    return checking(get(name), path)


def download(name: str, path: str) -> "Iterator[Progress]":
    """Fetch the published data set `name` into the folder `path`: a generator of `Progress` records.

    See `lab.data._download.download`.
    """
    from lab.data._download import download

    return download(name, get(name), path)
