"""Search indexes, one file each: `names()`, `create(name, **knobs)`, `get(name)`, `add(cls)`; `open(path)`, `recall`.

`FaissFile` searches a file of faiss as it stands.

Derive your own from `Index`.

Example:
    >>> import lab, numpy as np
    >>> vectors = np.array([[1, 0], [0.8, 0.6], [0, 1]], np.float32)
    >>> gallery = lab.EmbeddingSet(vectors, [0, 0, 1])
    >>> scores, places = lab.search.create("exact", k=2).build(gallery).neighbours(np.array([0.6, 0.8]))
    >>> places, scores.round(2)
    (array([[1, 2]]), array([[0.96, 0.8 ]], dtype=float32))
"""

from typing import TYPE_CHECKING, Any

from lab.core.catalog import Catalog

if TYPE_CHECKING:
    from pathlib import Path

    from lab.core.knobs import knob
    from lab.search._base import Index
    from lab.search._composed import Together, best_of, compose, mean_query, rocchio
    from lab.search._faiss_file import FaissFile
    from lab.search._recall import recall

__all__ = [
    "FaissFile", "Index", "Together", "add", "best_of", "compose", "create", "get", "knob",
    "mean_query", "names", "open", "recall", "rocchio",
]  # fmt: skip

_catalog: "Catalog[Index]" = Catalog(__name__, __path__, "index", base="lab.search._base:Index")
names, get, create, add = _catalog.names, _catalog.get, _catalog.create, _catalog.add
if TYPE_CHECKING:
    from lab.search import _entries
    from lab.search._entries import *

    __all__ += _entries.__all__  # type: ignore[attr-defined]  # for pyright
else:
    __getattr__, __dir__ = _catalog.public()


def open(path: "str | Path", device: Any = "auto") -> "Index | FaissFile":
    """Open a saved index, ready to search.

    Args:
        path: what `save` wrote, and may be added to (see `Index.save` for an example); the folder that
            `lab export RUN --to faiss` wrote; or a file of faiss.
        device: where an index that `save` wrote searches; it need not be where it was saved.

    Raises:
        ValueError: there is no such file, it is damaged, or it holds no index; in one sentence.
    """
    from pathlib import Path

    from lab.core import arrays
    from lab.core.kinds import what_is
    from lab.core.results import EmbeddingSet
    from lab.search._faiss_file import FaissFile

    path = Path(path).expanduser()
    if not arrays.bears_mark(path):
        if what_is(path) == "a faiss index":
            return FaissFile(path)
        raise ValueError(f"{path} is no index of Rankscope: it is {what_is(path)}.")
    header, columns = arrays.header(path), arrays.read(path)
    gallery = ("vectors", "labels", "items")
    described = isinstance(header.get("index"), str) and isinstance(header.get("knobs", {}), dict)
    if not described or any(name not in columns for name in gallery):
        raise ValueError(f"{path} holds no index; write one with `index.save(path)`.")
    index = create(header["index"], device=device, **header.get("knobs", {}))
    letters, ends = columns.pop("names", None), columns.pop("name_ends", None)
    index.restored(EmbeddingSet(*(columns.pop(name) for name in gallery)), columns)
    index.names = [] if letters is None or ends is None else list(arrays.Names(letters, ends))
    about = header.get("about")
    index.about = about if isinstance(about, dict) else {}
    return index
