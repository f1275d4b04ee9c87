import torch

from lab.core.knobs import knob
from lab.training.optimisers._base import Optimiser


class SGD(Optimiser):
    """Stochastic gradient descent with momentum."""

    class Knobs(Optimiser.Knobs):
        lr: float = knob(0.05, "Learning rate of the encoder.", gt=0, le=10, scale="log")
        momentum: float = knob(0.9, "Momentum: share of the last step that is added to the next.", ge=0, lt=1)
        nesterov: bool = knob(False, "Use Nesterov momentum; needs momentum above 0.")

    def _make(self, groups: list[dict]) -> torch.optim.Optimizer:
        if self.knobs.nesterov and not self.knobs.momentum:
            raise ValueError("SGD: nesterov needs momentum above 0, got momentum=0.")
        return torch.optim.SGD(groups, **self.options)
