"""Search queries in a separate gallery, as In-Shop clothes retrieval does."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from lab.protocols._base import Judgement, JudgingProtocol, require_test_split
from lab.runs.folder import Run

if TYPE_CHECKING:
    from lab.data import ImageSet


class QueryGallery(JudgingProtocol):
    """Search every query in the gallery and never among the queries; measure hit@1, 10, 20, 30, 40, 50.

    A query whose class is missing from the gallery has no match: scores leave it out, and the notes say how many there
    are. Besides In-Shop, this is for tables of images with the column `query_gallery`.
    """

    source = "DML deck, evaluation protocols; Contextual, table 8"
    metrics = (
        {"name": "hit_rate_at_k", "k": (1, 10, 20, 30, 40, 50)},
        {"name": "mean_average_precision"},
    )

    def check(self, dataset: ImageSet) -> None:
        require_test_split(dataset, self.name)
        split = dataset.splits["test"]
        if split.gallery is None:
            raise ValueError(
                f"query_gallery needs a test split with queries and a gallery, but the test images of {dataset.name} "
                "are searched among each other; use standard_halves, or random_galleries to draw one."
            )
        if dataset.relevance:
            raise ValueError(
                f"{dataset.name} is judged by hand and not by labels; use the protocol revisited."
            )

    def judge(self, run: Run) -> Judgement:
        evaluator = self.evaluator(run)
        dataset = evaluator.trained.dataset
        row = yield from self.test_row(evaluator)
        split = dataset.splits["test"]
        gallery = cast("np.ndarray", split.gallery)  # `check` refuses a split without a gallery
        has_match = np.isin(dataset.labels[split.query], dataset.labels[gallery])
        unmatched = int((~has_match).sum())
        notes = [f"{len(split.query):,} queries in a gallery of {len(gallery):,}."]
        if unmatched:
            notes.append(
                f"{unmatched:,} queries have no image of their class in the gallery; scores leave them out."
            )
        return self.outcome([row], "seeds", notes)
