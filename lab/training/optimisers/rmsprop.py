import torch

from lab.core.knobs import knob
from lab.training.optimisers._base import Optimiser


class RMSprop(Optimiser):
    """RMSprop; its weight decay is added to the gradient."""

    class Knobs(Optimiser.Knobs):
        alpha: float = knob(0.99, "Decay rate of the running mean square.", ge=0, lt=1)
        eps: float = knob(
            1e-8, "Number that is added to the denominator for numerical stability.", gt=0, le=1, scale="log"
        )
        momentum: float = knob(0.0, "Momentum: share of the last step that is added to the next.", ge=0, lt=1)

    def _make(self, groups: list[dict]) -> torch.optim.Optimizer:
        return torch.optim.RMSprop(groups, **self.options)
