import torch

from lab.core.knobs import knob
from lab.training.optimisers.adam import Adam


class AdamW(Adam):
    """Adam with decoupled weight decay."""

    class Knobs(Adam.Knobs):
        weight_decay: float = knob(1e-4, "Weight decay of all weights.", ge=0, le=1, scale="log")

    def _make(self, groups: list[dict]) -> torch.optim.Optimizer:
        return torch.optim.AdamW(groups, **self.options)
