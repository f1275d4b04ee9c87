"""Backbones from timm, brought to one form: images [n 3 h w] to a feature map [n c h' w'], whatever their kind."""

from __future__ import annotations

import difflib
import urllib.error
import urllib.request
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from lab.core.explain import need
from lab.core.files import check_allowed
from lab.core.knobs import knob

IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and deviation of ImageNet's colours."""

FLAGS = "lab embed --weights FILE; lab train --encoder.weights FILE, or --no-encoder.pretrained to start from random"
"""How weights are named on the command line."""

FROZEN_BLOCKS = knob(
    "Freeze the first so many blocks of the backbone, of which the stem is one; if it has fewer, only the head learns.",
    default=0,
    ge=0,
    le=10_000,
)

DISTILLED = "deit_small_distilled_patch16_224.fb_in1k"


def create(name: str, pretrained: bool, weights: str | None, pooled: bool) -> nn.Module:
    """A timm model without classifier.

    Args:
        name: timm's name, with or without a tag, for instance `resnet50.a1_in1k`.
        pretrained: load timm's pretrained weights, from its cache or the network.
        weights: a file to load them from instead (.safetensors, or a .pth of plain tensors).
        pooled: keep the backbone's own pooling; else it ends in its feature map.

    Raises:
        ValueError: timm has no such model, or its weights cannot be had; the sentence says which file to put where.
    """
    import timm

    shape = {"num_classes": 0} if pooled else {"num_classes": 0, "global_pool": ""}
    if not timm.is_model(name):
        near = difflib.get_close_matches(name, timm.list_models(), n=5)
        raise ValueError(
            f"timm has no model {name!r}. {'Similar: ' + ', '.join(near) + '.' if near else ''}".strip()
        )
    if weights:
        return _from_file(name, Path(weights).expanduser(), shape)
    if pretrained:
        _ask_for_weights(name)
    try:
        return timm.create_model(name, pretrained=pretrained, **shape)
    except Exception as error:  # timm and the hub raise a dozen unrelated kinds
        if pretrained and not isinstance(error, AssertionError):
            raise ValueError(_where_to_put_weights(name, _first_line(error))) from error
        sentence = f"timm cannot build {name!r} with this pooling; native always works: {_first_line(error)}."
        raise ValueError(sentence) from error


def undistilled(name: str, pretrained: bool, weights: str | None, pooled: bool) -> nn.Module:
    """A distilled vision transformer without its distillation token: the plain model, with the distilled one's weights.

    Raises:
        ValueError: the name is none of a distilled model, or what `create` refuses.
    """
    if "_distilled" not in name:
        raise ValueError(
            f"drop_distillation needs a distilled backbone such as {DISTILLED}, got {name!r}."
        )
    plain = create(name.partition(".")[0].replace("_distilled", ""), False, None, pooled)
    if pretrained or weights:
        state = create(name, pretrained, weights, pooled).state_dict()
        places = state["pos_embed"]  # of the class token, the distillation token, and the patches
        state["pos_embed"] = torch.cat([places[:, :1], places[:, 2:]], dim=1)
        plain.load_state_dict({key: value for key, value in state.items() if key != "dist_token"})
    return plain


def _from_file(name: str, path: Path, shape: dict) -> nn.Module:
    """timm loads what fits and goes on without the rest; what is still as it was initialised was not in the file."""
    import timm

    weights = read_weights(path)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        fresh = timm.create_model(name, pretrained=False, **shape)
        torch.default_generator.manual_seed(0)
        try:
            model = timm.create_model(
                name, pretrained=True, pretrained_cfg_overlay={"state_dict": weights}, **shape
            )
        except (
            Exception
        ) as error:  # each architecture has its own way to trip over foreign names and shapes
            raise ValueError(
                f"The weights in {path} do not fit {name!r}: {_first_line(error)}."
            ) from error
    untouched = [
        key
        for (key, value), initial in zip(model.named_parameters(), fresh.parameters(), strict=True)
        if torch.equal(value, initial) and initial.numel() > 1 and initial.std() > 0
    ]
    if untouched:
        lacking = f"{len(untouched)} of its tensors are not there, such as {untouched[0]}"
        raise ValueError(f"The weights in {path} do not fit {name!r}: {lacking}.")
    return model


def freeze(model: Any, blocks: int) -> None:
    """Take the first blocks of a timm model out of training, in timm's own order of them; the stem is the first."""
    from timm.models import group_parameters

    for group in list(group_parameters(model, model.group_matcher()).values())[:blocks]:
        for name in group:
            model.get_parameter(name).requires_grad_(False)


def adapt_attention(model: nn.Module, rank: int, name: str) -> nn.Module:
    """Freeze a transformer, and add to the linear maps of its attention a product of two narrow ones that learn; at
    first it is zero. Source: Hu et al. 2021, LoRA; the layers are those of peft.

    Raises:
        ValueError: peft is not installed, or the model has no attention.
    """
    if not any(layer.endswith("attn.qkv") for layer, _ in model.named_modules()):
        raise ValueError(
            f"encoder: lora changes attn.qkv, which {name} lacks; take a transformer: vit_small_patch16_224."
        )
    need("The knob lora of the encoder", "lora", "peft")
    from peft import LoraConfig, inject_adapter_in_model

    layers = ["attn.qkv", "attn.proj"]
    return inject_adapter_in_model(
        LoraConfig(r=rank, lora_alpha=rank, target_modules=layers), model
    )


def merge_attention(model: nn.Module) -> None:
    """Add what `adapt_attention` has learnt to the weights themselves, for those who know nothing of it."""
    for name, layer in list(model.named_modules()):
        if hasattr(layer, "base_layer"):
            layer.merge()
            model.set_submodule(name, layer.base_layer)


