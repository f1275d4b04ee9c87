"""Class anchor margin loss, CAM (003, eq. 1-4): learn one anchor a class, pull examples to it, push anchors apart.

    attractor   1/2 |e - c_y|^2, mean over the batch                                    (eq. 1)
    repeller    1/2 sum over ordered pairs of classes of max(0, 2 m - |c - c'|)^2       (eq. 2)
    norm        1/2 sum over classes of max(0, p - |c|)^2                               (eq. 3)

and the loss is their sum. Nothing is normalised: embeddings live in free space, and an anchor is the centre of a sphere
of radius m in which no other anchor's sphere should reach. Only the attractor sees the examples, so there is nothing to
mine. The class of an example is that of the nearest anchor (eq. 11), and a search may look at the anchors first.

The paper's eq. 8 is the gradient of the sum over unordered pairs, half of eq. 2: `ordered=False`. The condition of its
eq. 7 is reversed. There is no released code. O(n d + c^2 d) time, O(c^2) memory.
"""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn

from lab.core.knobs import knob
from lab.losses._base import ClassLoss
from lab.losses._batch import Batch


def attraction(rows: Tensor, centres: Tensor) -> Tensor:
    """003 eq. 1: half the squared distance of each row [n d] to its class's anchor [n d], [n]."""
    return 0.5 * (rows - centres).square().sum(1)


def repulsion(anchors: Tensor, m: float, ordered: bool) -> Tensor:
    """003 eq. 2: half the squared overlap of the spheres of each pair of anchors [c d], summed, []."""
    overlap = (2 * m - torch.pdist(anchors)).clamp_min(0)
    return (1.0 if ordered else 0.5) * overlap.square().sum()


def short_fall(anchors: Tensor, p: float) -> Tensor:
    """003 eq. 3: half the squared lack of length of each anchor [c d], summed, []."""
    return 0.5 * (p - torch.linalg.vector_norm(anchors, dim=1)).clamp_min(0).square().sum()


def base_vectors(num_classes: int, dim: int, m: float) -> Tensor:
    """Anchors sqrt(2) m e_j, [c d]: every two are 2 m apart, so their spheres just touch (003, table 3)."""
    return math.sqrt(2) * m * torch.eye(num_classes, dim)


class ClassAnchorMargin(ClassLoss):
    """Repeller-attractor loss with learnt class anchors (CAM, eq. 4). Not negative, lower is better.

    anchors: parameter [c d], row j being class j's anchor; the two-stage search reads it.

    Example:
        >>> import lab, torch
        >>> loss = lab.losses.create("class_anchor_margin", num_classes=2, dim=2, m=3)
        >>> loss.anchors.data = torch.tensor([[3.0, 0.0], [0.0, 4.0]])  # 5 apart, where 2 m = 6 is asked
        >>> loss(torch.tensor([[3.0, 0.0], [0.0, 4.0]]), torch.tensor([0, 1])).item()  # nothing left but the repeller
        1.0
    """

    family = "proxy"
    cosine = False
    lengths_matter = True

    m: float = knob(
        "Radius around each anchor that stays free.", default=2.0, gt=0, unit="distance", source="CAM, eq. 2"
    )
    p: float = knob("Minimum length of an anchor.", default=1.0, ge=0, unit="distance", source="CAM, eq. 3")
    init: Literal["base", "random"] = knob(
        "Anchors start on scaled base vectors, or at random (normal).", default="base", source="CAM, table 3"
    )
    init_scale: float = knob(
        "Standard deviation of random anchors: 1 puts them far apart in wide spaces, .01 on one spot, where the "
        "repeller is needed.",
        default=1.0,
        gt=0,
        le=10,
        scale="log",
        unit="distance",
        source="CAM, table 3, which does not tell it",
    )
    attractor: bool = knob("Pull examples to their anchors.", default=True, source="CAM, eq. 1")
    repeller: bool = knob("Push anchors apart.", default=True, source="CAM, eq. 2")
    min_norm: bool = knob("Keep anchors away from the origin.", default=True, source="CAM, eq. 3")
    ordered: bool = knob(
        "Count each pair of anchors twice, as eq. 2 says, or once, as eq. 8 does.", default=True, source="CAM, eq. 2, 8"
    )

    @classmethod
    def sized(cls, num_classes: int, dim: int, **knobs: Any) -> Self:
        """Of more classes than dimensions anchors cannot start on base vectors."""
        start = {"init": "random"} if num_classes > dim else {}
        return super().sized(num_classes, dim, **start | knobs)

    def __post_init__(self) -> None:
        classes, dim = self.knobs.num_classes, self.knobs.dim
        if self.knobs.init == "random":
            self.anchors = nn.Parameter(self.knobs.init_scale * torch.randn(classes, dim))
        else:
            _refuse_crowds(classes, dim)
            self.anchors = nn.Parameter(base_vectors(classes, dim, self.knobs.m))

    def values(self, batch: Batch) -> Tensor:
        knobs = self.knobs
        anchors = self.anchors.to(batch.queries)
        values = batch.queries.sum(1) * 0
        if knobs.attractor:
            values = values + attraction(batch.queries, anchors[batch.query_labels])
        if knobs.repeller:
            values = values + repulsion(anchors, knobs.m, knobs.ordered)
        if knobs.min_norm:
            values = values + short_fall(anchors, knobs.p)
        return values

    def predict(self, embeddings: Tensor) -> Tensor:
        """Class of the nearest anchor, int64 [n], of embeddings [n d] (003, eq. 11)."""
        return torch.cdist(embeddings, self.anchors.to(embeddings)).argmin(1)


def _refuse_crowds(classes: int, dim: int) -> None:
    if classes > dim:
        raise ValueError(
            f"ClassAnchorMargin: init='base' needs num_classes <= dim, got {classes} classes in {dim} dimensions; "
            "use init='random' or wider embeddings."
        )
