import torch

from lab.core.knobs import knob
from lab.training.optimisers._base import Optimiser


class Adam(Optimiser):
    """Adam; its weight decay is added to the gradient."""

    class Knobs(Optimiser.Knobs):
        betas: tuple[float, float] = knob((0.9, 0.999), "decay of the running mean and square", ge=0, lt=1)
        eps: float = knob(1e-8, "added to the root in the denominator", gt=0, le=1, scale="log")

    def _make(self, groups):
        return torch.optim.Adam(
            groups, betas=self.knobs.betas, eps=self.knobs.eps, weight_decay=self.knobs.weight_decay
        )
