"""Runs as the figures see them, made of numbers that a test can check by hand."""

import numpy as np
import pytest

from lab.core.results import EmbeddingSet


class FakeRun:
    """The members of `lab.runs.Run` that the figures read."""

    def __init__(self, name: str, lam: float, score: float, seed: int, loss: str = "roadmap"):
        self.name, self.splits, self.failure, self.status, self.batches = (
            name,
            (),
            None,
            {"state": "finished"},
            dict,
        )
        self.config_dict = {
            "loss": {"name": loss, "lam": lam},
            "optimiser": {"lr": 0.1},
            "sampler": {"batch_size": 8},
        }
        self.score = score
        random = np.random.default_rng(seed)
        labels = np.arange(24) // 4
        vectors = np.eye(6)[labels] + (1 - score) * random.normal(size=(24, 6))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        self._embeddings = EmbeddingSet(vectors.astype(np.float32), labels, np.arange(100, 124))
        self._per_query = {"mAP": np.clip(score + 0.1 * random.normal(size=24), 0, 1)}

    def metrics(self, kind=None):
        records = [
            {
                "kind": "stepped",
                "step": s,
                "loss": 1 / s,
                "seconds": 0.5 * s,
                "memory_bytes": 2_000_000_000,
            }
            for s in range(1, 31)
        ]
        records += [
            {"kind": "validated", "step": s, "values": {"r@1": self.score * s / 30}}
            for s in (10, 20, 30)
        ]
        seen = {"moved": self.score / 30, "out_of_reach": 0.1, "mean_cosine": self.score}
        records += [
            {"kind": "checkup", "step": s, "about": "batch", "values": seen} for s in (1, 4, 16)
        ]
        return [r for r in records if kind is None or r["kind"] == kind]

    def scores(self, split="test"):
        return {"values": {"r@1": self.score, "MAP@R": self.score / 2}} if split == "test" else None

    def per_query(self, split="test"):
        return self._per_query

    def embeddings(self, split="test", part="query"):
        return self._embeddings if part == "query" else None

    def dataset(self):
        raise ValueError("The images of this run are not where they were.")


@pytest.fixture(scope="module")
def runs():
    return [
        FakeRun("one", 0.1, 0.6, 0), FakeRun("two", 0.5, 0.8, 1), FakeRun("three", 0.5, 0.7, 2),
        FakeRun("four", 0.1, 0.5, 3, loss="sup_ap"),
    ]  # fmt: skip
