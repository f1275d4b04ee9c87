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


def test_testing_resizes_to_256_for_a_crop_of_227(image):
    resize, crop = transforms.testing(227).geometry.transforms[:2]
    assert resize.size == [256] and list(crop.size) == [227, 227]


def test_normalisation(image):
    plain = transforms.testing(32, mean=(0, 0, 0), std=(1, 1, 1))(image)
    mean, std = (0.1, 0.2, 0.3), (0.5, 0.6, 0.7)
    made = transforms.testing(32, mean=mean, std=std)(image)
    assert made.dtype == torch.float32
    for channel in range(3):
        torch.testing.assert_close(made[channel], (plain[channel] - mean[channel]) / std[channel])


def test_training_is_torchvisions_random_resized_crop_and_flip(image):
    made = transforms.training(24, scale_low=0.3, scale_high=0.9).batch([image] * 6, seeds=[1, 2, 3, 4, 5, 6])
    for seed, pixels in zip(range(1, 7), made, strict=True):
        torch.manual_seed(seed)
        box = v2.RandomResizedCrop.make_params(
            v2.RandomResizedCrop(24, scale=(0.3, 0.9), ratio=(0.75, 4 / 3)), [F.pil_to_tensor(image)]
        )
        cropped = F.resized_crop(image, box["top"], box["left"], box["height"], box["width"], [24, 24])
        assert any((F.pil_to_tensor(one) == pixels).all() for one in (cropped, F.horizontal_flip(cropped)))
    assert len({pixels.numpy().tobytes() for pixels in made}) == 6


def test_each_image_depends_on_its_seed_alone(image):
    transform, seeds = transforms.training(16), transforms.seeds(0, 7, 5)
    together = transform.batch([image] * 5, seeds)
    alone = torch.stack([transform.batch([image], [seed])[0] for seed in reversed(seeds)])
    torch.testing.assert_close(together, alone.flip(0), rtol=0, atol=0)
    assert transforms.seeds(0, 7, 9)[:5] == seeds != transforms.seeds(1, 7, 5) and len(set(seeds)) == 5


def test_the_random_state_of_the_process_is_left_alone(image):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    transforms.training(16).batch([image], [9])
    torch.testing.assert_close(torch.rand(3), expected)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: transforms.training(4), "size must satisfy 8 <= size"),
        (lambda: transforms.training(32, scale_low=0), "scale_low"),
        (lambda: transforms.training(32, scale_low=0.9, scale_high=0.5), "at most scale_high"),
        (lambda: transforms.training(32, flip=2), "flip"),
        (lambda: transforms.training(32, blur=2), "no knob 'blur'"),
        (lambda: transforms.testing(32, resize=16), "at least the size of the crop"),
    ],
)
def test_bad_values_get_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
