"""CosFace (Wang et al., 2018), from pytorch-metric-learning.

Softmax cross-entropy on scale * cosine, where the cosine to the own class's weight is lowered by a margin; the mean
over the batch. O(n c d) time, O(n c) memory.
"""

from __future__ import annotations

from lab.core.knobs import knob
from lab.losses._pml import PmlClassLoss


class CosFace(PmlClassLoss):
    """Cross-entropy on cosines with an additive margin (Wang et al., 2018). Not negative, lower is better.

    When to use: as `arc_face`, whose margin is an angle; here it is a cosine. A batch needs no positive pairs. The loss
    learns one weight vector per class.

    Relations: with a margin of 0 it equals `normalized_softmax` with temperature 1 / scale.

    Example:
        >>> import lab, torch
        >>> loss = lab.losses.create("cos_face", num_classes=2, dim=2, scale=8)
        >>> loss.inner.W.data = torch.eye(2)  # as training might have left it
        >>> embeddings = torch.tensor([[0.8, 0.6], [0.6, 0.8]])  # nearer to their class, and to the other
        >>> loss.per_query(embeddings, torch.tensor([0, 0])).detach().round(decimals=3)
        tensor([1.4630, 4.4120])
    """

    family = "classification"
    temperatures = {"scale": 10}
    theirs = "CosFaceLoss"

    margin: float = knob(
        "Margin by which an image's own class must lead.", default=0.35, ge=0, le=1, unit="cosine"
    )
    scale: float = knob(
        "Factor by which the cosines are multiplied (inverse temperature).",
        default=64.0,
        gt=0,
        scale="log",
    )
