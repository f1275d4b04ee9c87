"""Test on VehicleID's three test sets: with random galleries of one image per class, or all images against all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np

from lab.core.knobs import knob
from lab.protocols._base import Judgement, JudgingProtocol, require_test_split
from lab.protocols._outcome import summarise
from lab.runs.folder import Run

if TYPE_CHECKING:
    from lab.data import ImageSet
    from lab.runs.building.trained import Trained

Size = Literal["small", "medium", "large"]


class RandomGalleries(JudgingProtocol):
    """Draw one image of each test class into the gallery, query with all others, repeat; report mean and deviation.

    This is the official protocol of VehicleID. With the gallery `all`, every test image is a query that is searched
    among all others. The code of RS@k measures this, and its table 2 prints it; it is another task, and its numbers are
    not comparable with those of random galleries.

    VehicleID has three test sets, of 800, 1,600 and 2,400 vehicles; any other data set is tested on its whole test
    split. Images are embedded once for all repeats. Repeat i draws the same gallery as `gallery_seed` i of the data
    set. A class with a single image is only a distractor for the others.
    """

    source = "Liu et al. 2016 (PKU VehicleID); RS@k, section 4.1"
    metrics = ({"name": "hit_rate_at_k", "k": (1, 5)}, {"name": "mean_average_precision"})

    gallery: Literal["random", "all"] = knob(
        "One random image of each class, or every test image as in the code of RS@k.",
        default="random",
    )
    sizes: tuple[Size, ...] = knob(
        "Test sets of VehicleID to measure on.", default=("small", "medium", "large")
    )
    repeats: int = knob("Number of random galleries.", default=10, ge=1, le=1000)

    def check(self, dataset: ImageSet) -> None:
        require_test_split(dataset, self.name)
        if dataset.relevance:
            raise ValueError(
                f"{dataset.name} is judged by hand and not by labels; use the protocol revisited."
            )
        labels = dataset.labels[dataset.splits["test"].items]
        if len(np.unique(labels)) == len(labels):
            raise ValueError(
                f"Every test class of {dataset.name} has a single image, so a gallery leaves no query; "
                "random_galleries needs two images of a class."
            )

    def judge(self, run: Run) -> Judgement:
        evaluator = self.evaluator(run)
        rows = []
        notes = []
        for name, dataset in self._sets(evaluator.trained):
            self.check(dataset)
            items = dataset.splits["test"].items
            images = yield from evaluator.embed(
                evaluator.trained.loader_of(dataset), items, f"{name} images"
            )
            if self.knobs.gallery == "all":
                evaluation = yield from evaluator.measure("test", images, None, dataset)
                rows.append(summarise({"test set": name}, evaluation.values))
                notes.append(f"{name}: {len(items):,} images, each searched among all others.")
                continue

            scores = []
            for query, gallery in galleries(images.labels, self.knobs.repeats):
                evaluation = yield from evaluator.measure(
                    "test", images.take(query), images.take(gallery), dataset
                )
                scores.append(evaluation.values)
            rows.append(summarise({"test set": name}, *scores))
            notes.append(f"{name}: {len(query):,} queries in galleries of {len(gallery):,}.")
        return self.outcome(rows, "random galleries", notes)

    def _sets(self, trained: Trained) -> Iterator[tuple[str, ImageSet]]:
        """Yield the name and the images of every test set."""
        config = trained.run.config
        if "test_size" not in config.data.values:
            yield "test", trained.dataset
            return
        for size in self.knobs.sizes:
            sized = config.changed("data.test_size", size).changed("data.random_gallery", False)
            yield size, sized.data.create()


def galleries(labels: np.ndarray, repeats: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the positions of the queries and of the gallery, one image per class, for each repeat.

    Args:
        labels: int64 [n]. Classes draw in their order of appearance, so that a repeat draws the same gallery as the
            seed of the same number does in VehicleID's own lists.
    """
    _, first_positions = np.unique(labels, return_index=True)
    members = []  # positions of each class's images
    for position in np.sort(first_positions):
        members.append(np.flatnonzero(labels == labels[position]))

    for repeat in range(repeats):
        random = np.random.default_rng(repeat)
        chosen = np.array([positions[random.integers(len(positions))] for positions in members])
        queries = np.setdiff1d(np.arange(len(labels)), chosen)
        yield queries, np.sort(chosen)
