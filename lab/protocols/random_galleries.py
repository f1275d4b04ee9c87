"""VehicleID's three test sets: by one random image of each class as gallery, again and again, or all against all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np

from lab.core.knobs import knob
from lab.protocols._base import Judgement, JudgingProtocol, with_test
from lab.protocols._outcome import measured
from lab.runs.folder import Run

if TYPE_CHECKING:
    from lab.data import ImageSet
    from lab.runs.building.trained import Trained

Size = Literal["small", "medium", "large"]


class RandomGalleries(JudgingProtocol):
    """Draw one image of each test class into the gallery, query with all others, repeat; mean and deviation.

    That is the set's own protocol. With the gallery `all`, every test image is a query and searched among all others,
    which is what the code of RS@k measures and its table 2 prints: another task, whose numbers compare with no random
    gallery's.

    VehicleID has three test sets, of 800, 1,600 and 2,400 vehicles; any other data set is tested on its whole test
    split. Images are embedded once, whatever the number of repeats. Repeat i draws what the data set's `gallery_seed`
    i draws. A class with a single image only serves the others as a distractor.
    """

    source = "Liu et al. 2016 (PKU VehicleID); RS@k, section 4.1"
    metrics = ({"name": "hit_rate_at_k", "k": (1, 5)}, {"name": "mean_average_precision"})

    gallery: Literal["random", "all"] = knob(
        "One random image of each class, or every test image as in the code of RS@k.", default="random"
    )
    sizes: tuple[Size, ...] = knob("Test sets of VehicleID to measure on.", default=("small", "medium", "large"))
    repeats: int = knob("Number of random galleries.", default=10, ge=1, le=1000)

    def check(self, dataset: ImageSet) -> None:
        with_test(dataset, self.name)
        if dataset.relevance:
            raise ValueError(f"{dataset.name} is judged by hand and not by labels; use the protocol revisited.")
        labels = dataset.labels[dataset.splits["test"].items]
        if len(np.unique(labels)) == len(labels):
            raise ValueError(
                f"Every test class of {dataset.name} has a single image, so a gallery leaves no query; "
                "random_galleries needs two images of a class."
            )

    def judge(self, run: Run) -> Judgement:
        evaluator = self.evaluator(run)
        rows, notes = [], []
        for name, dataset in self._sets(evaluator.trained):
            self.check(dataset)
            items = dataset.splits["test"].items
            whole = yield from evaluator.embed(evaluator.trained.loader_of(dataset), items, f"{name} images")
            if self.knobs.gallery == "all":
                once = yield from evaluator.measure("test", whole, None, dataset)
                rows.append(measured({"test set": name}, once.values))
                notes.append(f"{name}: {len(items):,} images, each searched among all others.")
                continue
            drawn = []
            for query, gallery in galleries(whole.labels, self.knobs.repeats):
                one = yield from evaluator.measure("test", whole.take(query), whole.take(gallery), dataset)
                drawn.append(one.values)
            rows.append(measured({"test set": name}, *drawn))
            notes.append(f"{name}: {len(query):,} queries in galleries of {len(gallery):,}.")
        return self.outcome(rows, "random galleries", notes)

    def _sets(self, trained: Trained) -> Iterator[tuple[str, ImageSet]]:
        """Name and data set of everything to be tested on."""
        config = trained.run.config
        if "test_size" not in config.data.values:
            yield "test", trained.dataset
            return
        for size in self.knobs.sizes:
            yield size, config.changed("data.test_size", size).changed("data.random_gallery", False).data.create()


def galleries(labels: np.ndarray, repeats: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Positions of the queries and of the gallery, one image a class, for each repeat.

    Args:
        labels: int64 [n]. Classes draw in their order of appearance, so that a repeat is what the seed of the same
            number draws in VehicleID's own lists.
    """
    _, first = np.unique(labels, return_index=True)
    members = [np.flatnonzero(labels == labels[place]) for place in np.sort(first)]
    for repeat in range(repeats):
        random = np.random.default_rng(repeat)
        chosen = np.array([mine[random.integers(len(mine))] for mine in members])
        yield np.setdiff1d(np.arange(len(labels)), chosen), np.sort(chosen)
