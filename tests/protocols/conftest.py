"""Runs of one step on sets in miniature, and embeddings that a test chooses itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import lab.runs
import lab.runs.evaluate
from lab.core.records import Embedding
from lab.core.results import EmbeddingSet
from lab.runs import RunConfig
from lab.runs.folder import Run

SMALL = {
    "augmentation": {"size": 16},
    "encoder": {"name": "small_cnn", "width": 4, "dim": 3},
    "sampler": {"name": "m_per_class", "batch_size": 4, "per_class": 2, "short_classes": "repeat"},
    "loss": {"name": "contrastive"},
    "training": {"steps": 1, "device": "cpu", "keep_batches": 0, "keep_frames": 0},
    "evaluation": {"splits": ["test"]},
}


def config(data: dict, **sections) -> RunConfig:
    """A configuration that trains in a moment; sections are added to those of `SMALL`."""
    given = {name: {**SMALL.get(name, {}), **value} for name, value in sections.items()}
    return RunConfig.of({**SMALL, **given, "data": data})


def finish(generator):
    """Everything a generator of records does; returns its result and its records."""
    records = []
    while True:
        try:
            records.append(next(generator))
        except StopIteration as end:
            return end.value, records


@pytest.fixture
def trained(tmp_path):
    """A function that trains a run for one step on a data set."""

    def train(
        name: str, root: Path, run: str = "run", knobs: dict | None = None, **sections
    ) -> Run:
        made = lab.runs.create(
            config({"name": name, "root": str(root), **(knobs or {})}, **sections), tmp_path, run
        )
        finish(lab.runs.execute(made))
        assert made.state == "finished"
        return made

    return train


@pytest.fixture
def place(monkeypatch):
    """A function that puts images on the unit circle: `place({key: degrees})`; protocols then embed them there."""

    def at(degrees: dict[str, float]) -> None:
        def embed(encoder, loader, items, *, what="images", **_):
            dataset = loader.image_set
            angles = np.deg2rad([degrees[dataset.keys[i]] for i in items])
            yield Embedding(what, len(items), len(items))
            vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
            return EmbeddingSet(vectors, dataset.labels[items], np.asarray(items))

        monkeypatch.setattr(lab.runs.evaluate, "embed", embed)

    return at


@pytest.fixture(scope="session")
def squares(tmp_path_factory) -> Path:
    """16 classes of 4 images of 20 x 20 pixels in class folders; a class is a colour and the place of a square."""
    root = tmp_path_factory.mktemp("squares")
    random = np.random.default_rng(0)
    for c in range(16):
        colour = random.integers(60, 255, 3)
        for i in range(4):
            pixels = random.integers(0, 60, (20, 20, 3)).astype(np.uint8)
            y, x = 2 + c % 4 * 3, 2 + c // 4 * 3
            pixels[y : y + 7, x : x + 7] = colour
            (root / f"class{c:02d}").mkdir(exist_ok=True)
            Image.fromarray(pixels).save(root / f"class{c:02d}" / f"{i}.png")
    return root
