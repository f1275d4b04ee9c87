"""How an encoder is laid out for others to load: by timm's names where it stands on timm, and code for transformers."""

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
    """By what the code in a folder builds one of our encoders; None of others, whose code is not ours to write."""
    head, model = getattr(encoder, "head", None), _backbone(encoder)
    if type(head) is not Head or not (isinstance(model, Stages) or hasattr(model, "pretrained_cfg")):
        return None
    knobs = encoder.knobs
    pooling = head.pool.pooling if isinstance(head.pool, Pool) else "native"
    norm, projector = isinstance(head.norm, nn.LayerNorm), isinstance(head.projector, nn.Linear)
    about: dict[str, Any] = {"pooling": pooling, "normalise": knobs.normalise, "head": {
        "width": next(layer.in_features for layer in head.modules() if isinstance(layer, nn.Linear))
        if isinstance(head.embed, nn.Linear) else encoder.dim,
        "dim": knobs.dim, "layer_norm": norm, "affine": norm and head.norm.elementwise_affine,
        "unit": knobs.unit_features, "projector": encoder.trained_dim if projector else None,
        "projector_bias": projector and head.projector.bias is not None,
    }}  # fmt: skip
    if isinstance(model, Stages):
        return {**about, "stages": knobs.width, "prefix": "", "head_file": False}
    side = encoder.input_size if encoder.input_size != model.pretrained_cfg["input_size"][-1] else None
    about |= {"architecture": model.pretrained_cfg["architecture"]}
    about |= {"image_size": side if hasattr(model, "set_input_size") else None}
    about |= {"prefix": "backbone." if pooling == "native" else "backbone.model."}
    return {**about, "head_file": bool(head.state_dict())}


def _backbone(encoder: Any) -> Any:
    backbone = getattr(encoder, "backbone", None)
    return backbone.model if isinstance(backbone, FeatureMap) else backbone


def write_weights(folder: Path, encoder: Any, layout: dict[str, Any] | None, geometry: Geometry) -> dict[str, Any]:
    """Write `model.safetensors` and, for what timm has no place for, `head.safetensors`; returns what timm wants to
    read in config.json."""
    if layout is None or "stages" in layout:
        state = {name: value.contiguous().cpu() for name, value in encoder.state_dict().items()}
        save_file(state, folder / "model.safetensors", {"format": "pt"})
        return {}
    from timm.models._hub import save_for_hf

    size, squash = geometry.size, "squash" if geometry.squash else "center"
    prepared = {"input_size": (3, size, size), "mean": encoder.mean, "std": encoder.std}
    prepared |= {"interpolation": geometry.interpolation}
    prepared |= {"crop_pct": size / (geometry.resize + 0.01), "crop_mode": squash}  # timm rounds down
    arguments = {"img_size": layout["image_size"]} if layout["image_size"] else {}
    if layout["pooling"] != "native":
        arguments |= {"global_pool": ""}
    save_for_hf(_backbone(encoder), str(folder), {"pretrained_cfg": prepared}, arguments, safe_serialization=True)
    if layout["head_file"]:
        head = {f"head.{name}": value.contiguous().cpu() for name, value in encoder.head.state_dict().items()}
        save_file(head, folder / HEAD, {"format": "pt"})
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


def modeling() -> str:
    """`modeling_rankscope.py`: the file `_modeling.py` with the definitions that it imports from here written out."""
    path = Path(__file__).with_name("_modeling.py")
    text = path.read_text(encoding="utf-8")
    ours = [n for n in ast.parse(text).body if isinstance(n, ast.ImportFrom) and (n.module or "").startswith("lab.")]
    found = [getattr(importlib.import_module(str(node.module)), name.name) for node in ours for name in node.names]
    lines = text.splitlines()
    before, after = lines[: ours[0].lineno - 1], lines[ours[-1].lineno :]
    title = '"""The encoder of this folder, for AutoModel.from_pretrained(..., trust_remote_code=True)."""'
    head = [title, *before[before.index("from __future__ import annotations") - 1 :], ""]
    return "\n".join([*head, "\n\n\n".join(map(inspect.getsource, found)), *after, ""])
