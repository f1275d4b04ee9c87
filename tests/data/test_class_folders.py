import io

import numpy as np
import pytest
from PIL import Image

import lab
from lab.data import below
from lab.data.images.reading import ImageError, open_rgb


def create(root, **knobs):
    return lab.data.create("class_folders", root=str(root), **knobs)


def test_classes_are_folders_and_splits_share_no_class(folders):
    found = create(folders, test=0.5, validation=0.5)
    assert found.class_names == ["ant", "bee", "cat", "dog"]
    assert found.keys[0] == "ant/0.png" and len(found) == 12
    assert {name: len(split) for name, split in found.splits.items()} == {
        "train": 3,
        "validation": 3,
        "test": 6,
    }
    owners = [set(found.labels[split.items]) for split in found.splits.values()]
    assert sum(map(len, owners)) == len(set().union(*owners)) == 4
    assert found.load(4).size == (20, 16)
    assert found.problems == [] and found.name == "class_folders" and found.class_disjoint


def test_folders_called_train_and_test_are_the_splits(tmp_path, image_file):
    for key in (
        "train/a/1.png",
        "train/b/1.png",
        "train/c/1.png",
        "test/d/1.png",
        "test/e/deeper/1.JPG",
        "Val/f/1.png",
    ):
        image_file(tmp_path / key)
    found = create(tmp_path)
    assert {
        n: sorted(found.class_names[c] for c in found.labels[s.items])
        for n, s in found.splits.items()
    } == {
        "train": ["a", "b", "c"],
        "validation": ["f"],
        "test": ["d", "e"],
    }
    assert found.class_disjoint


def test_one_class_in_train_and_test_is_said(tmp_path, image_file):
    for key in ("train/a/1.png", "train/b/1.png", "test/a/2.png"):
        image_file(tmp_path / key)
    assert not create(tmp_path).class_disjoint


def test_broken_files_are_named_counted_and_left_out(folders):
    (folders / "ant" / "0.png").write_bytes(b"no image")
    (folders / "bee" / "notes.txt").write_text("hello")
    (folders / "bee" / ".DS_Store").write_text("a hidden file is counted")
    (folders / "empty").mkdir()
    for i in range(3):
        (folders / "dog" / f"{i}.png").write_bytes(b"")
    found = create(folders)
    assert len(found) == 8 and found.class_names == ["ant", "bee", "cat"]
    said = "\n".join(found.problems)
    assert len(found.problems) == 8
    for word in (
        "ant/0.png is not an image",
        "dog/2.png",
        "notes.txt",
        "'empty' has no readable image",
        "'dog' has no readable",
        "1 hidden file or folder is left out, for instance bee/.DS_Store.",
    ):
        assert word in said


def test_an_image_that_fails_only_when_decoded_is_left_out_of_its_batch(folders, random):
    from lab.data.images import loading, transforms

    file = io.BytesIO()
    Image.fromarray(random.integers(0, 255, (64, 64, 3), dtype=np.uint8)).save(file, "png")
    (folders / "cat" / "1.png").write_bytes(file.getvalue()[:2000])
    found = create(folders)
    assert len(found) == 12 and found.problems == []
    loader = loading.Loader(found, transforms.testing(16))
    batches = list(loader.split(np.arange(12), batch_size=4))
    kept = np.concatenate([batch.items.numpy() for batch in batches]).tolist()
    assert kept == [i for i in range(12) if i != found.keys.index("cat/1.png")]
    assert all((batch.labels.numpy() == found.labels[batch.items]).all() for batch in batches)
    assert len(loader.problems) == 1 and "cat/1.png is damaged" in loader.problems[0]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda root, image: None, "holds no images"),
        (lambda root, image: image(root / "loose.png"), "holds no images"),
        (lambda root, image: (root / "a").mkdir(), "holds no images"),
        (
            lambda root, image: image(root / "a" / "x.png").write_bytes(b"no"),
            r"holds no images in class folders.*x\.png is not an image",
        ),
    ],
)
def test_a_folder_without_usable_images_is_refused(tmp_path, image_file, make, sentence):
    make(tmp_path, image_file)
    with pytest.raises(ValueError, match=sentence):
        create(tmp_path)


def test_train_and_test_beside_other_folders_are_ambiguous(tmp_path, image_file):
    for key in ("train/a/1.png", "test/b/1.png", "extra/1.png"):
        image_file(tmp_path / key)
    with pytest.raises(ValueError, match="train and test folders and also 'extra'"):
        create(tmp_path)


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match="There is no folder"):
        create(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="needs root"):
        lab.data.create("class_folders")


def test_what_training_cannot_use_is_said_before_it_starts(folders, tmp_path, image_file):
    found = create(folders, test=0.25, validation=0)
    found.check_training(per_class=3)
    with pytest.raises(
        ValueError, match="3 of 3 classes in the train split .* fewer than 4 images"
    ):
        found.check_training(per_class=4)
    with pytest.raises(ValueError, match="single class"):
        create(folders, test=0.75, validation=0).check_training()
    with pytest.raises(ValueError, match="no images in its train split; it has no splits"):
        lab.data.Unlabelled([found.load(0)]).check_training()


def test_photos_of_phones_are_named_with_what_to_do(tmp_path):
    for at in range(2):
        photo = tmp_path / "cats" / f"{at}.HEIC"
        photo.parent.mkdir(exist_ok=True)
        photo.write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic")
    with pytest.raises(
        ValueError,
        match="no images in class folders.* 2 HEIC photos are left out, .*HEIC; HEIC photos.* to JPEG",
    ):
        lab.data.create("class_folders", root=str(tmp_path))
    with pytest.raises(ValueError, match=r"no image that can be read\. 2 HEIC photos .* to JPEG"):
        below(tmp_path)
    with pytest.raises(ImageError, match="HEIC photos cannot be read here: convert them to JPEG"):
        open_rgb(tmp_path / "cats" / "0.HEIC")
