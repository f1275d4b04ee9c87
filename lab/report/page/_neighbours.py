"""The nearest images of some queries, as the run compares them."""

from __future__ import annotations

import numpy as np

import lab.search
from lab.runs.folder import Run


def nearest(run: Run, split: str, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Gallery items int64 [r k] (-1: none) and their labels, for the queries at `rows`, themselves left out."""
    query, gallery = run.embeddings(split), run.embeddings(split, "gallery")
    searched = query if gallery is None else gallery
    index = lab.search.create("exact", device="cpu", similarity=run.config_of(split).similarity).build(searched)
    _, places = index.neighbours(query.vectors[rows], k=min(k + (gallery is None), len(searched)))
    items, labels = np.full((len(rows), k), -1), np.full((len(rows), k), -1)
    for at, (row, neighbours) in enumerate(zip(rows, places, strict=True)):
        others = [place for place in neighbours if place >= 0 and (gallery is not None or place != row)][:k]
        items[at, : len(others)], labels[at, : len(others)] = searched.items[others], searched.labels[others]
    return items, labels


def first_is_right(run: Run, split: str, rows: np.ndarray) -> np.ndarray:
    """Whether the nearest image of each query at `rows` is of its class: bool [r]."""
    return nearest(run, split, rows, 1)[1][:, 0] == run.embeddings(split).labels[rows]
