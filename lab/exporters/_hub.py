"""Layout of an exported encoder: weights under timm's names if it has a backbone of timm, and code for transformers."""

import ast
import importlib
import inspect
import json
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import nn

from lab.encoders import FeatureMap, Head, Pool
from lab.encoders.small_cnn import Stages
from lab.exporters._preparation import Geometry
from lab.runs.building.published import HEAD


def layout_of(encoder: Any) -> dict[str, Any] | None:
    """Return the settings by which the code in the folder builds the encoder; None if it is not one of our encoders."""
    head = getattr(encoder, "head", None)
    model = _backbone(encoder)
    if type(head) is not Head or not (
        isinstance(model, Stages) or hasattr(model, "pretrained_cfg")
    ):
        return None

    pooling = head.pool.pooling if isinstance(head.pool, Pool) else "native"
    layout: dict[str, Any] = {
        "pooling": pooling,
        "normalise": encoder.knobs.normalise,
        "head": _head_settings(encoder, head),
    }
    if isinstance(model, Stages):
        layout["stages"] = encoder.knobs.width
        layout["prefix"] = ""
        layout["head_file"] = False
        return layout

    # A backbone of timm: its image size is stored only if it is not timm's own and the model can change it.
    layout["architecture"] = model.pretrained_cfg["architecture"]
    layout["image_size"] = None
    if encoder.input_size != model.pretrained_cfg["input_size"][-1] and hasattr(
        model, "set_input_size"
    ):
        layout["image_size"] = encoder.input_size
    layout["prefix"] = "backbone." if pooling == "native" else "backbone.model."
    layout["head_file"] = bool(head.state_dict())
    return layout


def _head_settings(encoder: Any, head: Head) -> dict[str, Any]:
    """Return the arguments from which the code in the folder builds the head."""
    width = encoder.dim
    if isinstance(head.embed, nn.Linear):
        width = next(layer.in_features for layer in head.modules() if isinstance(layer, nn.Linear))
    settings = {
        "width": width,
        "dim": encoder.knobs.dim,
        "layer_norm": False,
        "affine": False,
        "unit": encoder.knobs.unit_features,
        "projector": None,
        "projector_bias": False,
    }
    if isinstance(head.norm, nn.LayerNorm):
        settings["layer_norm"] = True
        settings["affine"] = head.norm.elementwise_affine
    if isinstance(head.projector, nn.Linear):
        settings["projector"] = encoder.trained_dim
        settings["projector_bias"] = head.projector.bias is not None
    return settings


def _backbone(encoder: Any) -> Any:
    backbone = getattr(encoder, "backbone", None)
    if isinstance(backbone, FeatureMap):
        return backbone.model
    return backbone


def write_weights(
    folder: Path, encoder: Any, layout: dict[str, Any] | None, geometry: Geometry
) -> dict[str, Any]:
    """Write `model.safetensors` and, for the weights of the head that timm does not know, `head.safetensors`.

    Returns:
        the entries that timm reads from config.json.
    """
    if layout is None or "stages" in layout:
        state = {name: value.contiguous().cpu() for name, value in encoder.state_dict().items()}
        save_file(state, folder / "model.safetensors", {"format": "pt"})
        return {}
    from timm.models._hub import save_for_hf

    size = geometry.size
    preprocessing = {
        "input_size": (3, size, size),
        "mean": encoder.mean,
        "std": encoder.std,
        "interpolation": geometry.interpolation,
        "crop_pct": size / (geometry.resize + 0.01),  # timm rounds down
        "crop_mode": "squash" if geometry.squash else "center",
    }
    arguments = {}
    if layout["image_size"]:
        arguments["img_size"] = layout["image_size"]
    if layout["pooling"] != "native":
        arguments["global_pool"] = ""
    timm_config = {"pretrained_cfg": preprocessing}
    save_for_hf(_backbone(encoder), str(folder), timm_config, arguments, safe_serialization=True)
    if layout["head_file"]:
        head = {
            f"head.{name}": value.contiguous().cpu()
            for name, value in encoder.head.state_dict().items()
        }
        save_file(head, folder / HEAD, {"format": "pt"})
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


def modeling() -> str:
    """Return the text of `modeling_rankscope.py`: `_modeling.py` with the source of what it imports from lab."""
    path = Path(__file__).with_name("_modeling.py")
    text = path.read_text(encoding="utf-8")

    # Collect the source of the definitions that the file imports from lab.
    imports = []
    sources = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lab."):
            imports.append(node)
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                sources.append(inspect.getsource(getattr(module, alias.name)))

    # Put them in place of these imports, and a title in place of the docstring.
    lines = text.splitlines()
    before = lines[: imports[0].lineno - 1]
    after = lines[imports[-1].lineno :]
    title = '"""The encoder of this folder, for AutoModel.from_pretrained(..., trust_remote_code=True)."""'
    head = [title, *before[before.index("from __future__ import annotations") - 1 :], ""]
    return "\n".join([*head, "\n\n\n".join(sources), *after, ""])
