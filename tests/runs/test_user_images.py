"""Settings chosen for somebody's own images: they train, whatever the number of classes and images."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import lab.data
import lab.runs
from lab.core.formats import GB
from lab.runs.building.user_images import Machine, Survey, fitted, survey

LAPTOP, GPU = Machine("cpu", 8 * GB, 4), Machine("cuda:0", 24 * GB, 8)
FOLDERS = {
    "2 classes of 3": dict.fromkeys("ab", 3),
    "2 classes of 1": dict.fromkeys("ab", 1),
    "7 classes": {f"{at}": 5 + at for at in range(7)},
    "8 classes": {f"{at}": 4 for at in range(8)},
    "42 classes, one short": {f"{at}": 40 if at else 3 for at in range(42)},
    "10,000 classes": {f"{at}": 1 + at % 9 for at in range(10_000)},
}


@pytest.mark.parametrize(
    "machine", [LAPTOP, GPU, Machine("cpu", GB // 4, 1)], ids=["laptop", "gpu", "tiny"]
)
@pytest.mark.parametrize("images", FOLDERS.values(), ids=FOLDERS)
def test_what_is_chosen_makes_batches(images, machine):
    config = fitted(Survey("photos", images, side=500), machine).config
    sampler, data = config.sampler.knobs, config.data.knobs
    labels = np.repeat(np.arange(len(images)), list(images.values()))
    kept = len(images) - round(data.test * len(images))
    train = kept - round(data.validation * kept)
    for seed in range(3):  # whichever classes the split takes
        mine = np.random.default_rng(seed).permutation(len(images))[:train]
        bound = config.sampler.create().bind(labels[np.isin(labels, mine)], seed=seed)
        batch = bound.batch(0)
        assert len(batch) == sampler.batch_size >= 4
        assert len(np.unique(bound.labels[batch])) == sampler.batch_size // sampler.per_class >= 2
    assert sampler.batch_size <= (64 if machine.device == "cpu" else 256)
    assert (
        config.training.knobs.chunk is None or 4 <= config.training.knobs.chunk < sampler.batch_size
    )
    assert bool(data.test) == (len(images) >= 8)


def test_the_line_says_what_was_chosen():
    few = fitted(Survey("photos", FOLDERS["2 classes of 3"], side=70), LAPTOP)
    assert "2 training classes" in few.sentence and "64 pixels" in few.sentence
    assert (
        "batches of 6 (3 images of each of 2 classes)" in few.sentence
        and "the model has seen" in few.sentence
    )
    many = fitted(Survey("photos", FOLDERS["10,000 classes"]), GPU)
    assert (
        "4,000 training classes" in many.sentence and "50% of the classes are kept" in many.sentence
    )
    assert "the GPU cuda:0 (24 GB free)" in many.sentence


def test_a_single_class_is_a_sentence():
    with pytest.raises(
        ValueError, match="photos has 1 class to train on, and ranking needs at least two"
    ):
        fitted(Survey("photos", {"cats": 90}), LAPTOP)
    with pytest.raises(ValueError, match="0 classes to train on"):
        fitted(Survey("photos", {"cats": 90, "dogs": 9}, trained={}), LAPTOP)


@pytest.fixture
def pets(tmp_path):
    random = np.random.default_rng(0)
    for kind in ("cats", "dogs"):
        for copy in range(3):
            file = tmp_path / "pets" / kind / f"{copy}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(random.integers(0, 256, (70, 90, 3), dtype=np.uint8)).save(file)
    (tmp_path / "pets" / "cats" / "note.txt").write_text("no image")
    (tmp_path / "pets" / "empty").mkdir()
    return tmp_path / "pets"


def test_a_folder_is_surveyed(pets):
    found = survey(str(pets))
    assert found.images == {"cats": 3, "dogs": 3} and found.trained is None and found.side == 70
    assert set(found.sample) == {"cats", "dogs"} and len(found.problems) == 2
    (pets / "cats").rename(pets / "train_cats")
    for split in ("train", "test"):
        (pets / split).mkdir()
    (pets / "train_cats").rename(pets / "train" / "cats")
    (pets / "dogs").rename(pets / "test" / "dogs")
    (pets / "empty").rmdir()
    assert survey(str(pets)).trained == {"cats": 3}
    with pytest.raises(ValueError, match="There is no folder"):
        survey(str(pets / "nowhere"))


def test_six_photos_train_to_the_end(pets, tmp_path):
    config = fitted(survey(str(pets)), LAPTOP).config
    quick = config.changed("training.steps", 2).changed("training.workers", 0)
    run = lab.runs.create(quick, tmp_path / "runs", "mine")
    list(lab.runs.execute(run))
    assert run.state == "finished" and run.splits == ("train",), "what was trained can be browsed"
