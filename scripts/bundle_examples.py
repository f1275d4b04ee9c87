"""Make the two small example runs that figures of runs show when none are given.

    python scripts/bundle_examples.py runs/demo-contrastive runs/demo-recall_at_k

Each becomes one file in lab/figures/examples: configuration, every step's loss, time and memory, the validations, the
test scores, and the embeddings and scores of the images of a few test classes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import lab.metrics
import lab.runs
from lab.core.results import EmbeddingSet
from lab.evaluation.scores import evaluate

CLASSES = 40
FOLDER = Path(__file__).parents[1] / "lab" / "figures" / "examples"


def bundle(run: lab.runs.Run) -> dict[str, np.ndarray]:
    """The arrays of one example."""
    found: EmbeddingSet = run.embeddings("test")
    chosen = np.unique(found.labels)[:: max(1, len(np.unique(found.labels)) // CLASSES)][:CLASSES]
    rows = np.flatnonzero(np.isin(found.labels, chosen))
    stepped = run.metrics("stepped")
    told = {
        "config": run.config_dict,
        "scores": run.scores("test"),
        "validated": [{"step": r["step"], "values": r["values"]} for r in run.metrics("validated")],
    }
    return {
        "told": np.array(json.dumps(told)),
        **{key: np.array([r[key] for r in stepped], dtype=np.float32) for key in ("loss", "seconds", "memory_bytes")},
        "vectors": found.vectors[rows].astype(np.float16),
        "labels": found.labels[rows].astype(np.int16),
        "items": found.items[rows].astype(np.int32),
        **{f"query {c}": v[rows].astype(np.float32) for c, v in per_query(found).items()},
    }


def per_query(found: EmbeddingSet) -> dict[str, np.ndarray]:
    """Scores of every query among all test images."""
    names = ("mean_average_precision", "map_at_r", "hit_rate_at_k")
    search = evaluate(found, None, {name: lab.metrics.create(name) for name in names})
    while True:
        try:
            next(search)
        except StopIteration as end:
            return dict(end.value.per_query)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for folder in sys.argv[1:]:
        run = lab.runs.open(folder)
        np.savez_compressed(FOLDER / f"{run.name.removeprefix('demo-')}.npz", **bundle(run))


if __name__ == "__main__":
    main()
