"""Mixed precision: the autocast of a pass, and the loss scale that float16 needs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

import torch

_TYPES = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}


def chosen(name: str, device: torch.device | str = "cpu") -> str:
    """Return the precision that `auto` means on a device: bfloat16 if it computes natively with it, else float32. Other
    names are returned as they are."""
    if name != "auto":
        return name
    if torch.device(device).type == "cuda":
        native = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        native = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return "bfloat16" if native else "float32"


class MixedPrecision:
    """Autocast, scaled backward pass, unscaled clipping and the optimiser's step.

    Args:
        name: float32 (no autocast of its own; on a GPU convolutions round factors to TF32, as torch sets it by
            default), bfloat16, float16 (with a loss scale that adapts), or auto, see `chosen`.
        device: where the encoder runs.
    """

    def __init__(self, name: str = "float32", device: torch.device | str = "cpu"):
        name = chosen(name, device)
        self.device = torch.device(device)
        if name not in _TYPES:
            raise ValueError(f"precision must be one of auto, {', '.join(_TYPES)}, got {name!r}.")
        self.name = name
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=name == "float16")

    def autocast(self) -> AbstractContextManager:
        """Return a fresh autocast context; enter one per forward pass, so that no cached cast outlives its pass."""
        kind = self.device.type
        dtype = _TYPES[self.name]
        if dtype is not None:
            return torch.autocast(kind, dtype=dtype)
        if not torch.is_autocast_enabled(kind):
            return nullcontext()
        # The caller's own autocast is on. It stays, without its cache: a weight that was cast in a pass without graph
        # would lose its gradient in the next.
        return torch.autocast(kind, dtype=torch.get_autocast_dtype(kind), cache_enabled=False)

    def backward(self, loss: torch.Tensor) -> None:
        """Run the backward pass from a scalar, scaled if float16 needs it."""
        self.scaler.scale(loss).backward()

    def clip(
        self,
        optimiser: torch.optim.Optimizer,
        parameters: Iterable[torch.nn.Parameter],
        largest: float | None,
    ) -> float:
        """Unscale the gradients and clip their norm to `largest`. Returns the norm before clipping."""
        self.scaler.unscale_(optimiser)
        limit = math.inf if largest is None else largest
        return float(torch.nn.utils.clip_grad_norm_(parameters, limit))

    def step(self, optimiser: torch.optim.Optimizer) -> None:
        """Let the optimiser step; a float16 step whose gradient overflowed is skipped and the scale lowered."""
        self.scaler.step(optimiser)
        self.scaler.update()

    @property
    def scales(self) -> bool:
        """Whether an overflowing gradient is part of normal work, as in float16."""
        return self.scaler.is_enabled()

    def state_dict(self) -> dict:
        return self.scaler.state_dict()

    def load_state_dict(self, state: dict) -> None:
        if state:
            self.scaler.load_state_dict(state)
