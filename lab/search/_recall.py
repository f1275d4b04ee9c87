"""How much an approximate search finds of what the exact one does."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import numpy as np

from lab.core import stored
from lab.core.catalog import name_of
from lab.core.files import write_json
from lab.core.results import EmbeddingSet
from lab.core.stored import Number, Text
from lab.search._base import Index
from lab.search._items import digest, digest_of
from lab.search.streamed import Streamed


def recall(
    index: Index,
    gallery: EmbeddingSet,
    k: int = 10,
    queries: int = 50,
    seed: int = 0,
    kept: Path | None = None,
) -> float:
    """Share of the k nearest items, by exact search, that the index finds; mean over some rows of the gallery.

    The gallery is read once, whatever its size. From 0 to 1. Each row finds itself, which is not counted.

    Args:
        kept: a file where the answer is looked for first and written down, so that the gallery is read no more.

    Example (`gallery` is that of `lab.search`):
        >>> recall(lab.search.create("exact").build(gallery), gallery, k=2)
        1.0
    """
    if kept is not None:
        return _looked_up(index, gallery, k, queries, seed, kept)
    random = np.random.default_rng(seed)
    rows = np.sort(random.choice(len(gallery), min(queries, len(gallery)), replace=False))
    vectors = np.asarray(gallery.vectors[rows])
    k = min(k, len(gallery) - 1)
    if not k:
        return 1.0
    exact = Streamed(similarity=index.knobs.similarity).build(gallery).neighbours(vectors, k + 1)[1]
    neighbours = index.neighbours(vectors, k + 1)[1]
    nearest = [row[row != query][:k] for row, query in zip(exact, rows, strict=True)]
    return float(
        np.mean(
            [np.isin(one, other).mean() for one, other in zip(nearest, neighbours, strict=True)]
        )
    )


def _looked_up(
    index: Index, gallery: EmbeddingSet, k: int, queries: int, seed: int, kept: Path
) -> float:
    knobs = {name: value for name, value in dict(index.knobs).items() if name != "folder"}
    facts = [
        name_of(type(index)),
        knobs,
        digest_of(getattr(index, "anchors", None)),
        digest(gallery),
        k,
        queries,
        seed,
    ]
    key = json.dumps(facts, sort_keys=True)
    known = stored.find(kept, dict[Text, Number])
    if key not in known:
        known[key] = recall(index, gallery, k, queries, seed)
        # a folder that cannot be written: it is measured again the next time
        with suppress(OSError):
            write_json(kept, known)
    return known[key]
