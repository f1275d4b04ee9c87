"""Data sets, one file each: `names()`, `create(name, **knobs)`, `get(name)`."""

from lab.catalog import Catalog

_catalog = Catalog(__name__, __path__, "data set", helpers=("loading", "transforms"))
names, get, create = _catalog.names, _catalog.get, _catalog.create


def check(name: str, path: str) -> list[str]:
    """What is missing, wrong or corrupt in the data set `name` at `path`; see `lab.data._check.check`."""
    from lab.data._check import check

    return check(name, path)


def download(name: str, path: str):
    """Fetch the published data set `name` into the folder `path`; see `lab.data._download.download`."""
    from lab.data._download import download

    return download(name, path)
