"""What a loss has learnt of each class, found by the names of its weights: anchors, or a linear classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor

from lab.core.results import Classifier


def is_anchors(name: str) -> bool:
    """Whether a weight of a loss holds class anchors."""
    return name.rpartition(".")[2] == "anchors"


def anchors_in(state: Mapping[str, Tensor]) -> np.ndarray | None:
    """Class anchors [c d] in the state of a loss, wrapped or not, if it has any."""
    return next((value.cpu().numpy() for name, value in state.items() if is_anchors(name)), None)


def classifier_in(state: Mapping[str, Tensor]) -> tuple[np.ndarray, np.ndarray] | None:
    """Weight [c d] and bias [c] of the linear classifier in the state of a loss, wrapped or not, if it has one."""
    place = next((name for name in state if f".{name}".endswith(".classifier.weight")), None)
    if place is None:
        return None
    weight, bias = state[place].cpu().numpy(), state.get(place.removesuffix("weight") + "bias")
    return weight, np.zeros(len(weight), np.float32) if bias is None else bias.cpu().numpy()


def class_evidence(state: Mapping[str, Tensor], labels: np.ndarray) -> dict[str, Any]:
    """What `lab.evaluation.scores.evaluate` takes of a loss's class weights, by the names of its arguments.

    Weights of some classes only, such as one of several processes has of a loss that is shared out, are left out.

    Args:
        state: of the loss. labels: int64 [c], the class label of each row of its weights.
    """
    anchors, classifier = anchors_in(state), classifier_in(state)
    weights: dict[str, Any] = {}
    if anchors is not None and len(anchors) == len(labels):
        weights |= {"anchors": anchors, "anchor_labels": labels}
    if classifier is not None and len(classifier[0]) == len(labels):
        weights["classifier"] = Classifier(*classifier, labels)
    return weights
