"""What the studies of paper 003 share: its protocol, its three losses, its measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lab.metrics
from lab.claims._study import SEEN_CLASSES, DataSetup, Point
from lab.core.results import Evidence
from lab.evaluation.scores import class_evidence

if TYPE_CHECKING:
    from lab.claims._model import TrainedModel


SEEN = DataSetup("seen")
DIM = 256
CAM, CE, CL = "class anchors", "cross-entropy", "contrastive"
LRS = (1e-3, 3e-3)
"""Of 0.001, 0.003 and 0.01 the two that the study `anchor_accuracy` chose."""

REMARK = (
    "As in the paper, test images are of classes that were trained on, and search the training images: 240 classes, "
    "four images each to train on and to search in, one to choose the learning rate by, one to test."
)


def loss(name: str, dim: int = DIM) -> dict:
    """A loss of the paper; anchors start on base vectors where there are as many dimensions as classes."""
    return {
        CAM: {"name": "class_anchor_margin", "init": "base" if dim >= SEEN_CLASSES else "random"},
        CE: {"name": "cross_entropy"},
        CL: {"name": "contrastive"},
    }[name]


def point(name: str, setting: dict, dim: int = DIM, task: DataSetup = SEEN, **sections: Any) -> Point:
    """One loss of the paper at one place of an axis."""
    config = {"loss": loss(name, dim), "encoder": {"dim": dim}, **sections}
    return Point({"loss": name, **setting}, config, task)


def accuracy(model: TrainedModel) -> dict[str, float]:
    """Share of the queries that the nearest anchor (003, eq. 11), the classifier or, without class weights, the nearest
    neighbour gives their class."""
    weights = class_evidence(model.parts.loss.state_dict(), model.parts.classes)
    if not weights:
        return {"accuracy": model.evaluation.values["r@1"]}
    metric = lab.metrics.create("nearest_anchor_accuracy" if "anchors" in weights else "classifier_accuracy")
    measurement = metric(Evidence(model.evaluation.ranking, model.query, model.searched, **weights))
    return {"accuracy": next(iter(measurement.values.values()))}
