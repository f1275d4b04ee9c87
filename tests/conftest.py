"""Fixtures that more than one folder of tests needs."""

from __future__ import annotations

from pathlib import Path

import pytest

TINY = {
    "data": {"name": "emoji7", "test": 0.04, "validation": 0.04},
    "augmentation": {"size": 32},
    "sampler": {"name": "m_per_class", "batch_size": 32},
    "training": {"steps": 10, "validate_every": 5, "checkpoint_every": 5, "device": "cpu"},
    "evaluation": {"batch_size": 64},
}
"""A real run that trains in a second: forty classes each for validation and test, ten steps."""


@pytest.fixture(scope="session")
def train_tiny():
    """A function that trains a tiny run to its end: `train_tiny(root, name, **sections)`."""
    import lab.runs

    def train(root: Path, name: str, **sections) -> lab.runs.Run:
        given = {
            key: {**TINY.get(key, {}), **value} if isinstance(value, dict) else value for key, value in sections.items()
        }
        run = lab.runs.create(lab.runs.RunConfig.of({**TINY, **given}), root, name)
        for _ in lab.runs.execute(run):
            pass
        assert run.state == "finished"
        return run

    return train
