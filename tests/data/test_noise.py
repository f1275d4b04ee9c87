"""Training sets made worse on purpose: what changes, what must not, and that a seed decides."""

import numpy as np
import pytest
from PIL import Image

import lab.data
import lab.runs
from lab.data._noise import kept_classes, long_tail, relabelled, replaced
from lab.data.images import transforms
from lab.data.images.loading import Loader

LABELS = np.repeat(np.arange(10), 20)
ITEMS = np.arange(0, 200)


@pytest.fixture
def foreign(tmp_path):
    """A folder of three plain red images."""
    folder = tmp_path / "foreign" / "deep"
    folder.mkdir(parents=True)
    for at in range(3):
        Image.new("RGB", (20, 12), "red").save(folder / f"{at}.png")
    return folder.parent


def test_wrong_labels_are_drawn_from_all_training_classes_and_more_keep_those_of_fewer():
    items = ITEMS[LABELS < 6]
    fewer, more = (relabelled(LABELS, items, share, seed=5) for share in (0.1, 0.5))
    assert (fewer[LABELS >= 6] == LABELS[LABELS >= 6]).all()
    changed = np.flatnonzero(more != LABELS)
    assert 0.5 * len(items) * 5 / 6 * 0.7 < len(changed) <= 0.5 * len(items)
    assert set(more[changed]) == set(range(6))
    wrong = np.flatnonzero(fewer != LABELS)
    assert set(wrong) <= set(changed) and (more[wrong] == fewer[wrong]).all()
    assert (relabelled(LABELS, items, 0.5, seed=5) == more).all()
    assert (relabelled(LABELS, items, 0.5, seed=6) != more).any()


def test_first_or_drawn_classes_are_kept():
    classes = np.array([3, 5, 8, 9])
    assert kept_classes(classes, 0.5, "first", 0).tolist() == [3, 5]
    assert kept_classes(classes, 0.01, "first", 0).tolist() == [3, 5]
    assert len({tuple(kept_classes(classes, 0.5, "drawn", seed)) for seed in range(9)}) > 3


def test_a_long_tail_falls_by_one_factor():
    counts = np.sort(np.bincount(LABELS[long_tail(LABELS, ITEMS, 10, seed=1)]))[::-1]
    assert counts.tolist() == [round(20 * 10 ** (-at / 9)) for at in range(10)]
    assert np.bincount(LABELS[long_tail(LABELS, ITEMS, 1000, seed=1)]).min() == 1
    longer, shorter = (set(long_tail(LABELS, ITEMS, times, seed=1)) for times in (2, 20))
    assert shorter < longer


def test_foreign_files_stand_for_as_many_images_before_any_comes_twice(foreign):
    (foreign / "notes.txt").write_text("none")
    found, problems = replaced(ITEMS, str(foreign), 0.05, seed=0)
    assert len(problems) == 1 and "1 file that is no image is left out" in problems[0]
    assert len(found) == 10 and len(set(list(found.values())[:3])) == 3
    assert set(replaced(ITEMS, str(foreign), 0.02, seed=0)[0].items()) < set(found.items())
    with pytest.raises(ValueError, match=r"image_noise needs a folder .* data\.noise_folder"):
        replaced(ITEMS, None, 0.1, 0)
    with pytest.raises(ValueError, match="no image in .*empty"):
        replaced(ITEMS, str(foreign / "empty"), 0.1, 0)


def test_only_what_trains_is_spoilt(foreign):
    clean = lab.data.create("emoji7")
    noisy = lab.data.create(
        "emoji7",
        label_noise=0.2,
        image_noise=0.1,
        noise_folder=str(foreign),
        keep_classes=0.5,
        imbalance=5,
    )
    for split in ("validation", "test"):
        assert noisy.splits[split].items.tolist() == clean.splits[split].items.tolist()
    items = noisy.splits["train"].items
    assert set(items) < set(clean.splits["train"].items)
    own = np.unique(clean.labels[clean.splits["train"].items])
    assert np.unique(noisy.labels[items]).tolist() == own[: round(0.5 * len(own))].tolist()
    assert (noisy.labels == clean.labels).all() and not noisy.foreign
    trained = noisy.as_trained
    assert 0.1 < (trained.labels != noisy.labels)[items].mean() < 0.2
    assert len(trained.foreign) == round(0.1 * len(items))
    assert clean.as_trained is clean


def test_a_foreign_image_is_what_the_encoder_gets(foreign):
    trained = lab.data.create("emoji7", image_noise=0.1, noise_folder=str(foreign)).as_trained
    spoilt = next(iter(trained.foreign))
    (batch,) = Loader(trained, transforms.testing(16)).batches([np.array([spoilt])])
    red = (batch.images[0] + 1) / 2
    assert red[0].min() > 0.98 and red[1:].max() < 0.02
