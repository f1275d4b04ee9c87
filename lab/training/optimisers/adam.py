from typing import Any, ClassVar

import torch

from lab.core.knobs import knob
from lab.training.optimisers._base import Optimiser


class Adam(Optimiser):
    """Adam; its weight decay is added to the gradient."""

    made_of: ClassVar[Any] = torch.optim.Adam

    betas: tuple[float, float] = knob(
        "Decay rates of the running mean and the running mean square.",
        default=(0.9, 0.999),
        ge=0,
        lt=1,
    )
    eps: float = knob(
        "Number that is added to the denominator for numerical stability.",
        default=1e-8,
        gt=0,
        le=1,
        scale="log",
    )
