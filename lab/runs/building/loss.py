"""From a configuration to its loss alone, without what loading images takes to import."""

from __future__ import annotations

import lab.wrappers
from lab.losses import Loss
from lab.runs.config import RunConfig


def wrapped_loss(config: RunConfig, num_classes: int, dim: int) -> Loss:
    """Fresh loss with its wrappers, on the CPU."""
    derived = {"num_classes": num_classes, "dim": dim}
    loss: Loss = config.loss.create(**derived)
    for choice in config.wrappers:
        open_knobs = {k: derived[k] for k in choice.derived}
        loss = lab.wrappers.create(choice.name, loss=loss, **choice.values, **open_knobs)
    return loss
