"""SoftTriple (Qian et al., 2019), from pytorch-metric-learning.

Several centres a class: an example's similarity to a class is the softmax-weighted mean over its centres, and softmax
cross-entropy runs over classes, the own one lowered by a margin; the mean over the batch. O(n c k d) time, O(n c k)
memory for k centres.
"""

from __future__ import annotations

from lab.core.knobs import knob
from lab.losses._pml import PmlClassLoss


class SoftTriple(PmlClassLoss):
    """Cross-entropy over classes of several centres (Qian et al., 2019). Not negative, lower is better.

    When to use: the images of one class form several groups, which one proxy cannot represent. A batch needs no
    positive pairs. Memory grows with the number of centres of all classes.

    Relations: with one centre per class and a margin of 0 it equals `normalized_softmax` with temperature 1 / la.

    Example:
        >>> import lab, torch
        >>> loss = lab.losses.create("soft_triple", num_classes=2, dim=2, centers_per_class=1, la=4)
        >>> loss.inner.fc.data = torch.eye(2)  # as training might have left it
        >>> embeddings = torch.tensor([[0.8, 0.6], [0.6, 0.8]])  # nearer to their class, and to the other
        >>> loss.per_query(embeddings, torch.tensor([0, 0])).detach().round(decimals=3)
        tensor([0.3840, 1.1990])
    """

    family = "proxy"
    temperatures = {"la": 10}
    theirs = "SoftTripleLoss"

    centers_per_class: int = knob("Number of centres of each class.", default=10, ge=1, le=1_000)
    la: float = knob(
        "Factor by which the similarities to classes are multiplied (lambda).",
        default=20.0,
        gt=0,
        scale="log",
    )
    gamma: float = knob(
        "Temperature of the softmax over a class's centres.",
        default=0.1,
        gt=0,
        scale="log",
        unit="cosine",
    )
    margin: float = knob(
        "Margin by which an image's own class must lead.", default=0.01, ge=0, le=2, unit="cosine"
    )
