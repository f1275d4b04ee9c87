"""Resizing and cropping as part of an exported program, and the lines of code that do the same outside of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from PIL import Image
from torch import nn

from lab.data.images.transforms import SLENDER, Transform

RAW = """pictures = [np.array(upright(name)).transpose(2, 0, 1)[None] for name in names]
vectors = np.concatenate([embed(picture) for picture in pictures])"""

CROPPED = """
def prepare(picture):  # {interpolation}, {how}; then the middle square
    {short}picture = picture.resize({sides}, Image.Resampling.{resampling})
    left, top = (round((side - {size}) / 2) for side in picture.size)
    return np.asarray(picture.crop((left, top, left + {size}, top + {size}))).transpose(2, 0, 1)


vectors = embed(np.stack([prepare(upright(name)) for name in names]))"""

LINES = """import numpy as np
{imports}
from PIL import Image, ImageOps

{opened}
names = ["a.png", "b.png"]


def upright(name):
    return ImageOps.exif_transpose(Image.open(name)).convert("RGB")

{rest}
"""


def _triangle(distance: torch.Tensor) -> torch.Tensor:
    return (1 - distance).clamp_min(0)


def _cubic(distance: torch.Tensor) -> torch.Tensor:
    """Pillow's cubic of distances in steps (Keys 1981, a = -1/2)."""
    near = (1.5 * distance - 2.5) * distance**2 + 1
    far = ((-0.5 * distance + 2.5) * distance - 4) * distance + 2
    return torch.where(
        distance < 1, near, torch.where(distance < 2, far, torch.zeros_like(distance))
    )


KERNELS = {"bilinear": _triangle, "bicubic": _cubic}
"""Weight of an old pixel in a new pixel, by their distance in steps of the smaller image."""


@dataclass(frozen=True)
class Geometry:
    """How a run prepares its test images: resize the shorter side, or both, to `resize` pixels, then crop the middle
    `size` x `size`.

    squash: whether both sides are resized. interpolation: `bilinear` or `bicubic`.
    """

    size: int
    resize: int
    squash: bool
    interpolation: str = "bilinear"

    @classmethod
    def of(cls, transform: Transform) -> Geometry:
        """Read the geometry of a test transform.

        Raises:
            ValueError: the transform pads images, or its interpolation cannot be exported.
        """
        resize, crop, *_ = transform.geometry.transforms
        mode = getattr(resize, "interpolation", "")
        interpolation = str(getattr(mode, "value", mode))  # torchvision's default is a string
        if interpolation not in KERNELS:
            raise ValueError(
                "The encoder's own configuration resizes images in a way that cannot be exported; evaluate the run "
                "with --testing.preprocessing protocol first."
            )
        if isinstance(resize.size, int):
            sides = [resize.size]
        else:
            sides = list(resize.size)
        return cls(int(crop.size[0]), int(sides[0]), len(sides) == 2, interpolation)

    def lines(self, opened: str, imports: str, raw: bool) -> str:
        """Python that embeds files with a program, `opened` by these lines as a function `embed` of uint8 [n 3 h w].

        imports: what they import besides. raw: whether the program takes pictures of any size.
        """
        size = self.size
        resize = self.resize
        short = "" if self.squash else "short = min(picture.size)\n    "
        if self.squash:
            sides = f"({resize}, {resize})"
        else:
            sides = f"[{resize} * side // short for side in picture.size]"
        how = f"{'both sides' if self.squash else 'the shorter side'} {resize} pixels"
        kernel = {"interpolation": self.interpolation, "resampling": self.interpolation.upper()}
        if raw:
            rest = RAW
        else:
            rest = CROPPED.format(size=size, short=short, sides=sides, how=how, **kernel)
        return LINES.format(imports=imports, opened=opened, rest=rest)

    def as_processor(self, encoder: Any) -> dict[str, Any]:
        """As image processors of transformers are written."""
        return {
            "image_processor_type": "CLIPImageProcessor",
            "do_convert_rgb": True,
            "do_resize": True,
            "size": {"height": self.resize, "width": self.resize}
            if self.squash
            else {"shortest_edge": self.resize},
            "resample": int(Image.Resampling[self.interpolation.upper()]),
            "do_center_crop": True,
            "crop_size": {"height": self.size, "width": self.size},
            "do_rescale": True,
            "rescale_factor": 1 / 255,
            "do_normalize": True,
            "image_mean": list(encoder.mean),
            "image_std": list(encoder.std),
        }


class Preparation(nn.Module):
    """Convert pictures uint8 [n 3 h w] of any size to the encoder's input [n 3 s s], whole numbers 0 to 255.

    It computes Pillow's resizing (a triangle or a cubic as wide as the step, rounded after each direction) and the crop
    of the middle as two products with matrices. Sizes are tensors, so that an exported program accepts any size.
    """

    def __init__(self, geometry: Geometry):
        super().__init__()
        self.geometry = geometry

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        rows = torch.arange(pictures.shape[2], device=pictures.device).float()
        columns = torch.arange(pictures.shape[3], device=pictures.device).float()
        shorter = torch.minimum(rows[-1], columns[-1]) + 1
        horizontal = self._weights(columns, shorter)
        pixels = torch.floor(pictures.float() @ horizontal.T + 0.5).clamp(0, 255)
        return torch.floor(self._weights(rows, shorter) @ pixels + 0.5).clamp(0, 255)

    def _weights(self, places: torch.Tensor, shorter: torch.Tensor) -> torch.Tensor:
        """Return the weight of each old pixel of one direction in each new pixel: float32 [s l], rows of sum 1.

        Args:
            places: 0 to l - 1. shorter: the picture's shorter side.
        """
        size = self.geometry.size
        resize = self.geometry.resize
        length = places[-1] + 1
        # a very slender picture is cut at both ends
        used = torch.minimum(length, SLENDER * shorter)
        start = torch.round((length - used) / 2)
        whole = torch.full_like(used, resize)
        if self.geometry.squash:
            resized = whole
        else:
            resized = (used.long() * resize // shorter.long()).float()
        step = used / resized
        first = torch.round((resized - size) / 2)
        centres = (torch.arange(size, device=places.device) + first + 0.5) * step + start
        weights = KERNELS[self.geometry.interpolation](
            (places + 0.5 - centres[:, None]).abs() / step.clamp_min(1)
        )
        weights = weights * ((places >= start) & (places < start + used))
        return weights / weights.sum(1, keepdim=True)
