"""What every optimiser shares: learning rates of their own for anchors and for parts of the encoder's head."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import nn

from lab.core.knobs import HasKnobs, knob

PARTS = {
    "head": ("embed", "a last layer (encoder.dim none)"),
    "projector": ("projector", "a projector (encoder.projector true)"),
    "pooling": ("pool", "a pooling with weights (only gem has one)"),
}
"""Parts of the encoder's head that may have a rate of their own: attribute, and what an encoder without it lacks."""


def _rate_of(part: str, le: float = 10, source: str = "") -> Any:
    """A learning rate of a part's own."""
    words = f"Learning rate of {part}; by default the encoder's."
    return knob(words, default=None, gt=0, le=le, scale="log", source=source)


class Optimiser(HasKnobs):
    """Builds a torch optimiser over the encoder's weights, parts of them with a rate of their own, and the loss's.

    made_of: torch's class, whose arguments the knobs are; the one thing that an entry says.
    """

    made_of: ClassVar[Any]

    lr: float = knob("Learning rate of the encoder.", default=1e-3, gt=0, le=10, scale="log")
    anchors_lr: float | None = _rate_of("the loss's anchors or proxies", le=1000)
    head_lr: float | None = _rate_of("the last layer")
    projector_lr: float | None = _rate_of("the projector", source="Contextual, released code")
    pooling_lr: float | None = _rate_of(
        "a learnt pooling, which then has no weight decay", source="Radenovic et al. 2018"
    )
    weight_decay: float = knob("Weight decay of all weights.", default=0.0, ge=0, le=1, scale="log")

    def build(self, encoder: nn.Module, loss: nn.Module) -> torch.optim.Optimizer:
        """The torch optimiser; each group remembers its `base_lr`, which the schedule multiplies.

        Raises:
            ValueError: nothing can be trained, or a part with a rate of its own has no weights.
        """
        parts = {name: self._weights_of(encoder, name) for name in PARTS if getattr(self.knobs, f"{name}_lr")}
        taken = {id(p) for params in parts.values() for p in params}
        weights = {"encoder": [p for p in _trainable(encoder) if id(p) not in taken], **parts, "loss": _trainable(loss)}
        groups = [self._group(name, params) for name, params in weights.items() if params]
        if not groups:
            raise ValueError("Nothing to train: neither encoder nor loss has a weight that requires a gradient.")
        # Learning rates stand in the groups.
        options = {name: value for name, value in self.knobs if name != "lr" and not name.endswith("_lr")}
        return self.made_of(groups, **options)

    def _group(self, name: str, params: list[nn.Parameter]) -> dict:
        knobs = self.knobs
        rate = getattr(knobs, "anchors_lr" if name == "loss" else f"{name}_lr", None) or knobs.lr
        spared = {"weight_decay": 0.0} if name == "pooling" else {}
        return {"name": name, "params": params, "lr": rate, "base_lr": rate, **spared}

    def _weights_of(self, encoder: nn.Module, name: str) -> list[nn.Parameter]:
        head = getattr(encoder, "head", None)
        attribute, what = PARTS[name]
        part = getattr(head, attribute, None)
        if part is None or not (params := _trainable(part)):
            raise ValueError(f"optimiser: {name}_lr is set, but the encoder lacks {what}; leave it out.")
        return params


def _trainable(module: nn.Module) -> list[nn.Parameter]:
    return [p for p in module.parameters() if p.requires_grad]
