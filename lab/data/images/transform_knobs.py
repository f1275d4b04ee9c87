"""The knobs of `transforms`, in a file of their own: reading a configuration then does not import torchvision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import model_validator

from lab.core.knobs import LARGEST_SIDE, Knobs, knob


class AugmentationKnobs(Knobs):
    """Knobs of the augmentation of training images."""

    size: int | None = knob(
        "Side of the crop, or longest side of a whole image; by default the encoder's own size.",
        default=None,
        ge=8,
        le=LARGEST_SIDE,
        unit="pixels",
    )
    crop: Literal["resized", "padded", "whole"] = knob(
        "A random part resized to `size`; a random square of `size` from the padded image; or the whole image "
        "in its own proportions, shrunk to `size`, which needs training.stream and chunks of one image.",
        default="resized",
        source="DML deck, protocol; CAM, section 4.2; RS@k, section 4.3",
    )
    resize: int | None = knob(
        "Shorter side before the crop; by default the image as it is.",
        default=None,
        ge=8,
        le=LARGEST_SIDE,
        unit="pixels",
        source="ROADMAP, released code",
    )
    pad: int = knob(
        "Border that is added before a padded crop.",
        default=4,
        ge=0,
        le=LARGEST_SIDE,
        unit="pixels",
        source="CAM, section 4.2",
    )
    # The reality check of 002 crops sides of 40 to 256 pixels in ratios of 3/4 to 4/3: by side 40/256, which is .024 of
    # the area. Its authors' powerful-benchmarker gives the share of the area as .16, and that is the default here.
    scale_low: float = knob(
        "Minimum area of a crop.",
        default=0.16,
        gt=0,
        le=1,
        unit="of the image",
        source="DML deck, protocol",
    )
    scale_high: float = knob(
        "Maximum area of a crop.",
        default=1.0,
        gt=0,
        le=1,
        unit="of the image",
        source="DML deck, protocol",
    )
    ratio_low: float = knob(
        "Minimum aspect ratio of a crop.",
        default=0.75,
        gt=0,
        le=1,
        unit="width / height",
        source="DML deck, protocol",
    )
    ratio_high: float = knob(
        "Maximum aspect ratio of a crop.",
        default=4 / 3,
        ge=1,
        unit="width / height",
        source="DML deck, protocol",
    )
    flip: float = knob(
        "Probability of a horizontal flip.", default=0.5, ge=0, le=1, source="DML deck, protocol"
    )
    jitter: float = knob(
        "Maximum change of brightness, contrast and saturation.",
        default=0.0,
        ge=0,
        le=1,
        source="CAM, section 4.2",
    )
    hue: float = knob(
        "Maximum change of hue.", default=0.0, ge=0, le=0.5, unit="turns", source="CAM, section 4.2"
    )
    rotate: float = knob(
        "Maximum rotation.", default=0.0, ge=0, le=180, unit="degrees", source="CAM, section 4.2"
    )
    translate: float = knob(
        "Maximum shift.", default=0.0, ge=0, le=1, unit="of the image", source="CAM, section 4.2"
    )
    zoom: float = knob(
        "Maximum change of size, by a factor from 1 - zoom to 1 + zoom.", default=0.0, ge=0, lt=1
    )
    shear: float = knob(
        "Maximum shear.", default=0.0, ge=0, le=90, unit="degrees", source="CAM, section 4.2"
    )
    trivial_augment: bool = knob(
        "Apply one random change of random strength to each image (TrivialAugment).",
        default=False,
        source="CAM, section 4.2",
    )


class TestingKnobs(Knobs):
    """Knobs of the preprocessing of test images."""

    preprocessing: Literal["encoder", "protocol"] = knob(
        "What says how images are resized and cropped where `resize` and `squash` do not: the encoder's own "
        "configuration, as timm's (crop, interpolation), or the protocol: 256/227 of the crop, bilinear. The protocol "
        "counts, too, for an encoder without such a configuration.",
        default="encoder",
        source="DML deck, protocol",
    )

    size: int | None = knob(
        "Side of the crop; by default the encoder's own size.",
        default=None,
        ge=8,
        le=LARGEST_SIDE,
        unit="pixels",
    )
    resize: int | None = knob(
        "Shorter side before the crop, bilinear; by default as `preprocessing` says.",
        default=None,
        ge=8,
        le=LARGEST_SIDE,
        unit="pixels",
        source="DML deck, protocol",
    )
    squash: bool = knob(
        "Resize both sides to `resize` without keeping the proportions, as the code of ROADMAP does on SOP.",
        default=False,
    )

    @model_validator(mode="before")
    @classmethod
    def _of_version_0_2(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Keep the meaning of a configuration that version 0.2 stored: it has these three, and no `preprocessing`."""
        if {"size", "resize", "squash"} <= set(values):
            return {"preprocessing": "protocol", **values}
        return dict(values)
