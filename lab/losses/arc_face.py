"""ArcFace (Deng et al., 2019), from pytorch-metric-learning.

Softmax cross-entropy on scale * cosine, where the angle to the own class's weight is raised by a margin; the mean over
the batch. Where that would exceed 180 degrees, the cosine is lowered by margin * sin(margin) instead and goes on
falling. O(n c d) time, O(n c) memory.
"""

from __future__ import annotations

from lab.core.knobs import knob
from lab.losses._pml import PmlClassLoss


class ArcFace(PmlClassLoss):
    """Cross-entropy on cosines with an angular margin (Deng et al., 2019). Not negative, lower is better.

    When to use: the classes of the training images are known and each class has few images. A batch needs no positive
    pairs, so any sampler will do. The loss learns one weight vector per class.

    Relations: `cos_face` lowers the cosine instead of raising the angle. With a margin of 0 both equal
    `normalized_softmax` with temperature 1 / scale.

    Example:
        >>> import lab, torch
        >>> loss = lab.losses.create("arc_face", num_classes=2, dim=2, scale=8)
        >>> loss.inner.W.data = torch.eye(2)  # as training might have left it
        >>> embeddings = torch.tensor([[0.8, 0.6], [0.6, 0.8]])  # nearer to their class, and to the other
        >>> loss.per_query(embeddings, torch.tensor([0, 0])).detach().round(decimals=3)
        tensor([1.6840, 5.2550])
    """

    family = "classification"
    temperatures = {"scale": 10}
    theirs = "ArcFaceLoss"

    margin: float = knob(
        "Margin by which an image's own class must lead.", default=28.6, ge=0, le=90, unit="degrees"
    )
    scale: float = knob(
        "Factor by which the cosines are multiplied (inverse temperature).",
        default=64.0,
        gt=0,
        scale="log",
    )
