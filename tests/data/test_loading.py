import numpy as np
import pytest
import torch

import lab
from lab.data.images import crops, loading, transforms


@pytest.fixture(scope="module")
def emoji():
    found = lab.data.create("emoji7")
    assert found.pixels is not None
    return found


def batches(image_set, items, first_step=0, workers=0, seed=0, transform=None):
    loader = loading.Loader(
        image_set, transform or transforms.training(16), seed=seed, workers=workers
    )
    return list(loader.batches(items, first_step))


def equal(one, other):
    return all(
        torch.equal(a.images, b.images) and torch.equal(a.items, b.items)
        for a, b in zip(one, other, strict=True)
    )


def test_a_batch_holds_what_was_asked_for(emoji):
    (batch,) = batches(emoji, [np.array([5, 17, 9])])
    assert (
        batch.images.shape == (3, 3, 16, 16)
        and batch.images.dtype == torch.float32
        and len(batch) == 3
    )
    assert (
        batch.items.tolist() == [5, 17, 9]
        and batch.labels.tolist() == emoji.labels[[5, 17, 9]].tolist()
    )


def test_a_resumed_run_sees_the_same_bits(emoji, random):
    items = [random.integers(0, len(emoji), 6) for _ in range(4)]
    whole = batches(emoji, items)
    assert equal(whole[2:], batches(emoji, items[2:], first_step=2))
    assert not equal(whole[2:], batches(emoji, items[2:], first_step=0))
    assert not equal(whole, batches(emoji, items, seed=1))


def test_workers_change_nothing(emoji, folders, random):
    for image_set in (emoji, lab.data.create("class_folders", root=str(folders))):
        items = [random.integers(0, len(image_set), 5) for _ in range(3)]
        torch.manual_seed(0)
        expected = batches(image_set, items)
        torch.manual_seed(1)
        assert equal(expected, batches(image_set, items, workers=2))


def test_loading_leaves_the_random_state_of_the_process_alone(emoji):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    batches(emoji, [np.arange(4)], workers=1)
    torch.testing.assert_close(torch.rand(2), expected)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_batch_of_nothing_but_broken_images_stops(folders, workers):
    image_set = lab.data.create("class_folders", root=str(folders))
    for path in folders.glob("*/*.png"):
        path.write_bytes(b"gone bad")
    with pytest.raises(ValueError, match="^No image of step 3 can be decoded; the first: .*ant"):
        batches(image_set, [np.arange(2)], first_step=3, workers=workers)


def test_an_image_that_vanished_is_named_once_also_by_workers(folders):
    image_set = lab.data.create("class_folders", root=str(folders))
    (folders / "bee" / "2.png").unlink()
    for workers in (0, 2):
        loader = loading.Loader(image_set, transforms.testing(16), workers=workers)
        kept = [len(batch) for batch in loader.batches([np.arange(12)] * 3)]
        assert (
            kept == [11, 11, 11]
            and len(loader.problems) == 1
            and "bee/2.png is missing" in loader.problems[0]
        )


@pytest.mark.parametrize("workers", [0, 2])
def test_a_broken_image_ends_no_streamed_batch(folders, workers):
    image_set = lab.data.create("class_folders", root=str(folders))
    items = np.arange(12)
    (whole,) = loading.Loader(image_set, transforms.training(16)).batches([items])
    broken = image_set.keys.index("bee/1.png")
    (folders / "bee" / "1.png").write_bytes(b"gone bad")
    loader = loading.Loader(image_set, transforms.training(16), workers=workers)
    (streamed,) = loader.streamed([items])
    first, second = (
        torch.cat(list(streamed.images.parts(streamed.images.split(3)))) for _ in range(2)
    )
    assert torch.equal(first, second) and len(first) == 12
    others = items != broken
    assert torch.equal(first[others], whole.images[others])
    assert torch.equal(first[broken], whole.images[image_set.keys.index("bee/0.png")])
    assert len(loader.problems) == 1 and "bee/1.png is not an image" in loader.problems[0]


def test_a_batch_of_emoji_is_cut_from_decoded_pixels_in_one_go(emoji, monkeypatch):
    """What makes it quick."""
    opened, cut, crop = [], [], crops.Crops.__call__
    monkeypatch.setattr(type(emoji), "load", lambda *given: opened.append(given))
    monkeypatch.setattr(
        crops.Crops, "__call__", lambda self, *given: cut.append(1) or crop(self, *given)
    )
    assert [len(found) for found in batches(emoji, [np.arange(256)] * 3)] == [256] * 3
    assert not opened and len(cut) == 3


@pytest.mark.parametrize("workers", [0, 2])
def test_a_streamed_batch_is_the_whole_batch_in_parts_and_the_same_twice(emoji, workers):
    items = np.arange(40, 51)
    (whole,) = batches(emoji, [items], first_step=3)
    loader = loading.Loader(emoji, transforms.training(16), workers=workers)
    (streamed,) = loader.streamed([items], first_step=3)
    assert streamed.items.tolist() == items.tolist() and torch.equal(streamed.labels, whole.labels)
    for _ in range(2):
        parts = list(streamed.images.parts(streamed.images.split(4)))
        assert [len(part) for part in parts] == [4, 4, 3] and torch.equal(
            torch.cat(parts), whole.images
        )
    assert torch.equal(streamed.images[:2], whole.images[:2])
    loader.share = (1, 2)
    (second,) = loader.streamed([items], first_step=3)
    assert torch.equal(
        torch.cat(list(second.images.parts(second.images.split(2)))), whole.images[6:]
    )
