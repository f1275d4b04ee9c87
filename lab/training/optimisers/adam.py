import torch

from lab.core.knobs import knob
from lab.training.optimisers._base import Optimiser


class Adam(Optimiser):
    """Adam; its weight decay is added to the gradient."""

    class Knobs(Optimiser.Knobs):
        betas: tuple[float, float] = knob(
            (0.9, 0.999), "Decay rates of the running mean and the running mean square.", ge=0, lt=1
        )
        eps: float = knob(
            1e-8, "Number that is added to the denominator for numerical stability.", gt=0, le=1, scale="log"
        )

    def _make(self, groups: list[dict]) -> torch.optim.Optimizer:
        return torch.optim.Adam(groups, **self.options)
