"""Small images and folders of them, written where a test asks."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image


def write_image(path: Path, colour=(200, 30, 30), size=(20, 16), **options) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path, **options)
    return path


@pytest.fixture
def image_file():
    return write_image


@pytest.fixture
def folders(tmp_path) -> Path:
    """Four classes of three images each."""
    for number, name in enumerate(("ant", "bee", "cat", "dog")):
        for i in range(3):
            write_image(tmp_path / name / f"{i}.png", (60 * number, 10 * i, 0))
    return tmp_path


@pytest.fixture
def random():
    return np.random.default_rng(0)
