"""003 (CAM): class anchors, cross-entropy and the contrastive loss over time, width and images a class; their parts;
two-stage search by anchors.

Nearly all of it is on the `seen` protocol: as in the paper, test images are of classes that were trained on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import lab.metrics
import lab.search
from lab.claims._study import SEEN_CLASSES, Claim, Contrast, DataSetup, Point, Study, ahead, less, slope
from lab.core.results import Evidence
from lab.evaluation.scores import class_evidence

if TYPE_CHECKING:
    from lab.claims._train import TrainedModel

SEEN = DataSetup("seen")
DIM = 256
CAM, CE, CL = "class anchors", "cross-entropy", "contrastive"
LRS = (1e-3, 3e-3)
"""Of 0.001, 0.003 and 0.01 the two that the study `anchor_accuracy` chose."""
STEPS, WIDTHS = (25, 50, 100, 200, 400), (32, 64, 128, 256, 512)

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
    return {"accuracy": next(iter(model.measured(metric, **weights).values()))}


anchor_accuracy = Study(
    turn=31,
    title="Class anchors as a classifier",
    source="CAM, table 4",
    points=tuple(point(name, {}, training={"steps": 400}) for name in (CAM, CE)),
    lrs=(1e-3, 3e-3, 1e-2),
    column="accuracy",
    extra=accuracy,
    claims=(Claim("Class anchors classify better than cross-entropy.", ahead(CAM, CE)),),
    remark=REMARK + " Accuracy is that of the nearest anchor and of the linear classifier, after 400 steps; "
    "it also chooses the learning rate, as in the paper. There class anchors are ahead in six of eight pairs, by .3 to "
    "1.9 points.",
)


def early(s: Callable[..., float], name: str) -> float:
    """Score after 50 steps as a share of that after the most."""
    return s(loss=name, steps=50) / s(loss=name, steps=STEPS[-1])


anchor_epochs = Study(
    turn=20,
    title="Class anchors by training time",
    source="CAM, figure 5",
    points=tuple(point(name, {"steps": n}, training={"steps": n}) for name in (CAM, CE, CL) for n in STEPS),
    lrs=LRS,
    column="mAP",
    claims=(
        Claim(
            "Class anchors converge faster than cross-entropy and the contrastive loss: after 50 steps they have a "
            "larger share of their final score.",
            tuple(
                Contrast(f"share of {CAM} less share of {n}", lambda s, n=n: early(s, CAM) - early(s, n), least=0.01)
                for n in (CE, CL)
            ),
        ),
        Claim(
            "In the end class anchors are ahead of both, on new images of the classes that were trained on.",
            ahead(CAM, CE, CL, at={"steps": 400}),
            source="CAM, table 1 and figure 5",
        ),
    ),
    remark=REMARK + " Every length is a training of its own, its learning rate falling to zero at its end.",
)

anchor_widths = Study(
    turn=18,
    title="Class anchors over the width of the embeddings",
    source="CAM, figure 4",
    points=tuple(point(name, {"width": width}, width) for name in (CAM, CE, CL) for width in WIDTHS),
    lrs=LRS,
    column="mAP",
    claims=(
        Claim(
            "Cross-entropy and the contrastive loss get worse as embeddings get wider.",
            tuple(
                Contrast(f"{n}: fall when the width doubles", lambda s, n=n: -slope(s, n, "width", WIDTHS), least=0.001)
                for n in (CE, CL)
            ),
        ),
        Claim("Class anchors are ahead of both at the largest width.", ahead(CAM, CE, CL, at={"width": 512})),
    ),
    remark=REMARK + " Anchors start on base vectors from width 256 on, at random below: 240 classes do not fit.",
)

anchor_shots = Study(
    turn=13,
    title="Class anchors with few images a class",
    source="CAM, figure 6",
    points=tuple(
        point(name, {"shots": shots}, task=DataSetup("seen", shots=shots), sampler={"per_class": shots})
        for shots in (1, 2, 4)
        for name in (CAM, CE, CL)
        if not (name == CL and shots == 1)
    ),
    lrs=LRS,
    column="mAP",
    claims=(
        Claim("With 4 images a class, class anchors are ahead of cross-entropy.", ahead(CAM, CE, at={"shots": 4})),
        Claim(
            "The contrastive loss is always last.",
            tuple(one for shots in (2, 4) for n in (CAM, CE) for one in ahead(n, CL, at={"shots": shots})),
        ),
    ),
    remark=REMARK + " All four images of a class are searched, however few were trained on. The contrastive "
    "loss needs two.",
)

STARTS: dict[str, dict[str, object]] = {
    "random": {"init": "random"},
    "random, short": {"init": "random", "init_scale": 0.01},  # .16 in 256 dimensions, .23 apart
    "base": {"init": "base"},
}
SWITCH = {"off": False, "on": True}


def start(init: str, repeller: str = "on", norm: str = "on") -> dict[str, str]:
    return {"init": init, "repeller": repeller, "norm": norm}


anchor_parts = Study(
    turn=9,
    title="Parts of the class anchor margin loss, and where anchors start",
    source="CAM, table 3",
    points=tuple(
        Point(
            start(init, repeller, norm),
            {
                "loss": {
                    "name": "class_anchor_margin", **knobs, "repeller": SWITCH[repeller], "min_norm": SWITCH[norm],
                },
                "encoder": {"dim": DIM},
            },
            SEEN,
        )
        for repeller in SWITCH
        for norm in SWITCH
        for init, knobs in STARTS.items()
    ),
    lrs=LRS,
    column="mAP",
    extra=accuracy,
    claims=(
        Claim(
            "Base vectors are a better start than random ones, whatever the parts.",
            tuple(
                less(start("base", repeller, norm), start(init, repeller, norm))
                for init in ("random", "random, short")
                for repeller in SWITCH
                for norm in SWITCH
            ),
        ),
        Claim("The repeller is crucial.", tuple(less(start(init), start(init, repeller="off")) for init in STARTS)),
        Claim("The norm term adds to the repeller.", tuple(less(start(i), start(i, norm="off")) for i in STARTS)),
    ),
    remark=REMARK + " Random anchors are standard normal: in 256 dimensions they start 23 apart, far beyond 2 m = 4, "
    "and 16 long, far beyond p = 1, so that neither repeller nor norm term acts on them, to the last digit; base "
    "vectors start exactly 2 m apart. Short ones are a hundredth of that, .16 long and .23 apart: there the parts have "
    "work to do. The paper does not say how its random anchors were drawn.",
)  # fmt: skip


def staged(model: TrainedModel) -> dict[str, float]:
    """mAP of a search among the images of the nearest anchor, with both denominators, the comparisons it takes, and
    how often the nearest anchor is right."""
    index: Any = lab.search.create(
        "two_stage", device=model.config.training.knobs.device, k=10, similarity=model.config.similarity
    )
    index.build(model.searched, anchors=model.anchors)
    ranking = index.rank(model.query, same_source=False)
    evidence = Evidence(ranking, model.query, model.searched)
    scores = {}
    for name, denominator in (("two-stage mAP", "positives"), ("two-stage mAP (retrieved)", "retrieved")):
        metric = lab.metrics.create("mean_average_precision", denominator=denominator)
        scores[name] = next(iter(metric(evidence).values.values()))
    return {**scores, **accuracy(model), "share compared": float(ranking.comparisons.mean() / len(model.searched))}


def above_brute_force(words: str, column: str) -> Contrast:
    return Contrast(f"{words} less brute force", lambda s: s(column, loss=CAM) - s(loss=CAM))


two_stage = Study(
    turn=3,
    title="Two-stage search against brute force",
    source="CAM, table 2",
    points=(point(CAM, {}),),
    lrs=LRS,
    column="mAP",
    extra=staged,
    claims=(
        Claim(
            "Two-stage search has a higher mAP than brute force (lost positives counted as lost).",
            (above_brute_force("two-stage", "two-stage mAP"),),
        ),
        Claim(
            "It has a higher mAP if lost positives are forgiven.",
            (above_brute_force("two-stage (retrieved)", "two-stage mAP (retrieved)"),),
        ),
        Claim(
            "It takes less than half of the comparisons.",
            (
                Contrast(
                    "half less the share of comparisons", lambda s: 0.5 - s("share compared", loss=CAM), points=False
                ),
            ),
        ),
    ),
    remark=REMARK + " The paper does not say what it divides by; comparisons stand for its milliseconds.",
)

pretrained_two_stage = replace(
    two_stage,
    turn=26,
    title="Two-stage search against brute force, a pretrained network trained as a whole",
    lrs=(3e-4, 1e-3),
    tier="end_to_end",
)


def precisions(model: TrainedModel) -> dict[str, float]:
    """P@20 and P@100 in the training images, and the accuracy of the classifier."""
    return {**model.measured(lab.metrics.create("precision_at_k", k=(20, 100))), **accuracy(model)}


def fall(s: Callable[..., float], name: str) -> float:
    return s("P@20", loss=name) - s("P@100", loss=name)


digits_precision = Study(
    turn=32,
    title="Precision far down the list, and accuracy, on digits",
    source="CAM, tables 1 and 4",
    data="digits",
    points=tuple(
        Point(
            {"loss": name},
            {
                "loss": loss(name),
                "data": {"validation": 0.1},
                "augmentation": {"size": 32, "crop": "padded", "pad": 4, "flip": 0.0},
                "testing": {"resize": 32},
                "sampler": {"name": "uniform", "batch_size": 128},
                "training": {"steps": 200},
            },
        )
        for name in (CAM, CE, CL)
    ),
    lrs=LRS,
    tier="cnn",
    column="mAP",
    extra=precisions,
    claims=(
        Claim(
            "Under class anchors precision stays level from 20 to 100: P@100 is within a point of P@20.",
            (Contrast("P@20 less P@100", lambda s: fall(s, CAM), "none", 0.01),),
            source="CAM, table 1",
        ),
        Claim(
            "Under cross-entropy and the contrastive loss precision falls more from 20 to 100.",
            tuple(
                Contrast(
                    f"fall of {n} less fall of {CAM}",
                    lambda s, n=n: fall(s, n) - s("P@20", loss=CAM) + s("P@100", loss=CAM),
                )
                for n in (CE, CL)
            ),
            source="CAM, table 1",
        ),
        Claim(
            "Class anchors have the highest P@100.",
            ahead(CAM, CE, CL, column="P@100"),
            source="CAM, table 1",
        ),
        Claim(
            "Class anchors classify better than cross-entropy.",
            ahead(CAM, CE, column="accuracy"),
            source="CAM, table 4",
        ),
    ),
    remark="Each fifth image tests and is searched in the training images, 125 or more a class; the seed draws which. "
    "Uniform batches, crops out of four pixels of padding, 200 steps. Accuracy is of the nearest anchor, the linear "
    "classifier or, for the contrastive loss, the nearest neighbour. The paper chooses by it; here mAP chooses, since "
    "both rates get the same few of the 143 validation images wrong, so that accuracy ties.",
)
