"""Data sets, one file each: `names()`, `create(name, **knobs)`, `get(name)`."""

from typing import TYPE_CHECKING

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from lab.data._base import ImageSet

_catalog: "Catalog[ImageSet]" = Catalog(__name__, __path__, "data set", helpers=("listing", "loading", "transforms"))
names, get, create = _catalog.names, _catalog.get, _catalog.create


def check(name: str, path: str) -> list[str]:
    """What is missing, wrong or corrupt in the data set `name` at `path`, a sentence each."""
    from lab.data._check import check

    return check(name, path)


def checking(name: str, path: str):
    """As `check`, as a generator of `Problem` and `Progress` records; see `lab.data._check.checking`."""
    from lab.data._check import checking

    return checking(name, path)


def download(name: str, path: str):
    """Fetch the published data set `name` into the folder `path`: a generator of `Progress` records.

    See `lab.data._download.download`.
    """
    from lab.data._download import download

    return download(name, path)
