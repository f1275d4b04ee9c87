"""Open what holds an index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lab.core import arrays
from lab.core.kinds import what_is
from lab.core.results import EmbeddingSet
from lab.search._base import Index
from lab.search._catalog import create
from lab.search._faiss_file import FaissFile


def open(path: str | Path, device: Any = "auto") -> Index | FaissFile:
    """Open a saved index, ready to search.

    Args:
        path: what `save` wrote, and may be added to (see `Index.save` for an example); the folder that
            `lab export RUN --to faiss` wrote; or a file of faiss.
        device: where an index that `save` wrote searches; it need not be where it was saved.

    Raises:
        ValueError: there is no such file, it is damaged, or it holds no index; in one sentence.
    """
    path = Path(path).expanduser()
    if not arrays.bears_mark(path):
        if what_is(path) == "a faiss index":
            return FaissFile(path)
        raise ValueError(f"{path} is no index of Rankscope: it is {what_is(path)}.")
    header = arrays.header(path)
    columns = arrays.read(path)
    gallery = ("vectors", "labels", "items")
    described = isinstance(header.get("index"), str) and isinstance(header.get("knobs", {}), dict)
    if not described or any(name not in columns for name in gallery):
        raise ValueError(f"{path} holds no index; write one with `index.save(path)`.")
    index = create(header["index"], device=device, **header.get("knobs", {}))
    letters = columns.pop("names", None)
    ends = columns.pop("name_ends", None)
    index.restored(EmbeddingSet(*(columns.pop(name) for name in gallery)), columns)
    index.names = [] if letters is None or ends is None else list(arrays.Names(letters, ends))
    about = header.get("about")
    index.about = about if isinstance(about, dict) else {}
    return index
