"""The standard protocol of metric learning (002): crop and flip for training, resize and centre crop for testing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms.v2 import functional as F

from lab.core.preprocessing import Preprocessing
from lab.data.images.crops import Crops
from lab.data.images.transform_knobs import AugmentationKnobs, TestingKnobs

Triple = tuple[float, float, float]
HALF: Triple = (0.5, 0.5, 0.5)


@dataclass(frozen=True)
class Transform:
    """Image to normalised tensor, in two halves: `geometry` for each image, `finish` for a whole batch.

    geometry: PIL image or uint8 [3 h w] to uint8 [3 size size].
    mean, std: what the encoder's input is normalised with, three numbers each.
    random: whether `geometry` draws random numbers.
    ragged: whether images come out in different sizes, so that only one at a time makes a batch.
    crops: the same as `geometry` for a whole batch of decoded images; None where there is more to do.
    """

    geometry: v2.Transform
    mean: Triple
    std: Triple
    random: bool
    ragged: bool = False
    crops: Crops | None = None

    def __call__(self, image: Image.Image | torch.Tensor) -> torch.Tensor:
        """Transform one image to float32 [3 size size]."""
        return self.finish(self.geometry(image))

    def finish(self, images: torch.Tensor) -> torch.Tensor:
        """Normalise uint8 [... 3 h w] to float32 of the same shape."""
        return F.normalize(
            F.to_dtype(images, torch.float32, scale=True), list(self.mean), list(self.std)
        )

    def batch(
        self, images: Sequence[Image.Image | torch.Tensor], seeds: Sequence[int] | None = None
    ) -> torch.Tensor:
        """Transform several images to uint8 [n 3 size size]; `finish` makes them the encoder's input.

        Args:
            seeds: one per image; what image i looks like then depends on its seed alone. The generator of the
                process is left as it was.
        """
        if seeds is None:
            return torch.stack([self.geometry(image) for image in images])
        transformed = []
        with torch.random.fork_rng(devices=[]):
            for image, seed in zip(images, seeds, strict=True):
                torch.default_generator.manual_seed(seed)
                transformed.append(self.geometry(image))
        return torch.stack(transformed)

    def decoded(self, pixels: np.ndarray, seeds: Sequence[int] | None = None) -> torch.Tensor:
        """Transform images uint8 [n h w 3] as `batch` does."""
        if self.crops is not None and seeds is not None and self.crops.takes(pixels):
            return self.crops(pixels, seeds)
        return self.batch([torch.from_numpy(image).permute(2, 0, 1) for image in pixels], seeds)


def training(size: int, mean: Triple = HALF, std: Triple = HALF, **knobs: Any) -> Transform:
    """Return a random crop to `size` and a random horizontal flip (002, data augmentation), or what the knobs say.

    Raises:
        ValueError: a knob of `AugmentationKnobs` is out of range.
    """
    chosen = AugmentationKnobs(size=size, **knobs)
    if chosen.scale_low > chosen.scale_high:
        raise ValueError(
            f"scale_low must be at most scale_high, got {chosen.scale_low} and {chosen.scale_high}."
        )
    scale = (chosen.scale_low, chosen.scale_high)
    ratio = (chosen.ratio_low, chosen.ratio_high)
    crop: Any
    if chosen.crop == "whole":
        crop = _Shrink(size)
    elif chosen.crop == "padded":
        crop = v2.RandomCrop(size, padding=chosen.pad, pad_if_needed=True)
    else:
        crop = v2.RandomResizedCrop(size, scale=scale, ratio=ratio, antialias=True)
    before = [_Resize(chosen.resize, antialias=True)] if chosen.resize else []
    changes: list[v2.Transform] = []
    if chosen.rotate or chosen.translate or chosen.zoom or chosen.shear:
        translate = (chosen.translate, chosen.translate)
        factors = (1 - chosen.zoom, 1 + chosen.zoom)
        changes.append(
            v2.RandomAffine(
                chosen.rotate, translate=translate, scale=factors, shear=chosen.shear or None
            )
        )
    if chosen.jitter or chosen.hue:
        changes.append(v2.ColorJitter(chosen.jitter, chosen.jitter, chosen.jitter, chosen.hue))
    if chosen.trivial_augment:
        changes.append(v2.TrivialAugmentWide())
    steps = [*before, crop, v2.RandomHorizontalFlip(chosen.flip), *changes, v2.PILToTensor()]
    crops = None
    if chosen.crop == "resized" and not before and not changes:
        crops = Crops(size, scale, ratio, chosen.flip)
    return Transform(
        v2.Compose(steps), mean, std, random=True, ragged=chosen.crop == "whole", crops=crops
    )


def testing(
    size: int,
    mean: Triple = HALF,
    std: Triple = HALF,
    own: Preprocessing | None = None,
    **knobs: Any,
) -> Transform:
    """Return the resize of the shorter side (or both) and the crop of the centre square of `size` (002).

    Args:
        own: how the encoder wants its images; it counts unless a knob says otherwise.

    Raises:
        ValueError: a knob of `TestingKnobs` is out of range, or `resize` is smaller than `size`.
    """
    chosen = TestingKnobs(size=size, **knobs)
    if (
        own is not None
        and chosen.preprocessing == "encoder"
        and chosen.resize is None
        and not chosen.squash
    ):
        return _own(size, mean, std, own)
    resize = chosen.resize or round(size * 256 / 227)
    if resize < size:
        raise ValueError(
            f"resize must be at least the size of the crop, got {resize} for a crop of {size}."
        )
    sides = (resize, resize) if chosen.squash else resize
    geometry = v2.Compose([_Resize(sides, antialias=True), v2.CenterCrop(size), v2.PILToTensor()])
    return Transform(geometry, mean, std, random=False)


def _own(size: int, mean: Triple, std: Triple, own: Preprocessing) -> Transform:
    """Return the preprocessing of the encoder's own configuration: the same steps as `timm.data.create_transform`."""
    resize = own.resize(size)
    steps: list[Any]
    if own.crop_mode == "border":
        from timm.data.transforms import CenterCropOrPad, ResizeKeepRatio

        fill = [round(255 * value) for value in mean]
        longest = ResizeKeepRatio((resize, resize), interpolation=own.interpolation, longest=1.0)
        steps = [v2.ToPILImage(), longest, CenterCropOrPad(size, fill=fill)]
    else:
        sides = (resize, resize) if own.crop_mode == "squash" else resize
        interpolation = InterpolationMode(own.interpolation)
        steps = [_Resize(sides, interpolation=interpolation, antialias=True), v2.CenterCrop(size)]
    return Transform(v2.Compose([*steps, v2.PILToTensor()]), mean, std, random=False)


