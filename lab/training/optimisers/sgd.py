import torch

from lab.core.knobs import knob
from lab.training.optimisers._base import Optimiser


class SGD(Optimiser):
    """Stochastic gradient descent with momentum."""

    made_of = torch.optim.SGD

    lr: float = knob("Learning rate of the encoder.", default=0.05, gt=0, le=10, scale="log")
    momentum: float = knob(
        "Momentum: share of the last step that is added to the next.", default=0.9, ge=0, lt=1
    )
    nesterov: bool = knob("Use Nesterov momentum; needs momentum above 0.", default=False)

    def __post_init__(self) -> None:
        if self.knobs.nesterov and not self.knobs.momentum:
            raise ValueError("SGD: nesterov needs momentum above 0, got momentum=0.")
