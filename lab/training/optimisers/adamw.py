from typing import Any

import torch

from lab.core.knobs import knob
from lab.training.optimisers._base import Optimiser


class AdamW(Optimiser):
    """Adam with decoupled weight decay."""

    class Knobs(Optimiser.Knobs):
        weight_decay: float = knob(1e-4, "Weight decay of all weights.", ge=0, le=1, scale="log")
        betas: tuple[float, float] = knob(
            (0.9, 0.999), "Decay rates of the running mean and the running mean square.", ge=0, lt=1
        )
        eps: float = knob(
            1e-8, "Number that is added to the denominator for numerical stability.", gt=0, le=1, scale="log"
        )

    def _make(self, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
        return torch.optim.AdamW(
            groups, betas=self.knobs.betas, eps=self.knobs.eps, weight_decay=self.knobs.weight_decay
        )
