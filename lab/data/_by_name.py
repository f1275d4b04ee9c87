"""Look at a data set's files, or fetch them, by the name of the data set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lab.data._catalog import get

if TYPE_CHECKING:
    from lab.data._check import Problem
    from lab.data._download import Progress


def check(name: str, path: str) -> list[str]:
    """Return what is missing, wrong or corrupt in the data set `name` at `path`, a sentence each."""
    from lab.data._check import check

    return check(get(name), path)


def checking(name: str, path: str) -> Iterator[Progress | Problem]:
    """As `check`, as a generator of `Problem` and `Progress` records; see `lab.data._check.checking`."""
    from lab.data._check import checking

    return checking(get(name), path)


def download(name: str, path: str) -> Iterator[Progress]:
    """Fetch the published data set `name` into the folder `path`: a generator of `Progress` records.

    See `lab.data._download.download`.
    """
    from lab.data._download import download

    return download(name, get(name), path)
