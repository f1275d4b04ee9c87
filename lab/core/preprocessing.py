"""How a network wants its images resized and cropped, as its own configuration says. No torch here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Preprocessing:
    """What the configuration of a model of timm says of its images, besides size, mean and deviation.

    crop_pct: side of the crop over the side that images are resized to. crop_mode: `center` resizes the shorter side,
    `squash` both sides without keeping the proportions, and `border` the longer side, with a border of the mean colour.
    interpolation: `bilinear`, `bicubic`, or another one of Pillow's names.
    """

    crop_pct: float = 0.875
    crop_mode: str = "center"
    interpolation: str = "bicubic"

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Preprocessing:
        """Read it from a `pretrained_cfg` of timm; what it leaves out is as in `timm.data.resolve_data_config`."""
        given = {name: config.get(name) for name in ("crop_pct", "crop_mode", "interpolation")}
        return cls(**{name: value for name, value in given.items() if value})

    def resize(self, size: int) -> int:
        """Return the side in pixels that images are resized to before a crop of `size`."""
        return math.floor(size / self.crop_pct)
