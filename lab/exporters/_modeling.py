# ruff: noqa: F401 (what the definitions of these names need)
"""The code of `modeling_rankscope.py` in an exported folder, with which transformers' AutoModel opens it.

The lines that import from Rankscope are replaced there by the definitions themselves; see `_hub.modeling`.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPooling
from transformers.utils import cached_file

from lab.encoders import FeatureMap, Head, Pool, UnitLength, as_map, gem
from lab.encoders.small_cnn import Block, Stages, convolution


class RankscopeConfig(PretrainedConfig):
    """config.json; `rankscope["layout"]` says how the encoder is built."""

    model_type = "rankscope"


class RankscopeModel(PreTrainedModel):
    """Maps normalised images [n 3 h w] to embeddings [n d], `pooler_output`."""

    config_class = RankscopeConfig
    main_input_name = "pixel_values"

    def __init__(self, config: RankscopeConfig):
        super().__init__(config)
        layout = config.rankscope["layout"]
        self.backbone = backbone(layout)
        pool = nn.Identity() if layout["pooling"] == "native" else Pool(layout["pooling"])
        self.head = Head(pool, **layout["head"])
        self.normalise = layout["normalise"]
        self.post_init()

    @classmethod
    def from_pretrained(
        cls, path: Any, *_: Any, config: Any = None, dtype: Any = None, **words: Any
    ) -> RankscopeModel:
        """Load the weights, under timm's names if the backbone is timm's; a head's weights are in a second file."""
        known = (
            "cache_dir",
            "force_download",
            "local_files_only",
            "token",
            "revision",
            "subfolder",
        )
        where = {name: words[name] for name in known if name in words}
        config = config or RankscopeConfig.from_pretrained(path, **where)
        model = cls(config)
        file = functools.partial(cached_file, path, **where)
        layout = config.rankscope["layout"]
        weights = load_file(file("model.safetensors"))
        if weights.keys() != model.state_dict().keys():  # else this class itself has saved them
            weights = {layout["prefix"] + name: value for name, value in weights.items()}
            weights |= load_file(file("head.safetensors")) if layout["head_file"] else {}
        model.load_state_dict(weights)
        dtype = dtype or words.get("torch_dtype")
        # "auto": as it was trained
        if isinstance(dtype, str):
            dtype = getattr(torch, dtype, None)
        return model.eval() if dtype is None else model.eval().to(dtype)

    def forward(self, pixel_values: torch.Tensor, **_: Any) -> BaseModelOutputWithPooling:
        """Embeddings as `pooler_output`, of unit length where the training compared by cosine."""
        embeddings = self.head(self.backbone(pixel_values))
        if self.normalise:
            embeddings = F.normalize(embeddings.float(), dim=-1).to(embeddings.dtype)
        return BaseModelOutputWithPooling(pooler_output=embeddings)


def backbone(layout: dict[str, Any]) -> nn.Module:
    """Build the backbone: ours, or timm's without its classifier, with its own pooling or as a feature map."""
    if "architecture" not in layout:
        return Stages(layout["stages"])
    import timm

    native = layout["pooling"] == "native"
    model = timm.create_model(
        layout["architecture"], num_classes=0, **({} if native else {"global_pool": ""})
    )
    if layout["image_size"]:
        model.set_input_size(img_size=layout["image_size"])
    return model if native else FeatureMap(model)