def whole(longest: int, mean: Triple = HALF, std: Triple = HALF) -> Transform:
    """Return the whole image in its own proportions, shrunk so that its longer side is at most `longest`.

    Images then differ in size and cannot be stacked: load them one at a time. Source: 000, section 4.3.
    """
    return Transform(
        v2.Compose([_Shrink(longest), v2.PILToTensor()]), mean, std, random=False, ragged=True
    )


SLENDER = 16
"""Largest ratio of the longer to the shorter side; a longer image is cut at both ends: resized by its shorter side, an
image of 30,000 x 2 pixels would take gigabytes."""


class _Resize(v2.Resize):
    """`v2.Resize`, of the middle of a very slender image."""

    def forward(self, image: Image.Image | torch.Tensor) -> Image.Image | torch.Tensor:
        height, width = F.get_size(image)
        most = SLENDER * min(height, width)
        if max(height, width) > most:
            image = F.center_crop(image, [min(height, most), min(width, most)])
        return super().forward(image)


@dataclass(frozen=True)
class _Shrink:
    longest: int

    def __call__(self, image: Image.Image | torch.Tensor) -> Image.Image | torch.Tensor:
        height, width = F.get_size(image)
        factor = self.longest / max(height, width)
        if factor >= 1:
            return image
        return F.resize(
            image, [max(1, round(height * factor)), max(1, round(width * factor))], antialias=True
        )


def seeds(seed: int, step: int, count: int) -> list[int]:
    """Return one seed for each position of one batch: `count` of them, each a function of (seed, step, position)."""
    return np.random.SeedSequence((seed, step)).generate_state(count, np.uint64).tolist()
