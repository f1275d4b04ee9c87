"""What the Threshold page shows, and its jobs: page.py is run anew at each click and would lose them."""

from dataclasses import dataclass

import lab.threshold
from app.results.cache import SplitView
from app.shared import background
from lab.threshold import Pairs


@dataclass(frozen=True)
class Scene:
    """What the page shows: the pairs of a split, and the column of the threshold that is looked at."""

    view: SplitView
    pairs: Pairs
    column: int

    @property
    def value(self) -> float:
        """The threshold."""
        return float(self.pairs.counts.thresholds[self.column])

    @property
    def names(self) -> list[str]:
        """Of the classes."""
        return self.view.images.class_names


@background.job("Comparing all pairs", keep=2)
def all_pairs(view: SplitView) -> Pairs:
    return lab.threshold.measure(view.run.folder, view.split)


@background.job("Drawing classes and queries again and again", keep=64)
def rates(view: SplitView, column: int, _pairs: Pairs) -> dict[str, tuple[float, float, float]]:
    return _pairs.rates(column)