def read_weights(path: Path) -> dict[str, torch.Tensor]:
    """Name to tensor in a file of weights (.safetensors, or a .pth of plain tensors).

    Raises:
        ValueError: there is no such file, or it holds something else.
    """
    if not path.is_file():
        raise ValueError(f"There is no file {path} to load pretrained weights from.")
    if path.suffix == ".safetensors":
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            return load_file(path)
        except SafetensorError as error:
            raise ValueError(f"{path} is not a safetensors file: {error}.") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch describes odd pickles to its developers
            loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # unpickling damaged or forbidden content raises almost anything
        # Not torch's own words, which recommend to load it unsafely.
        raise ValueError(
            f"{path} holds more than plain tensors, or is damaged ({type(error).__name__}); save its state_dict() as "
            "safetensors."
        ) from None
    for key in ("state_dict_ema", "model_ema", "state_dict", "model"):
        if isinstance(loaded, dict) and isinstance(loaded.get(key), dict):
            loaded = loaded[key]
    if not isinstance(loaded, dict) or not all(isinstance(name, str) for name in loaded):
        raise ValueError(f"{path} holds a {type(loaded).__name__}, not named tensors.")
    return {name.removeprefix("module."): tensor for name, tensor in loaded.items()}


def _ask_for_weights(name: str) -> None:
    """Fail in seconds where the hub's own retries take a minute: neither in the cache nor a network."""
    import huggingface_hub
    import timm

    config: Any = timm.get_pretrained_cfg(name)
    if not (config and (config.hf_hub_id or config.url)):
        raise ValueError(
            f"timm has no pretrained weights for {name!r}; name a file of weights ({FLAGS})."
        )
    if config.hf_hub_id and _cached(config):
        return
    check_allowed()
    if not config.hf_hub_id:
        return
    if huggingface_hub.constants.HF_HUB_OFFLINE:
        raise ValueError(_where_to_put_weights(name, "HF_HUB_OFFLINE is set"))
    try:
        urllib.request.urlopen(huggingface_hub.constants.ENDPOINT, timeout=5).close()
    except urllib.error.HTTPError:
        pass  # it answers
    except OSError as error:
        raise ValueError(_where_to_put_weights(name, _first_line(error))) from None


def download(values: Mapping[str, Any]) -> str:
    """Return the name of the model whose pretrained weights these knobs ask for and this machine lacks; "" for none.

    Args:
        values: the knobs backbone, pretrained (by default true) and weights.
    """
    import timm

    name = str(values.get("backbone", "resnet50"))
    if not values.get("pretrained", True) or values.get("weights") or not timm.is_model(name):
        return ""
    return "" if _cached(timm.get_pretrained_cfg(name)) else name


def _cached(config: Any) -> bool:
    """Whether the weights that a configuration of timm names are on this machine."""
    import huggingface_hub

    if config is not None and config.hf_hub_id:
        files = ("model.safetensors", "pytorch_model.bin")
        kept = (huggingface_hub.try_to_load_from_cache(config.hf_hub_id, file) for file in files)
        return any(isinstance(path, str) for path in kept)
    return (
        bool(config and config.url)
        and Path(torch.hub.get_dir(), "checkpoints", Path(config.url).name).is_file()
    )


def _where_to_put_weights(name: str, why: str) -> str:
    import timm

    config: Any = timm.get_pretrained_cfg(name)
    file = (
        f"model.safetensors of the Hugging Face repository {config.hf_hub_id!r}"
        if config.hf_hub_id
        else config.url
    )
    return (
        f"The pretrained weights of {name!r} are not on this machine and could not be fetched ({why}). On a machine "
        f"with a network, download {file}; copy it here, anywhere, and name it ({FLAGS})."
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


class FeatureMap(nn.Module):
    """A timm model that ends in its feature map, always as [n c h w].

    Tokens of a transformer become a map one token wide; class and register tokens are left out.
    """

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return as_map(self.model, self.model(images))


def as_map(model: nn.Module, features: torch.Tensor) -> torch.Tensor:
    """What a timm model computes before it pools, as [n c h w]; see `FeatureMap`."""
    if features.ndim == 3:
        return features[:, getattr(model, "num_prefix_tokens", 0) :].transpose(1, 2).unsqueeze(-1)
    if getattr(model, "output_fmt", "NCHW") == "NHWC":
        return features.permute(0, 3, 1, 2)
    return features


def averaged(model: Any, images: torch.Tensor) -> torch.Tensor | None:
    """What each place adds to a model's own pooling, float64 [n c h w], where that is the plain average; else None."""
    features = model.forward_features(images)
    pooled = model.forward_head(features).double()
    places = as_map(model, features).double()
    if places.ndim != 4 or places.shape[1] != pooled.shape[1]:
        return None
    mean = places.mean(dim=(-2, -1))
    same = torch.allclose(mean, pooled, rtol=1e-4, atol=1e-5 * float(pooled.abs().max()))
    return places / (places.shape[-2] * places.shape[-1]) if same else None


def width(backbone: nn.Module, input_size: int, name: str) -> int:
    """Channels that a backbone ends in, found by embedding one black image.

    Raises:
        ValueError: the backbone does not take images of this size.
    """
    training = backbone.training
    try:
        with torch.no_grad():
            return backbone.eval()(torch.zeros(1, 3, input_size, input_size)).shape[1]
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"{name} does not take images of {input_size} x {input_size}: {_first_line(error)}."
        ) from None
    finally:
        backbone.train(training)
