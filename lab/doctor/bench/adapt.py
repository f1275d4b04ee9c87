"""A linear head on vectors that were made elsewhere, whole: from the plan to both runs measured and compared."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator

import numpy as np

from lab.adaptation import adapt
from lab.doctor.bench._measure import BenchRow
from lab.integrations.importing.run import from_embeddings


def measure(rows: int = 10_000, width: int = 512, classes: int = 1_000) -> Iterator[BenchRow]:
    """Seconds, and what the head gained: half of the numbers of these vectors are noise."""
    random = np.random.default_rng(0)
    labels = np.arange(rows) % classes
    vectors = random.normal(size=(rows, width)).astype(np.float32)
    half = width // 2
    vectors[:, :half] += 0.5 * random.normal(size=(classes, half))[labels]
    setting = f"{rows:,} vectors of {width} numbers, recall_at_k"
    with tempfile.TemporaryDirectory() as root:
        names = [f"class {label}" for label in labels]
        source = from_embeddings(
            vectors, names, normalise=True, measure=False, name="vectors", runs=root
        )
        begin = time.perf_counter()
        made = adapt(source, runs=root, training={"device": "cpu"})
        yield BenchRow(
            "adapt",
            "linear head, whole",
            setting,
            time.perf_counter() - begin,
            "s",
            "goal at 10,000: 15 s",
        )
    found = made.comparison
    against = (
        f"95 % interval over classes {found.difference.low:+.3f} to {found.difference.high:+.3f}"
    )
    yield BenchRow(
        "adapt", f"{found.column}, difference", setting, found.difference.mean, "share", against
    )
