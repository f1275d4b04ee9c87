import torch

from lab.core.knobs import knob
from lab.training.optimisers._base import Optimiser


class RMSprop(Optimiser):
    """RMSprop; its weight decay is added to the gradient."""

    class Knobs(Optimiser.Knobs):
        alpha: float = knob(0.99, "decay of the running mean of squares", ge=0, lt=1)
        eps: float = knob(1e-8, "added to the root in the denominator", gt=0, le=1, scale="log")
        momentum: float = knob(0.0, "share of the last step that goes into the next", ge=0, lt=1)

    def _make(self, groups):
        return torch.optim.RMSprop(
            groups,
            alpha=self.knobs.alpha,
            eps=self.knobs.eps,
            momentum=self.knobs.momentum,
            weight_decay=self.knobs.weight_decay,
        )
