"""What every optimiser shares: learning rates of their own for anchors, for the last layer and for pooling."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

import lab.core.knobs
from lab.core.knobs import knob


class Optimiser:
    """Builds a torch optimiser over the encoder's weights, parts of them with a rate of their own, and the loss's."""

    class Knobs(lab.core.knobs.Knobs):
        lr: float = knob(1e-3, "Learning rate of the encoder.", gt=0, le=10, scale="log")
        anchors_lr: float | None = knob(
            None,
            "Learning rate of the loss's anchors or proxies; by default the encoder's.",
            gt=0,
            le=1000,
            scale="log",
        )
        head_lr: float | None = knob(
            None, "Learning rate of the last layer; by default the encoder's.", gt=0, le=10, scale="log"
        )
        pooling_lr: float | None = knob(
            None,
            "Learning rate of a learnt pooling, which then has no weight decay; by default the encoder's.",
            gt=0,
            le=10,
            scale="log",
            source="Radenovic et al. 2018",
        )
        weight_decay: float = knob(0.0, "Weight decay of all weights.", ge=0, le=1, scale="log")

    def __init__(self, **knobs: Any):
        self.knobs: Any = type(self).Knobs(**knobs)

    def build(self, encoder: nn.Module, loss: nn.Module) -> torch.optim.Optimizer:
        """The torch optimiser; each group remembers its `base_lr`, which the schedule multiplies.

        Raises:
            ValueError: nothing can be trained, or a part with a rate of its own has no weights.
        """
        apart = {
            name: self._weights_of(encoder, name)
            for name, rate in (("head", self.knobs.head_lr), ("pooling", self.knobs.pooling_lr))
            if rate is not None
        }
        taken = {id(p) for params in apart.values() for p in params}
        weights = {"encoder": [p for p in _trainable(encoder) if id(p) not in taken], **apart, "loss": _trainable(loss)}
        groups = [self._group(name, params) for name, params in weights.items() if params]
        if not groups:
            raise ValueError("Nothing to train: neither encoder nor loss has a weight that requires a gradient.")
        return self._make(groups)

    def _group(self, name: str, params: list[nn.Parameter]) -> dict:
        knobs = self.knobs
        group_rate = {"head": knobs.head_lr, "pooling": knobs.pooling_lr, "loss": knobs.anchors_lr}.get(name)
        rate = group_rate or knobs.lr
        spared = {"weight_decay": 0.0} if name == "pooling" else {}
        return {"name": name, "params": params, "lr": rate, "base_lr": rate, **spared}

    def _weights_of(self, encoder: nn.Module, name: str) -> list[nn.Parameter]:
        head = getattr(encoder, "head", None)
        part = getattr(head, {"head": "embed", "pooling": "pool"}[name], None)
        if part is None or not (params := _trainable(part)):
            what = {"head": "a last layer (encoder.dim none)", "pooling": "a pooling with weights (only gem has one)"}
            raise ValueError(f"optimiser: {name}_lr is set, but the encoder lacks {what[name]}; leave it out.")
        return params

    def _make(self, groups: list[dict]) -> torch.optim.Optimizer:
        """The torch optimiser over `groups`; the one thing that an entry writes."""
        raise AssertionError(f"{type(self).__name__} lacks _make")


def _trainable(module: nn.Module) -> list[nn.Parameter]:
    return [p for p in module.parameters() if p.requires_grad]
