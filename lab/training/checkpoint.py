"""Checkpoints: one safetensors file holds every tensor, and its header every number. No pickle is written or read.

One file, replaced in one rename, means that weights, optimiser and counters can never be of different steps.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save as serialised

from lab.core import arrays
from lab.core.files import check_fits, parse_json, write_bytes

FORMAT = 1
_TENSOR = "$tensor"
_INT_KEYS = "$int_keys"


def save(path: Path, state: Mapping[str, Any]) -> None:
    """Write a nested mapping of tensors, numbers, strings, lists and mappings (the `state_dict`s of torch) atomically.

    Raises:
        OSError: the disk is full or the folder cannot be written; the old file stays.
        TypeError: a value is none of these.
    """
    tensors: dict[str, torch.Tensor] = {}
    text = json.dumps(_flatten(state, "", tensors))
    sums = arrays.checksums({name: _bytes(value) for name, value in tensors.items()})
    header = {"format": str(FORMAT), "structure": text, arrays.CHECKSUMS: sums}
    write_bytes(path, serialised(tensors, header))


def load(path: Path, device: torch.device | str = "cpu") -> dict[str, Any]:
    """Read a file that `save` wrote.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is no checkpoint, is damaged, or is of a later format.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no checkpoint {path}; train the run first.")
    with arrays.opened(path, "pt") as file:
        header = file.metadata() or {}
        check_fits(path, arrays.bytes_of(file, file.keys()))
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (no mapping)
    if header.get("format") != str(FORMAT):
        raise ValueError(
            f"{path} is no checkpoint of this version: format {header.get('format')}, known {FORMAT}."
        )
    arrays.verify(path, header, {name: _bytes(value) for name, value in tensors.items()})
    placed = {name: value.to(device) for name, value in tensors.items()}
    try:
        return _restore(parse_json(header.get("structure", "").encode(), infinite=True), placed)
    except ValueError as error:
        raise arrays.unreadable(path, f"its list of contents: {error}") from None
    except (AttributeError, KeyError, TypeError):
        raise arrays.unreadable(
            path, "its list of contents names tensors that it does not hold"
        ) from None


def config_in(path: Path) -> dict[str, Any] | None:
    """Return the configuration that a checkpoint was trained by, as YAML gives it; None if it holds none, as in version
    0.2. Only the header is read.

    Raises:
        ValueError: the file is damaged.
    """
    with arrays.opened(path, "pt") as file:
        structure = parse_json((file.metadata() or {}).get("structure", "{}").encode())
    config = structure.get("config")
    if not isinstance(config, dict | None):
        raise arrays.unreadable(path, "it holds no configuration")
    return config


def _bytes(tensor: torch.Tensor) -> np.ndarray:
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy()


def _flatten(value: Any, name: str, tensors: dict[str, torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        # Tied weights share memory, which the format refuses: each gets its own copy.
        tensors[name] = value.detach().to("cpu", copy=True).contiguous()
        return {_TENSOR: name}
    if isinstance(value, Mapping):
        inner = {}
        for key, part in value.items():
            inner[str(key)] = _flatten(part, f"{name}.{key}" if name else str(key), tensors)
        if value and all(isinstance(key, int) for key in value):  # JSON has keys of text only
            return {_INT_KEYS: inner}
        return inner
    if isinstance(value, list | tuple):
        return [_flatten(part, f"{name}.{index}", tensors) for index, part in enumerate(value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"A checkpoint holds tensors, numbers and strings; {name} is a {type(value).__name__}."
    )


def _restore(value: Any, tensors: dict[str, torch.Tensor]) -> Any:
    if isinstance(value, list):
        return [_restore(part, tensors) for part in value]
    if not isinstance(value, dict):
        return value
    if _TENSOR in value:
        return tensors[value[_TENSOR]]
    if _INT_KEYS in value:
        return {int(key): _restore(part, tensors) for key, part in value[_INT_KEYS].items()}
    return {key: _restore(part, tensors) for key, part in value.items()}
