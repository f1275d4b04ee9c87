"""Which weights a page's embeddings and scores are of, in the same words on every page."""

from __future__ import annotations

import lab.runs
from app.results import cache


def words(name: str, split: str) -> str:
    """Checkpoint and step of a split's embeddings: `best checkpoint, step 800 of 1,000`."""
    return lab.runs.open(cache.run_path(name)).origin(split).words
