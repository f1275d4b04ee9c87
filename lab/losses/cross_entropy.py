"""Softmax cross-entropy of a linear classifier on the embedding: the baseline with which ranking losses are compared.

    -log softmax((W e + b) / temperature)_y, mean over the batch

O(n c d) time, O(n c) memory.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from lab.core.knobs import knob
from lab.losses._base import ClassLoss
from lab.losses._batch import Batch


class CrossEntropy(ClassLoss):
    """Cross-entropy of a linear classifier. Not negative, lower is better; embeddings are used as they are.

    classifier: linear layer with weight [c d].

    When to use: the baseline for every other loss. A batch needs no positive pairs. The encoder should not normalise
    its embeddings, because their lengths carry information here.

    Relations: `normalized_softmax` is the same on rows and weights of unit length. The metric `classifier_accuracy`
    reads its classifier.

    Example:
        >>> import lab, torch
        >>> loss = lab.losses.create("cross_entropy", num_classes=2, dim=2, bias=False)
        >>> loss.classifier.weight.data = torch.eye(2)  # as training might have left it
        >>> embeddings = torch.tensor([[1.0, 0.0], [3.0, 0.0]])  # a longer embedding gives a more confident class
        >>> loss.per_query(embeddings, torch.tensor([0, 0])).detach().round(decimals=3)
        tensor([0.3130, 0.0490])
    """

    family = "classification"
    temperatures = {"temperature": 0.1}
    cosine = False
    lengths_matter = True

    bias: bool = knob("Learn a bias for each class.", default=True)
    temperature: float = knob(
        "Temperature by which the logits are divided.",
        default=1.0,
        gt=0,
        scale="log",
        source="DML deck, tricks",
    )
    label_smoothing: float = knob(
        "Share of each target that is spread over all classes.", default=0.0, ge=0, lt=1
    )

    def __post_init__(self) -> None:
        self.classifier = nn.Linear(self.knobs.dim, self.knobs.num_classes, bias=self.knobs.bias)

    def values(self, batch: Batch) -> Tensor:
        rows = batch.queries
        weight = self.classifier.weight.to(rows)
        bias = None if self.classifier.bias is None else self.classifier.bias.to(rows)
        logits = F.linear(rows, weight, bias) / self.knobs.temperature
        return F.cross_entropy(
            logits, batch.query_labels, reduction="none", label_smoothing=self.knobs.label_smoothing
        )
