"""A baseline that was measured before counts again only for the same weights on the same images."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from PIL import Image

import lab
from lab.adaptation import baseline_of

TRAINING = {"device": "cpu", "steps": 2, "keep_frames": 0}
CLASSES, EACH = 12, 4


def picture(kind: int, number: int) -> Image.Image:
    random = np.random.default_rng([kind, number])
    return Image.fromarray(
        random.integers(0, 255, (16, 16, 3)).astype(np.uint8) // 2 + np.uint8(10 * (kind % 12))
    )


@pytest.fixture
def photos(tmp_path) -> Path:
    root = tmp_path / "photos"
    for kind in range(CLASSES):
        (root / f"c{kind:02d}").mkdir(parents=True)
        for number in range(EACH):
            picture(kind, number).save(root / f"c{kind:02d}" / f"{number + 1}.png")
    return root


def adapted(photos: Path, **choices):
    sections = {
        "encoder": "small_cnn",
        "dim": 4,
        "runs": photos.parent / "runs",
        "training": TRAINING,
    }
    return lab.adapt(photos, **{**sections, **choices})


def add(root: Path) -> None:
    for kind in range(CLASSES):
        picture(kind, 50).save(root / f"c{kind:02d}" / "0.png")


def remove(root: Path) -> None:
    for kind in range(CLASSES):
        (root / f"c{kind:02d}" / "1.png").unlink()


def rename(root: Path) -> None:
    (root / "c11" / "2.png").rename(root / "c11" / "9.png")


def replace(root: Path) -> None:
    """Other pictures under the old names, with the old times and sizes."""
    for file in sorted(root.glob("*/3.png")):
        before, size = os.stat(file), file.stat().st_size
        picture(90, int(file.parent.name[1:])).save(file)
        with open(file, "ab") as end:
            end.write(b"\0" * max(0, size - file.stat().st_size))
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def move(root: Path) -> None:
    (root / "c11" / "3.png").rename(root / "c10" / "x.png")


def test_a_folder_that_changed_is_measured_anew(photos):
    before = adapted(photos)
    assert adapted(photos, loss="smooth_ap").baseline.name == before.baseline.name, (
        "nothing changed"
    )
    for change in (add, remove, rename, replace, move):
        change(photos)
        after = adapted(photos, loss="smooth_ap")
        assert after.baseline.name != before.baseline.name, change.__name__
        queries = len(after.run.embeddings())
        assert after.comparison.difference.queries == queries == len(after.baseline.embeddings())
        assert lab.runs.join([after.baseline, after.run]).same_numbers
        assert "not joined" not in after.comparison.sentence
        assert baseline_of(after.run, [before.baseline, after.baseline]).name == after.baseline.name
        assert (
            baseline_of(before.run, [after.baseline, before.baseline]).name == before.baseline.name
        )
        before = after


def test_another_network_in_the_same_file_is_measured_anew(photos, tmp_path):
    """What a fresh folder of runs says is what is said here."""
    weights = tmp_path / "weights.pth"
    network = {"encoder": "test_efficientnet", "weights": str(weights)}

    def write(seed: int) -> None:
        torch.manual_seed(seed)
        torch.save(timm.create_model("test_efficientnet", pretrained=False).state_dict(), weights)

    write(0)
    first = adapted(photos, **network)
    assert adapted(photos, **network).baseline.name == first.baseline.name
    write(1)
    second = adapted(photos, **network, loss="smooth_ap")
    fresh = adapted(photos, **network, loss="smooth_ap", runs=tmp_path / "fresh")
    assert second.baseline.name != first.baseline.name
    assert second.comparison.before == fresh.comparison.before != first.comparison.before
    assert second.comparison.sentence == fresh.comparison.sentence


def test_other_vectors_under_the_name_of_a_run_are_measured_anew(tmp_path):
    random = np.random.default_rng(0)
    labels = [f"kind {row // 4}" for row in range(48)]

    def brought(scale: float) -> None:
        shutil.rmtree(tmp_path / "mine", ignore_errors=True)
        centres = scale * random.normal(size=(12, 8)).repeat(4, 0)
        vectors = (centres + random.normal(size=(48, 8))).astype(np.float32)
        lab.runs.from_embeddings(vectors, labels, normalise=True, name="mine", runs=tmp_path)

    def both():
        return lab.adapt("mine", dim=4, runs=tmp_path, training=TRAINING)

    brought(0.1)
    first = both()
    assert both().baseline.name == first.baseline.name
    brought(3)
    second = both()
    assert (
        second.baseline.name != first.baseline.name
        and second.comparison.before > first.comparison.before + 0.3
    )
