"""A faiss index of what is searched, and the names of its rows."""

import re
from pathlib import Path
from typing import Literal

from lab.core.explain import faiss_library
from lab.core.files import write_json
from lab.core.knobs import knob
from lab.exporters._base import Exporter
from lab.exporters._rows import rows_of
from lab.runs.building.fingerprints import recorded
from lab.runs.folder import Run

ABSOLUTE = re.compile(r"(?<![^\s'\"=:(])(?:[A-Za-z]:)?[/\\](?:[^\s,]*[/\\])?([^\s,/\\]+)")
"""A path from the root of a file system, and its last part."""


class Faiss(Exporter):
    """A folder with `index.faiss` and `keys.json`: the key, label and class of each row, and which encoder made them.

    The index holds a split's gallery, or its queries where these are searched among each other, and compares as the
    run does: by inner product of unit vectors, or by distance where lengths mean something. `lab query RUN photo.jpg
    --index FOLDER` searches it with pictures, and `lab.search.FaissFile` with vectors.

    Example (`run` is that of `lab.exporters`):
        >>> import faiss
        >>> path = lab.exporters.create("faiss").export(run, root / "run-faiss")
        >>> index = faiss.read_index(str(path / "index.faiss"))
        >>> index.search(run.embeddings("test").vectors[:2], 1)[1].tolist()  # each finds itself
        [[0], [1]]
    """

    split: str = knob("Embedded split whose images are searched.", default="test")
    kind: Literal["flat", "hnsw"] = knob(
        "Exact (flat), or a graph (hnsw) that is quicker and may miss neighbours.", default="flat"
    )

    def write(self, run: Run, path: Path) -> None:
        faiss, split = faiss_library(), self.knobs.split
        gallery = run.embeddings(split, "gallery") is not None
        rows = rows_of(run, (split,), ("gallery" if gallery else "query",))
        cosine = run.config_of(split).similarity == "cosine"
        metric = faiss.METRIC_INNER_PRODUCT if cosine else faiss.METRIC_L2
        index = faiss.index_factory(rows.vectors.shape[1], {"flat": "Flat", "hnsw": "HNSW32"}[self.knobs.kind], metric)
        index.add(rows.vectors)
        faiss.write_index(index, str(path / "index.faiss"))
        names = {"keys": rows.keys, "labels": rows.labels.tolist(), "classes": rows.classes}
        made = recorded(run, split)  # of files and folders of this machine the name alone
        maker = made and {"words": ABSOLUTE.sub(r"\1", made.words), "weights": made.weights}
        about = {**rows.about, "metric": "inner product" if cosine else "L2", "made_by": maker}
        write_json(path / "keys.json", {**about, **names})
