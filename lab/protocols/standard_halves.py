"""The standard protocol: train on one half of the classes, and search the other half among itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lab.protocols._base import Judgement, JudgingProtocol, require_test_split
from lab.runs.config import RunConfig
from lab.runs.folder import Run

if TYPE_CHECKING:
    from lab.data import ImageSet


class StandardHalves(JudgingProtocol):
    """Train on the first half of the classes, test on the other; every test image is a query among the others.

    Nothing is held out and nothing is selected: the number of steps is fixed beforehand and the last checkpoint is
    tested. If settings were tuned on the same test classes, that is test-set feedback all the same; `class_validation`
    shows how to tune without it. A finished run is measured as it was trained, and the notes say how many classes it
    held out for validation.
    """

    source = "DML deck, datasets and standard protocol"
    metrics = (
        {"name": "hit_rate_at_k", "k": (1, 2, 4, 8)},
        {"name": "r_precision"},
        {"name": "map_at_r"},
        {"name": "mean_average_precision"},
    )

    def configured(self, config: RunConfig) -> RunConfig:
        if "validation" in config.data.values:
            config = config.changed("data.validation", 0.0)
        return config.changed("evaluation.checkpoint", "last").changed("evaluation.splits", ())

    def check(self, dataset: ImageSet) -> None:
        require_disjoint_halves(dataset, self.name)

    def judge(self, run: Run) -> Judgement:
        evaluator = self.evaluator(run)
        splits = evaluator.trained.dataset.splits
        labels = evaluator.trained.dataset.labels
        row = yield from self.test_row(evaluator)
        counts = {name: len(np.unique(labels[split.items])) for name, split in splits.items()}
        notes = [f"{counts.get('train', 0):,} classes trained, {counts['test']:,} others tested."]
        if "validation" in counts:
            notes.append(
                f"{counts['validation']:,} classes of the training half were used for validation and not for training, "
                "so the run was trained on fewer classes than published runs."
            )
        return self.outcome([row], "seeds", notes)


def require_disjoint_halves(dataset: ImageSet, protocol: str) -> None:
    """Refuse a data set that trains on its test classes, or searches them in a separate gallery.

    Raises:
        ValueError: the data set does not fit; the message names a protocol that does.
    """
    require_test_split(dataset, protocol)
    if not dataset.class_disjoint:
        raise ValueError(
            f"{protocol} tests on classes that were never trained on, but {dataset.name} tests on those it trains on; "
            "evaluate it with `lab evaluate`, or with few images a class: few_shot."
        )
    if dataset.splits["test"].gallery is not None:
        raise ValueError(
            f"{protocol} searches the test images among each other, but {dataset.name} has queries and a gallery; use "
            "the protocol query_gallery (for VehicleID random_galleries, for landmarks revisited)."
        )
