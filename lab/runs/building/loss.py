"""Build the loss of a configuration alone, without the imports that loading images needs."""

from __future__ import annotations

from typing import Any

from torch import nn

import lab.wrappers
from lab.runs.config import RunConfig


def wrapped_loss(
    config: RunConfig, num_classes: int, dim: int, custom: nn.Module | None = None
) -> nn.Module:
    """Return a fresh loss, or the user's own, with its wrappers, on the CPU."""
    derived: dict[str, Any] = {"num_classes": num_classes, "dim": dim}
    loss = config.loss.create(**derived) if custom is None else custom
    for choice in config.wrappers:
        open_knobs = {knob: derived[knob] for knob in choice.derived}
        loss = lab.wrappers.create(choice.name, loss=loss, **choice.values, **open_knobs)
    return loss
