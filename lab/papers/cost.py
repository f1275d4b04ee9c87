"""Estimate the cost of a recipe from its images per step, its steps and the operations per image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NETWORKS = {
    "resnet18": (3.6, 11.2),
    "resnet50": (8.2, 23.5),
    "resnet101": (15.6, 42.5),
    "vit_base_patch32_224": (8.8, 87.5),
    "vit_base_patch16_224": (35.1, 85.8),
    "deit_small_patch16_224": (9.2, 21.7),
    "deit_small_distilled_patch16_224": (9.2, 21.7),
    "swin_tiny_patch4_window7_224": (9.0, 27.5),
}
"""10^9 floating-point operations of one forward pass of one image of 224 x 224 pixels, as torch counts them (a
multiplication that is added up is two), and 10^6 weights of the backbone as timm builds it, without a classifier or an
embedding layer; with one of 512 numbers they are the 24.5 and 87.8 of 000, section 4.3, whose "GMac" mix operations and
pairs of them (docs/misprints.md)."""

SUSTAINED = {"float32": 20.0, "bfloat16": 50.0}
"""10^12 operations a second that one modern data-centre GPU is assumed to sustain on such networks, per precision.
That is some 800 and 2,000 training images a second of ResNet-50 at 224 pixels; loading must keep up with it. Contextual
reports 4 h on a V100 for SOP and 6 h for iNaturalist (appendix H.1), three to four times the estimates."""

WHOLE = 0.75
"""Area of a 4:3 photograph relative to the square around it; whole images are assumed to have this shape."""


@dataclass(frozen=True)
class Cost:
    """The estimated cost of a training: steps x batch x passes x gflop / rate.

    passes: forward passes that a training image costs: 3 (backward costs two), or 4 if a large batch is embedded twice.
    gflop: 10^9 operations of one forward pass of one image. rate: 10^12 operations a second.
    millions: 10^6 weights of the backbone.
    """

    steps: int
    batch: int
    passes: int
    gflop: float
    rate: float
    millions: float

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Cost:
        """Return the cost of a recipe, given its sections as YAML holds them."""
        training = config["training"]
        encoder = config["encoder"]
        size = config["augmentation"]["size"]
        crop = config["augmentation"].get("crop")
        gflop, millions = NETWORKS[encoder["backbone"].partition(".")[0]]
        return cls(
            steps=training["steps"],
            batch=config["sampler"]["batch_size"],
            passes=4 if "chunk" in training else 3,
            gflop=gflop * (size / 224) ** 2 * (WHOLE if crop == "whole" else 1),
            rate=SUSTAINED[training.get("precision", "float32")],
            millions=millions,
        )

    @property
    def hours(self) -> float:
        """Hours of training on one GPU, without evaluation."""
        return self.steps * self.batch * self.passes * self.gflop / (self.rate * 1e3) / 3600

    @property
    def text(self) -> str:
        """The hours with two digits, such as `1.4 h`."""
        if self.hours >= 9.5:
            return f"{self.hours:.0f} h"
        return f"{self.hours:.2g} h"

    def __str__(self) -> str:
        return (
            f"{self.text} = {self.steps:,} steps x {self.batch:,} images x {self.passes} passes x {self.gflop:.3g} "
            f"GFLOP / {self.rate:.0f} TFLOP/s"
        )
