"""A faiss index out of a file, searched as it stands there."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np

from lab.core import stored
from lab.core.explain import faiss_library
from lab.core.files import inside
from lab.core.kinds import what_is
from lab.core.results import as_array
from lab.core.stored import Stored, Text, Texts
from lab.kernels.sort_keys import unit_rows
from lab.search._base import check_vectors


class MadeBy(Stored):
    """The encoder of an index."""

    words: Text
    weights: Text


class IndexFile(Stored, total=False):
    """keys.json beside an index: names of its rows and of their classes, and where they come from."""

    keys: Texts
    classes: Texts
    run: Text
    data: Text
    made_by: MadeBy | None


class FaissFile:
    """The folder that `lab export RUN --to faiss` wrote, or the file of any other faiss index.

    Nothing is built and no vector is copied; faiss maps the file into memory where its kind allows that.

    Attributes:
        names, classes: of the rows and of their classes, n each; empty where the file stands alone.
        similarity: what the index compares by: `cosine` for inner products, `euclidean` for distances.
        about: what was written beside it: `run`, `data`, and under `made_by` the encoder's `words` and `weights`.

    Raises:
        ValueError: there is no such file, it is no index of faiss, or its names do not fit it.

    Example:
        >>> import faiss, lab, numpy as np, tempfile
        >>> index = faiss.IndexFlatIP(2)
        >>> index.add(np.eye(2, dtype=np.float32))
        >>> path = tempfile.mkdtemp() + "/it.faiss"
        >>> faiss.write_index(index, path)
        >>> lab.search.FaissFile(path).neighbours(np.array([0.6, 0.8], np.float32), 2)[1]
        array([[1, 0]])
    """

    def __init__(self, path: str | Path):
        faiss = faiss_library()

        path = Path(path).expanduser()
        file = inside(path, "index.faiss") if path.is_dir() else path
        if not file.is_file():
            raise ValueError(f"There is no index {file}; `lab export RUN --to faiss` writes one.")
        try:
            self._index: Any = faiss.read_index(str(file), faiss.IO_FLAG_MMAP_IFC)
        except RuntimeError as error:
            kind = what_is(file)
            if kind != "a faiss index":
                raise ValueError(f"{file} is no index of faiss: it is {kind}.") from None
            why = " ".join(str(error).split())[-200:]
            raise ValueError(f"{file} is no index that faiss can read ({why}).") from None
        if self._index.metric_type not in (faiss.METRIC_INNER_PRODUCT, faiss.METRIC_L2):
            raise ValueError(
                f"{file} compares neither by inner products nor by distances, so it is not searched here."
            )
        euclidean = self._index.metric_type == faiss.METRIC_L2
        self.similarity: Literal["cosine", "euclidean"] = "euclidean" if euclidean else "cosine"
        beside = inside(path, "keys.json")
        self.about: dict[str, Any] = {}
        if path.is_dir() and beside.exists():
            self.about = dict(stored.read(beside, IndexFile, stored.MOST_LISTED))
        self.names: list[str] = self.about.pop("keys", [])
        self.classes: list[str] = self.about.pop("classes", [])
        for what, strings in (("keys", self.names), ("classes", self.classes)):
            if not isinstance(strings, list) or not all(isinstance(one, str) for one in strings):
                raise ValueError(f"{beside}: {what} must be a list of names.")
            if len(strings) not in (0, len(self)):
                raise ValueError(
                    f"{beside} holds {len(strings):,} {what} for an index of {len(self):,} rows."
                )

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def neighbours(self, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest rows of each vector [q d], or [d] for a single one: scores float32 [q k] and rows int64 [q k],
        best first, NaN and -1 where faiss found fewer. A score is a cosine (if the file's rows are of unit length)
        or minus a squared distance.

        Raises:
            ValueError: the vectors have another dimension, or hold NaN or infinity.
        """
        vectors = np.atleast_2d(as_array(vectors, "query vectors")).astype(np.float32)
        check_vectors(vectors, "query")
        if vectors.shape[1] != self._index.d:
            raise ValueError(
                f"The query vectors have {vectors.shape[1]} dimensions, the index {self._index.d}; embed both with the "
                "same model."
            )
        rows = unit_rows(vectors, "query") if self.similarity == "cosine" else vectors
        # faiss takes distances of 20 rows or more from products, which cancel to noise far from the origin.
        at_once = len(rows) if self.similarity == "cosine" else 16
        few = np.array_split(rows, -(-len(rows) // at_once))
        parts = [self._index.search(np.ascontiguousarray(part), k) for part in few]
        scores, positions = (np.concatenate(column) for column in zip(*parts, strict=True))
        scores = np.where(positions < 0, np.nan, scores if self.similarity == "cosine" else -scores)
        return scores.astype(np.float32), positions
