import torch

from lab.core.knobs import knob
from lab.training.optimisers._base import Optimiser


class RMSprop(Optimiser):
    """RMSprop; its weight decay is added to the gradient."""

    made_of = torch.optim.RMSprop

    alpha: float = knob("Decay rate of the running mean square.", default=0.99, ge=0, lt=1)
    eps: float = knob(
        "Number that is added to the denominator for numerical stability.",
        default=1e-8,
        gt=0,
        le=1,
        scale="log",
    )
    momentum: float = knob(
        "Momentum: share of the last step that is added to the next.", default=0.0, ge=0, lt=1
    )
