"""Train the small example runs that figures of runs show when none are given, and keep what the figures read.

    python scripts/bundle_examples.py cross_entropy class_anchor_margin
    python scripts/bundle_examples.py            # all of them: some ten minutes of one core

Each becomes one file in lab/figures/examples: configuration, every step's loss, time and memory, the validations, the
test scores, and the embeddings and scores of the images of a few test classes. The runs with a memory keep no images:
only their costs are shown, which are times of a clock, so leave the machine alone meanwhile; nor do those of verdicts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml

import lab.data
import lab.metrics
import lab.runs
from lab.core.results import EmbeddingSet
from lab.core.streams import result_of
from lab.evaluation.scores import evaluate
from lab.figures._bundled import EXAMINED, EXAMPLES, MEMORIES
from scripts.studies.verdict_trials import BASE, SETS

CLASSES = 40

CHANGES: dict[str, dict[str, Any]] = {
    "contrastive": {},
    "recall_at_k": {},
    "cross_entropy": {},
    "class_anchor_margin": {},
    **{
        name: {
            "sampler": {"name": "m_per_class", "batch_size": 64, "per_class": 4},
            "training": {"steps": 400, "validate_every": 400},
            "wrappers": [{"name": "cross_batch_memory", "size": int(name.split("_")[1])}]
            * name.startswith("memory"),
        }
        for name in MEMORIES
    },
}
"""What differs from the preset of that name, or from the contrastive one."""
BROKEN = dict(
    zip(EXAMINED, (("loss.tau", 0.02), ("loss.tau", 1e-4), ("optimiser.lr", 0.3)), strict=True)
)
"""What breaks a training of `scripts.studies.verdict_trials`; the first stays whole."""


def config_of(name: str) -> lab.runs.RunConfig:
    """How an example is trained."""
    if name in BROKEN:
        return lab.runs.RunConfig.of({**BASE, "data": SETS["emoji7"]}).changed(*BROKEN[name])
    preset = "contrastive" if name in MEMORIES else name
    sections = yaml.safe_load(lab.runs.presets()[f"emoji7_{preset}"].read_text(encoding="utf-8"))
    return lab.runs.RunConfig.of({**sections, **CHANGES[name]})


def bundle(run: lab.runs.Run, images: bool = True) -> dict[str, np.ndarray]:
    """The arrays of one example; images: with the embeddings of a few classes."""
    stepped = run.metrics("stepped")
    told = {
        "config": run.config_dict,
        "scores": run.scores("test"),
        "validated": [{"step": r["step"], "values": r["values"]} for r in run.metrics("validated")],
        "checkups": run.metrics("checkup") if run.name in EXAMINED else [],
    }
    arrays = {
        key: np.array([r[key] for r in stepped], dtype=np.float32)
        for key in ("loss", "seconds", "memory_bytes")
    }
    return (
        arrays
        | {"told": np.array(json.dumps(told))}
        | (_lists(run.embeddings("test")) if images else {})
    )


def _lists(found: EmbeddingSet) -> dict[str, np.ndarray]:
    """What lists of images need, of a few test classes."""
    chosen = np.unique(found.labels)[:: max(1, len(np.unique(found.labels)) // CLASSES)][:CLASSES]
    rows = np.flatnonzero(np.isin(found.labels, chosen))
    return {
        "vectors": found.vectors[rows].astype(np.float16),
        "labels": found.labels[rows].astype(np.int16),
        "items": found.items[rows].astype(np.int32),
        **{f"query {c}": v[rows].astype(np.float32) for c, v in _per_query(found).items()},
    }


def _per_query(found: EmbeddingSet) -> dict[str, np.ndarray]:
    """Scores of every query among all test images."""
    names = ("mean_average_precision", "map_at_r", "hit_rate_at_k")
    return dict(
        result_of(
            evaluate(found, None, {name: lab.metrics.create(name) for name in names})
        ).per_query
    )


def main() -> None:
    torch.set_num_threads(1)
    names = sys.argv[1:] or [*CHANGES, *EXAMINED]
    # each in a process of its own: what one leaves in memory would be counted for the next
    if len(names) > 1:
        for name in names:
            subprocess.run([sys.executable, __file__, name], check=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        run = lab.runs.create(config_of(names[0]), Path(folder), names[0])
        for _ in lab.runs.execute(run):
            pass
        np.savez_compressed(
            EXAMPLES / f"{names[0]}.npz", **bundle(run, names[0] not in (*MEMORIES, *EXAMINED))
        )
        print(names[0], run.scores("test"))


if __name__ == "__main__":
    main()
