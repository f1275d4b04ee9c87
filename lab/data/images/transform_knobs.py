"""The knobs of `transforms`, apart from them: who reads a configuration does not wait for torchvision."""

from __future__ import annotations

from lab.core.knobs import Knobs, knob


class TrainingKnobs(Knobs):
    """What `training` can be told."""

    size: int | None = knob(None, "side of the crop; by default what the encoder was made for", ge=8, unit="pixels")
    # 002 crops at random scale and aspect ratio without giving numbers; these are the ones in common use.
    scale_low: float = knob(0.16, "least area of a crop", gt=0, le=1, unit="of the image", source="002, protocol")
    scale_high: float = knob(1.0, "largest area of a crop", gt=0, le=1, unit="of the image", source="002, protocol")
    ratio_low: float = knob(0.75, "narrowest crop", gt=0, le=1, unit="width / height", source="002, protocol")
    ratio_high: float = knob(4 / 3, "widest crop", ge=1, unit="width / height", source="002, protocol")
    flip: float = knob(0.5, "probability of a horizontal flip", ge=0, le=1, source="002, protocol")


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
