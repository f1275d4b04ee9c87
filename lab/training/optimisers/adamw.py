import torch

from lab.core.knobs import knob
from lab.training.optimisers.adam import Adam


class AdamW(Adam):
    """Adam with decoupled weight decay."""

    made_of = torch.optim.AdamW

    weight_decay: float = knob(
        "Weight decay of all weights.", default=1e-4, ge=0, le=1, scale="log"
    )
