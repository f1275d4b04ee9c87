"""What every optimiser shares: its own learning rate for anchors and proxies."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

import lab.core.knobs
from lab.core.knobs import knob


class Optimiser:
    """Builds a torch optimiser over two groups: the encoder's weights, and the loss's own (anchors, proxies)."""

    class Knobs(lab.core.knobs.Knobs):
        lr: float = knob(1e-3, "learning rate of the encoder", gt=0, le=10, scale="log")
        anchors_lr: float | None = knob(
            None,
            "learning rate of the loss's anchors or proxies; by default the encoder's",
            gt=0,
            le=1000,
            scale="log",
        )
        weight_decay: float = knob(0.0, "decay of all weights", ge=0, le=1, scale="log")

    def __init__(self, **knobs):
        self.knobs: Any = type(self).Knobs(**knobs)

    def build(self, encoder: nn.Module, loss: nn.Module) -> torch.optim.Optimizer:
        """The torch optimiser; each group remembers its `base_lr`, which the schedule multiplies."""
        rates = {"encoder": self.knobs.lr, "loss": self.knobs.anchors_lr or self.knobs.lr}
        modules = {"encoder": encoder, "loss": loss}
        groups = [
            {"name": name, "params": params, "lr": rates[name], "base_lr": rates[name]}
            for name, module in modules.items()
            if (params := [p for p in module.parameters() if p.requires_grad])
        ]
        if not groups:
            raise ValueError("Nothing to train: neither encoder nor loss has a weight that requires a gradient.")
        return self._make(groups)

    def _make(self, groups: list[dict]) -> torch.optim.Optimizer:
        """The torch optimiser over `groups`; the one thing that an entry writes."""
        raise AssertionError(f"{type(self).__name__} lacks _make")
