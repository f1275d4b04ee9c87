"""Fixtures that more than one folder of tests needs."""

from __future__ import annotations

import atexit
import copy
import gc
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from PIL import Image

# A busy machine is slow at drawing examples, too, and that is no fault of the tests.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

TINY = {
    "data": {"name": "emoji7", "test": 0.04, "validation": 0.04},
    "augmentation": {"size": 32},
    "sampler": {"name": "m_per_class", "batch_size": 32},
    "training": {"steps": 10, "validate_every": 5, "checkpoint_every": 5, "device": "cpu"},
    "evaluation": {"batch_size": 64},
}
"""A real run that trains in a second: forty classes each for validation and test, ten steps."""

gc.disable()  # while tests are collected: half of that time would be looking for garbage where there is none
atexit.register(gc.unfreeze)  # some libraries complain of what nobody took down


def pytest_collection_finish() -> None:
    """Leave what is loaded out of each search for garbage: pages make one after every run, pytest five at its end."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _same_main():
    """Headless pages of Streamlit leave a script of theirs as `__main__`, which a process begun later would run."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.fixture(scope="session")
def train_tiny():
    """A function that trains a tiny run to its end: `train_tiny(root, name, **sections)`."""
    import lab.runs

    def train(root: Path, name: str, **sections) -> lab.runs.Run:
        given = {
            key: {**TINY.get(key, {}), **value} if isinstance(value, dict) else value
            for key, value in sections.items()
        }
        run = lab.runs.create(lab.runs.RunConfig.of({**TINY, **given}), root, name)
        for _ in lab.runs.execute(run):
            pass
        assert run.state == "finished"
        return run

    return train


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    """16 classes of 4 images of 20 x 20 pixels; a class is a colour and the place of a square."""
    root = tmp_path_factory.mktemp("pictures")
    random = np.random.default_rng(0)
    for c in range(16):
        folder = root / f"class{c:02d}"
        folder.mkdir()
        colour = random.integers(60, 255, 3)
        for i in range(4):
            pixels = random.integers(0, 60, (20, 20, 3)).astype(np.uint8)
            y, x = 2 + c % 4 * 3, 2 + c // 4 * 3
            pixels[y : y + 7, x : x + 7] = colour
            Image.fromarray(pixels).save(folder / f"{i}.png")
    return root


@pytest.fixture
def tiny(tiny_sections):
    """A copy that a test may change."""
    return copy.deepcopy(tiny_sections)


@pytest.fixture(scope="session")
def tiny_sections(pictures):
    """A configuration as YAML gives it: eight steps, checkpoints every two, validation every four."""
    return {
        "data": {"name": "class_folders", "root": str(pictures), "validation": 0.5, "test": 0.25},
        "augmentation": {"size": 16},
        "encoder": {"name": "small_cnn", "width": 4, "dim": 8},
        "sampler": {"name": "m_per_class", "batch_size": 8, "per_class": 2},
        "loss": {"name": "recall_at_k"},
        "training": {"steps": 8, "checkpoint_every": 2, "validate_every": 4},
    }
