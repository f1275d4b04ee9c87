"""Queries searched in a gallery of their own, as In-Shop clothes retrieval does."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from lab.protocols._base import Judgement, JudgingProtocol, with_test
from lab.runs.folder import Run

if TYPE_CHECKING:
    from lab.data import ImageSet


class QueryGallery(JudgingProtocol):
    """Every query is searched in the gallery and never among the queries; r@1, 10, 20, 30, 40, 50.

    A query whose class the gallery lacks cannot be found: it counts nothing, and the notes count it. Besides In-Shop,
    this is for manifests with the column `query_gallery`.
    """

    source = "DML deck, evaluation protocols; Contextual, table 8"
    metrics = ({"name": "hit_rate_at_k", "k": (1, 10, 20, 30, 40, 50)}, {"name": "mean_average_precision"})

    def check(self, dataset: ImageSet) -> None:
        with_test(dataset, self.name)
        split = dataset.splits["test"]
        if split.gallery is None:
            raise ValueError(
                f"query_gallery needs a test split with queries and a gallery, but the test images of {dataset.name} "
                "are searched among each other; use standard_halves, or random_galleries to draw one."
            )
        if dataset.relevance:
            raise ValueError(f"{dataset.name} is judged by hand and not by labels; use the protocol revisited.")

    def judge(self, run: Run) -> Judgement:
        evaluator = self.evaluator(run)
        dataset = evaluator.trained.dataset
        row = yield from self.test_row(evaluator)
        split = dataset.splits["test"]
        gallery = cast("np.ndarray", split.gallery)  # there is one, or the check had said so
        lost = int((~np.isin(dataset.labels[split.query], dataset.labels[gallery])).sum())
        notes = [f"{len(split.query):,} queries in a gallery of {len(gallery):,}."]
        if lost:
            notes.append(f"{lost:,} queries have no image of their class in the gallery and count nothing.")
        return self.outcome([row], "seeds", notes)
