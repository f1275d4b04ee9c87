"""Export to a faiss index of the searched images, and the names of its rows."""

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
"""An absolute path, with its last part as a group."""


class Faiss(Exporter):
    """Write a folder with `index.faiss` and `keys.json`: key, label and class of each row, and the encoder's name.

    The index holds a split's gallery, or its queries if they are searched among each other. It compares like the run:
    by inner product of unit vectors, or by distance if lengths are meaningful. `lab query RUN photo.jpg --index FOLDER`
    searches it with pictures, and `lab.search.FaissFile` with vectors.

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
        faiss = faiss_library()
        split = self.knobs.split
        has_gallery = run.embeddings(split, "gallery") is not None
        rows = rows_of(run, (split,), ("gallery" if has_gallery else "query",))
        if run.config_of(split).similarity == "cosine":
            metric = faiss.METRIC_INNER_PRODUCT
            metric_name = "inner product"
        else:
            metric = faiss.METRIC_L2
            metric_name = "L2"
        factory = {"flat": "Flat", "hnsw": "HNSW32"}[self.knobs.kind]
        index = faiss.index_factory(rows.vectors.shape[1], factory, metric)
        index.add(rows.vectors)
        faiss.write_index(index, str(path / "index.faiss"))

        encoder = None
        fingerprint = recorded(run, split)
        if fingerprint:  # of paths on this machine only the last part is written
            encoder = {
                "words": ABSOLUTE.sub(r"\1", fingerprint.words),
                "weights": fingerprint.weights,
            }
        names = {"keys": rows.keys, "labels": rows.labels.tolist(), "classes": rows.classes}
        write_json(
            path / "keys.json", {**rows.about, "metric": metric_name, "made_by": encoder, **names}
        )
