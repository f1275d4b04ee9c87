"""The knobs of `transforms`, apart from them: who reads a configuration does not wait for torchvision."""

from __future__ import annotations

from typing import Literal

from lab.core.knobs import Knobs, knob


class TrainingKnobs(Knobs):
    """What `training` can be told."""

    size: int | None = knob(
        None,
        "side of the crop, or longest side of a whole image; by default what the encoder was made for",
        ge=8,
        unit="pixels",
    )
    crop: Literal["resized", "padded", "whole"] = knob(
        "resized",
        "a random part resized to `size`; a random square of `size` out of the padded image; or the whole image in its "
        "own proportions, shrunk to `size`, which takes training.stream and chunks of one image",
        source="002, protocol; 003, section 4.2; 000, section 4.3",
    )
    resize: int | None = knob(
        None, "shorter side before the crop; by default the image as it is", ge=8, unit="pixels", source="code of 001"
    )
    pad: int = knob(4, "border that a padded crop may reach into", ge=0, unit="pixels", source="003, section 4.2")
    # 002 crops at random scale and aspect ratio without giving numbers; these are the ones in common use.
    scale_low: float = knob(0.16, "least area of a crop", gt=0, le=1, unit="of the image", source="002, protocol")
    scale_high: float = knob(1.0, "largest area of a crop", gt=0, le=1, unit="of the image", source="002, protocol")
    ratio_low: float = knob(0.75, "narrowest crop", gt=0, le=1, unit="width / height", source="002, protocol")
    ratio_high: float = knob(4 / 3, "widest crop", ge=1, unit="width / height", source="002, protocol")
    flip: float = knob(0.5, "probability of a horizontal flip", ge=0, le=1, source="002, protocol")
    jitter: float = knob(
        0.0, "largest change of brightness, contrast and saturation", ge=0, le=1, source="003, section 4.2"
    )
    hue: float = knob(0.0, "largest turn of the colours", ge=0, le=0.5, unit="turns", source="003, section 4.2")
    rotate: float = knob(0.0, "largest rotation", ge=0, le=180, unit="degrees", source="003, section 4.2")
    translate: float = knob(0.0, "largest shift", ge=0, le=1, unit="of the image", source="003, section 4.2")
    zoom: float = knob(0.0, "largest change of size, by a factor from 1 - zoom to 1 + zoom", ge=0, lt=1)
    shear: float = knob(0.0, "largest shear", ge=0, le=90, unit="degrees", source="003, section 4.2")
    trivial_augment: bool = knob(
        False, "one random change of random strength an image (TrivialAugment)", source="003, section 4.2"
    )


class TestingKnobs(Knobs):
    """What `testing` can be told."""

    size: int | None = knob(None, "side of the crop; by default what the encoder was made for", ge=8, unit="pixels")
    resize: int | None = knob(
        None,
        "shorter side before the crop; by default 256/227 of the crop",
        ge=8,
        unit="pixels",
        source="002, protocol",
    )
    squash: bool = knob(
        False, "resize both sides to that length, whatever the proportions, as the code of 001 does on SOP"
    )
