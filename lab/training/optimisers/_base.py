"""Base class of all optimisers: separate learning rates for anchors and for parts of the encoder's head."""

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
"""Parts of the encoder's head with a learning rate of their own: attribute, and what an encoder without it lacks."""


def _rate_of(part: str, le: float = 10, source: str = "") -> Any:
    """Declare the learning rate of a part."""
    words = f"Learning rate of {part}; by default the encoder's."
    return knob(words, default=None, gt=0, le=le, scale="log", source=source)


class Optimiser(HasKnobs):
    """Builds a torch optimiser over the weights of the encoder, its parts with their own learning rates, and the loss.

    made_of: torch's class, whose arguments the knobs are.
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
        """Build the torch optimiser; each group has a `base_lr`, which the schedule multiplies.

        Raises:
            ValueError: nothing can be trained, or a part with a rate of its own has no weights.
        """
        parts = {
            name: self._weights_of(encoder, name)
            for name in PARTS
            if getattr(self.knobs, f"{name}_lr")
        }
        taken: set[int] = set()
        for weights in parts.values():
            taken.update(map(id, weights))
        rest = [weight for weight in _trainable(encoder) if id(weight) not in taken]
        groups = []
        for name, weights in {"encoder": rest, **parts, "loss": _trainable(loss)}.items():
            if weights:
                groups.append(self._group(name, weights))
        if not groups:
            raise ValueError(
                "Nothing to train: neither encoder nor loss has a weight that requires a gradient."
            )
        # The groups have the learning rates.
        options = {
            name: value for name, value in self.knobs if name != "lr" and not name.endswith("_lr")
        }
        return self.made_of(groups, **options)

    def _group(self, name: str, params: list[nn.Parameter]) -> dict:
        knobs = self.knobs
        rate = getattr(knobs, "anchors_lr" if name == "loss" else f"{name}_lr", None) or knobs.lr
        group = {"name": name, "params": params, "lr": rate, "base_lr": rate}
        if name == "pooling":
            group["weight_decay"] = 0.0
        return group

    def _weights_of(self, encoder: nn.Module, name: str) -> list[nn.Parameter]:
        head = getattr(encoder, "head", None)
        attribute, what = PARTS[name]
        part = getattr(head, attribute, None)
        params = [] if part is None else _trainable(part)
        if not params:
            raise ValueError(
                f"optimiser: {name}_lr is set, but the encoder lacks {what}; leave it out."
            )
        return params


def _trainable(module: nn.Module) -> list[nn.Parameter]:
    return [weight for weight in module.parameters() if weight.requires_grad]
