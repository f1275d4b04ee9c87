"""Class anchor margin loss, CAM (003, eq. 1-4): learn one anchor per class, pull examples to it, push anchors apart.

    attractor   1/2 |e - c_y|^2, mean over the batch                                    (eq. 1)
    repeller    1/2 sum over ordered pairs of classes of max(0, 2 m - |c - c'|)^2       (eq. 2)
    norm        1/2 sum over classes of max(0, p - |c|)^2                               (eq. 3)

and the loss is their sum. Embeddings and anchors are not normalised. An anchor is the centre of a sphere of radius m;
the repeller keeps the spheres from overlapping. Only the attractor reads the examples, so the loss needs no mining. An
example is classified as the class of its nearest anchor (eq. 11), and a two-stage search compares anchors first.

The paper's eq. 8 is the gradient of the sum over unordered pairs, which is half of eq. 2: `ordered=False`. The
condition of its eq. 7 is reversed. The authors released no code. O(n d + c^2 d) time, O(c^2) memory.
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
    """Compute half the squared distance of each row [n d] to the anchor of its class [n d], [n] (003, eq. 1)."""
    return 0.5 * (rows - centres).square().sum(1)


def repulsion(anchors: Tensor, m: float, ordered: bool) -> Tensor:
    """Sum half the squared overlap of the spheres over all pairs of anchors [c d], [] (003, eq. 2).

    ordered: count each pair twice, as (c, c') and as (c', c).
    """
    overlap = (2 * m - torch.pdist(anchors)).clamp_min(0)  # torch.pdist holds each pair once
    weight = 1.0 if ordered else 0.5
    return weight * overlap.square().sum()


def short_fall(anchors: Tensor, p: float) -> Tensor:
    """Sum half the squared amount by which each anchor [c d] is shorter than p, [] (003, eq. 3)."""
    missing = (p - torch.linalg.vector_norm(anchors, dim=1)).clamp_min(0)
    return 0.5 * missing.square().sum()


def base_vectors(num_classes: int, dim: int, m: float) -> Tensor:
    """Return the anchors sqrt(2) m e_j, [c d]: any two are 2 m apart, so their spheres touch (003, table 3)."""
    return math.sqrt(2) * m * torch.eye(num_classes, dim)


class ClassAnchorMargin(ClassLoss):
    """Repeller-attractor loss with learnt class anchors (CAM, eq. 4). Not negative, lower is better.

    anchors: parameter [c d]; row j is the anchor of class j. The two-stage search reads it.

    When to use: a search should compare a query with the class anchors first and then only with the images of the
    nearest classes (`lab.search`, index `two_stage`). A batch needs no positive pairs. The encoder should not
    normalise. With more classes than dimensions set init="random", as `sized` does.

    Relations: the attractor draws examples to class centres as the softmax losses do with their weights, but without
    comparing with other classes; the repeller keeps the anchors apart instead. The metric `nearest_anchor_accuracy`
    reads the anchors.

    Example:
        >>> import lab, torch
        >>> loss = lab.losses.create("class_anchor_margin", num_classes=2, dim=2, m=3)
        >>> loss.anchors.data = torch.tensor([[3.0, 0.0], [0.0, 4.0]])  # 5 apart; the repeller asks for 2 m = 6
        >>> loss(torch.tensor([[3.0, 0.0], [0.0, 4.0]]), torch.tensor([0, 1])).item()  # only the repeller is not zero
        1.0
    """

    family = "proxy"
    cosine = False
    lengths_matter = True

    m: float = knob(
        "Radius around each anchor that stays free.",
        default=2.0,
        gt=0,
        unit="distance",
        source="CAM, eq. 2",
    )
    p: float = knob(
        "Minimum length of an anchor.", default=1.0, ge=0, unit="distance", source="CAM, eq. 3"
    )
    init: Literal["base", "random"] = knob(
        "Anchors start on scaled base vectors, or at random (normal).",
        default="base",
        source="CAM, table 3",
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
        "Count each pair of anchors twice, as eq. 2 says, or once, as eq. 8 does.",
        default=True,
        source="CAM, eq. 2, 8",
    )

    @classmethod
    def sized(cls, num_classes: int, dim: int, **knobs: Any) -> Self:
        """Create a loss for a number of classes; with more classes than dimensions the anchors start at random."""
        if num_classes > dim:
            knobs = {"init": "random", **knobs}
        return super().sized(num_classes, dim, **knobs)

    def __post_init__(self) -> None:
        classes = self.knobs.num_classes
        dim = self.knobs.dim
        if self.knobs.init == "random":
            self.anchors = nn.Parameter(self.knobs.init_scale * torch.randn(classes, dim))
        else:
            _require_dimensions(classes, dim)
            self.anchors = nn.Parameter(base_vectors(classes, dim, self.knobs.m))

    def values(self, batch: Batch) -> Tensor:
        knobs = self.knobs
        anchors = self.anchors.to(batch.queries)
        # zeros with a gradient, in case all three parts are switched off
        values = batch.queries.sum(1) * 0
        if knobs.attractor:
            values = values + attraction(batch.queries, anchors[batch.query_labels])
        if knobs.repeller:
            values = values + repulsion(anchors, knobs.m, knobs.ordered)
        if knobs.min_norm:
            values = values + short_fall(anchors, knobs.p)
        return values

    def predict(self, embeddings: Tensor) -> Tensor:
        """Return the class of the nearest anchor, int64 [n], for embeddings [n d] (003, eq. 11)."""
        distances = torch.cdist(embeddings, self.anchors.to(embeddings))
        return distances.argmin(1)


def _require_dimensions(classes: int, dim: int) -> None:
    """Raise ValueError if there are more classes than base vectors."""
    if classes > dim:
        raise ValueError(
            f"ClassAnchorMargin: init='base' needs num_classes <= dim, got {classes} classes in {dim} dimensions; "
            "use init='random' or wider embeddings."
        )
