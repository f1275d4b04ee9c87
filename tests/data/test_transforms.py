import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

from lab.data.images import transforms


@pytest.fixture
def image(random):
    return Image.fromarray(random.integers(0, 255, (60, 90, 3), dtype=np.uint8))


def test_testing_resizes_the_shorter_side_and_crops_the_centre(image):
    made = transforms.testing(32, mean=(0, 0, 0), std=(1, 1, 1), resize=40)(image)
    resized = image.resize((60, 40), Image.Resampling.BILINEAR)
    expected = np.asarray(resized.crop((14, 4, 46, 36))).transpose(2, 0, 1) / 255
    np.testing.assert_allclose(made.numpy(), expected, atol=1e-6)


def test_training_is_torchvisions_random_resized_crop_and_flip(image):
    made = transforms.training(24, scale_low=0.3, scale_high=0.9).batch(
        [image] * 6, seeds=[1, 2, 3, 4, 5, 6]
    )
    for seed, pixels in zip(range(1, 7), made, strict=True):
        torch.manual_seed(seed)
        box = v2.RandomResizedCrop.make_params(
            v2.RandomResizedCrop(24, scale=(0.3, 0.9), ratio=(0.75, 4 / 3)),
            [F.pil_to_tensor(image)],
        )
        cropped = F.resized_crop(
            image, box["top"], box["left"], box["height"], box["width"], [24, 24]
        )
        assert any(
            (F.pil_to_tensor(one) == pixels).all() for one in (cropped, F.horizontal_flip(cropped))
        )
    assert len({pixels.numpy().tobytes() for pixels in made}) == 6


@pytest.mark.parametrize(
    ("size", "shape", "knobs"),
    [
        (32, (64, 64), {"scale_low": 0.8}),
        (32, (64, 64), {}),
        (24, (50, 91), {"flip": 0.3, "ratio_low": 0.5, "ratio_high": 2}),
        (80, (64, 64), {"ratio_low": 1, "ratio_high": 1, "flip": 1}),
        (32, (20, 120), {"scale_low": 0.9, "ratio_low": 1, "ratio_high": 1}),  # the middle
        (32, (120, 20), {"scale_low": 0.9, "ratio_low": 0.9}),
    ],
)
def test_decoded_images_are_cropped_at_once_as_torchvision_crops_each(random, size, shape, knobs):
    pixels = random.integers(0, 256, (100, *shape, 3), dtype=np.uint8)
    pixels[:20] = 255
    transform, seeds = transforms.training(size, **knobs), transforms.seeds(3, 1, 100)
    assert transform.crops and transform.crops.takes(pixels)
    one_by_one = transform.batch(
        [torch.from_numpy(image).permute(2, 0, 1) for image in pixels], seeds
    )
    assert torch.equal(transform.decoded(pixels, seeds), one_by_one)


def test_images_that_need_more_than_a_crop_or_shrink_too_far_go_one_by_one(random):
    pixels = random.integers(0, 256, (3, 40, 40, 3), dtype=np.uint8)
    assert not transforms.training(9).crops.takes(pixels)
    assert transforms.training(9).decoded(pixels, [1, 2, 3]).shape == (3, 3, 9, 9)
    for knobs in ({"jitter": 0.1}, {"resize": 48}, {"crop": "padded"}):
        transform = transforms.training(32, **knobs)
        assert transform.crops is None and transform.decoded(pixels, [1, 2, 3]).shape == (
            3,
            3,
            32,
            32,
        )


def test_each_image_depends_on_its_seed_alone(image):
    transform, seeds = transforms.training(16), transforms.seeds(0, 7, 5)
    together = transform.batch([image] * 5, seeds)
    alone = torch.stack([transform.batch([image], [seed])[0] for seed in reversed(seeds)])
    torch.testing.assert_close(together, alone.flip(0), rtol=0, atol=0)
    assert (
        transforms.seeds(0, 7, 9)[:5] == seeds != transforms.seeds(1, 7, 5) and len(set(seeds)) == 5
    )


def test_a_whole_training_image_keeps_its_proportions_and_is_never_enlarged(image):
    shrunk = transforms.training(45, crop="whole", flip=0.0)
    assert shrunk.ragged and shrunk.batch([image], [0]).shape == (1, 3, 30, 45)
    assert transforms.training(500, crop="whole").batch([image], [0]).shape == (1, 3, 60, 90)


@pytest.mark.parametrize(
    "knobs", [{"jitter": 0.4}, {"hue": 0.2}, {"rotate": 20}, {"shear": 10}, {"translate": 0.2}, {"zoom": 0.3},
              {"trivial_augment": True}],
)  # fmt: skip
def test_every_further_change_depends_on_the_seed_and_can_be_left_out(image, knobs):
    still = {"scale_low": 1.0, "ratio_low": 1.0, "ratio_high": 1.0, "flip": 0.0}
    plain = transforms.training(24, **still).batch([image] * 8, list(range(8)))
    changed = transforms.training(24, **still, **knobs).batch([image] * 8, list(range(8)))
    assert not torch.equal(plain, changed)
    assert torch.equal(
        changed, transforms.training(24, **still, **knobs).batch([image] * 8, list(range(8)))
    )
