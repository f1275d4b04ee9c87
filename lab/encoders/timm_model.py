"""Any backbone of timm, pretrained or not, with our pooling and embedding head."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import nn

from lab.core.knobs import LARGEST_SIDE, WIDEST, knob
from lab.core.preprocessing import Preprocessing
from lab.encoders import _timm
from lab.encoders._base import Encoder, Pool


class TimmModel(Encoder):
    """timm's model `backbone` without its classifier, and an embedding head.

    `native` pooling is the backbone's own: the class token for most transformers, the average for most CNNs. The other
    kinds pool its last feature map; of a transformer, all tokens but the class token.

    Raises:
        ValueError: timm has no such model; it does not take this image size; or pretrained weights cannot be had, and
            then the sentence says which file to put where.
    """

    _backbone: str = knob(
        "Name of the backbone in timm, for instance resnet50.a1_in1k.",
        default="resnet50",
        alias="backbone",
        network=True,
    )
    pretrained: bool = knob("Start from timm's pretrained weights.", default=True)
    drop_distillation: bool = knob(
        "Use a distilled DeiT's weights without its distillation token, as the code of ROADMAP does.",
        default=False,
    )
    normalised_as: Literal["weights", "imagenet", "none"] = knob(
        "Mean and deviation of the input: those the weights were trained with, ImageNet's, or none, for pixels in "
        "[0, 1].",
        default="weights",
    )
    weights: str | None = knob(
        "File with pretrained weights (.safetensors or .pth), instead of a download.",
        default=None,
        path=True,
    )
    image_size: int | None = knob(
        "Side of the images; by default the size that the weights were trained with.",
        default=None,
        ge=16,
        le=LARGEST_SIDE,
        unit="pixels",
    )
    _dim: int | None = knob(
        "Width of the embedding; none: the pooled features themselves.",
        default=512,
        ge=2,
        le=WIDEST,
        scale="log",
        alias="dim",
    )
    pooling: Literal["native", "avg", "max", "mixed", "gem"] = knob(  # type: ignore[assignment]  # one more
        "Pooling of the last feature map to one vector.",
        default="native",
        source="DML deck, tricks",
    )

    frozen_blocks: int = _timm.FROZEN_BLOCKS
    lora: int | None = knob(
        "Freeze the backbone, a transformer, and train low-rank updates of its attention of this rank (LoRA).",
        default=None,
        ge=1,
        le=4_096,
        scale="log",
        source="Hu et al. 2021",
    )

    def __post_init__(self) -> None:
        native = self.knobs.pooling == "native"
        make = _timm.undistilled if self.knobs.drop_distillation else _timm.create
        model: Any = make(
            self.knobs.backbone, self.knobs.pretrained, self.knobs.weights, pooled=native
        )
        config = model.pretrained_cfg
        self.mean, self.std = tuple(config["mean"]), tuple(config["std"])
        self.preprocessing = Preprocessing.of(config)
        if self.knobs.normalised_as == "imagenet":
            self.mean, self.std = _timm.IMAGENET
        elif self.knobs.normalised_as == "none":
            self.mean = (0.0, 0.0, 0.0)
            self.std = (1.0, 1.0, 1.0)
        self.input_size = self.knobs.image_size or config["input_size"][-1]
        if self.input_size != config["input_size"][-1] and hasattr(model, "set_input_size"):
            model.set_input_size(img_size=self.input_size)
        if self.knobs.lora:
            model = _timm.adapt_attention(model, self.knobs.lora, self.knobs.backbone)
        _timm.freeze(model, self.knobs.frozen_blocks)
        backbone = model if native else _timm.FeatureMap(model)
        pool = Pool(self.knobs.pooling)
        width = _timm.width(backbone, self.input_size, self.knobs.backbone)
        pretrained = self.knobs.pretrained or bool(self.knobs.weights)
        self._assemble(backbone, nn.Identity() if native else pool, width, pretrained)

    @classmethod
    def download(cls, values: Mapping[str, Any]) -> str:
        return _timm.download(values)

    def parts(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor] | None:
        if self.knobs.pooling != "native":
            return super().parts(images)
        shares = _timm.averaged(self.backbone, images)
        return None if shares is None else self.head.spread(shares)
