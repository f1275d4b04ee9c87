import time

import numpy as np
import pytest
import torch

import lab
from lab.data.images import loading, transforms


@pytest.fixture(scope="module")
def emoji():
    found = lab.data.create("emoji7")
    assert found.pixels is not None
    return found


def batches(image_set, items, first_step=0, workers=0, seed=0, transform=None):
    loader = loading.Loader(image_set, transform or transforms.training(16), seed=seed, workers=workers)
    return list(loader.batches(items, first_step))


def equal(one, other):
    return all(
        torch.equal(a.images, b.images) and torch.equal(a.items, b.items) for a, b in zip(one, other, strict=True)
    )


def test_a_batch_holds_what_was_asked_for(emoji):
    (batch,) = batches(emoji, [np.array([5, 17, 9])])
    assert batch.images.shape == (3, 3, 16, 16) and batch.images.dtype == torch.float32 and len(batch) == 3
    assert batch.items.tolist() == [5, 17, 9] and batch.labels.tolist() == emoji.labels[[5, 17, 9]].tolist()


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


def test_split_gives_all_in_order(emoji):
    items = emoji.splits["test"].items[:70]
    loader = loading.Loader(emoji, transforms.testing(16))
    assert np.concatenate([b.items.numpy() for b in loader.split(items, batch_size=32)]).tolist() == items.tolist()


def test_decoded_pixels_and_single_images_agree(emoji):
    """The array path and the file path of one image differ by rounding only."""
    (batch,) = batches(emoji, [np.array([100])], transform=transforms.testing(32))
    alone = transforms.testing(32)(emoji.load(100))
    assert (batch.images[0] - alone).abs().max() < 0.02


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
        assert kept == [11, 11, 11] and len(loader.problems) == 1 and "bee/2.png is missing" in loader.problems[0]


def test_negative_workers_get_a_sentence(emoji):
    with pytest.raises(ValueError, match="workers must be 0 or more"):
        loading.Loader(emoji, transforms.testing(16), workers=-1)


def test_a_batch_of_emoji_takes_well_under_a_tenth_of_a_second(emoji):
    loader = loading.Loader(emoji, transforms.training(32))
    items = [np.arange(256)] * 6
    times = []
    started = time.process_time()
    for _ in loader.batches(items):
        times.append(time.process_time() - started)
        started = time.process_time()
    assert min(times) < 0.1
