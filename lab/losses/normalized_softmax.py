"""NormSoftmax (Zhai and Wu, 2019), from pytorch-metric-learning.

Softmax cross-entropy on cosine / temperature of unit rows with unit class weights; the mean over the batch.
O(n c d) time, O(n c) memory.
"""

from __future__ import annotations

from lab.core.knobs import knob
from lab.losses._pml import PmlClassLoss


class NormalizedSoftmax(PmlClassLoss):
    """Cross-entropy on cosines with class weights (Zhai and Wu, 2019). Not negative, lower is better.

    When to use: a baseline of classification that is trained on cosines, as the search uses them. A batch needs no
    positive pairs. The loss learns one weight vector per class.

    Relations: `cross_entropy` without bias, on rows and weights of unit length. `arc_face` and `cos_face` add a margin.
    `proxy_nca` with twice the temperature has the same value.

    Example:
        >>> import lab, torch
        >>> loss = lab.losses.create("normalized_softmax", num_classes=2, dim=2, temperature=0.5)
        >>> loss.inner.W.data = torch.eye(2)  # as training might have left it
        >>> embeddings = torch.tensor([[0.8, 0.6], [0.6, 0.8]])  # nearer to their class, and to the other
        >>> loss.per_query(embeddings, torch.tensor([0, 0])).detach().round(decimals=3)
        tensor([0.5130, 0.9130])
    """

    family = "classification"
    temperatures = {"temperature": 0.1}
    theirs = "NormalizedSoftmaxLoss"

    temperature: float = knob(
        "Temperature of the softmax.", default=0.05, gt=0, scale="log", unit="cosine"
    )
