"""Validation embeddings over time: what is computed of each stored frame, once."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

import lab.metrics
import lab.search
from lab.core.results import EmbeddingSet, Evidence
from lab.runs import Run
from lab.runs.folder import tensors

WORDS = {
    "DG": "gap",
    "DG bound (eq. 8)": "bound (eq. 8)",
    "DG bound (eq. 9)": "bound (eq. 9)",
    "DG premise": "share of queries to which the bounds apply",
}
"""Columns of the metric in the words of the page."""
LARGEST = 5_000
"""Images of a frame that the gap is measured on: larger validation sets give a seeded sample."""


def embeddings(path: Path) -> EmbeddingSet:
    """The validation embeddings that one frame holds.

    Raises:
        ValueError: the file is damaged.
    """
    arrays = tensors(path)
    return EmbeddingSet(arrays["vectors"], arrays["labels"], arrays["items"])


def gaps(run: Run) -> dict[str, tuple[list[int], list[float]]]:
    """What is measured of the decomposability gap, in words, to steps and values, over the stored frames."""
    curves: dict[str, tuple[list[int], list[float]]] = {}
    for step, path in run.frames().items():
        for name, value in _gap(str(path), path.stat().st_mtime, run.config.similarity).items():
            steps, values = curves.setdefault(WORDS.get(name, name), ([], []))
            steps.append(step)
            values.append(value)
    return curves


@st.cache_data(max_entries=2_000, show_spinner=False)
def _gap(path: str, changed: float, similarity: str) -> dict[str, float]:
    import numpy as np

    embedded = embeddings(Path(path))
    if len(embedded) > LARGEST:
        kept = np.sort(np.random.default_rng(0).choice(len(embedded), LARGEST, replace=False))
        embedded = EmbeddingSet(embedded.vectors[kept], embedded.labels[kept], embedded.items[kept])
    index = lab.search.create("exact", device="cpu", k=1, similarity=similarity).build(embedded)
    evidence = Evidence(index.rank(embedded, same_source=True), embedded, embedded, similarity=similarity)
    return lab.metrics.create("decomposability_gap")(evidence).values
