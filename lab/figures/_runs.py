"""What the figures of runs read from finished runs. The figures stand below `lab.runs` and never import it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from lab.core.knobs import knob
from lab.core.results import EmbeddingSet
from lab.evaluation.identity import Pictures, as_array
from lab.figures import _bundled
from lab.figures._base import Figure, PlotlyFigure, flat

if TYPE_CHECKING:
    from lab.data import ImageSet

SPLIT = knob("Split of the data set.", default="test")


class Run(Protocol):
    """The members of `lab.runs.Run` that are used here; figures of their own call `metrics` and `per_query`, too."""

    @property
    def name(self) -> str: ...
    @property
    def config_dict(self) -> dict[str, Any]: ...
    def scores(self, split: str = "test") -> dict[str, Any] | None: ...
    def embeddings(self, split: str = "test", part: str = "query") -> EmbeddingSet | None: ...
    def dataset(self) -> ImageSet: ...


class RunFigure(Figure):
    """Base of the figures of finished runs.

    examples: runs that come with the package, shown where none are given. least: the fewest that it takes.
    """

    tier = "from_runs"
    reads_runs = True
    examples: ClassVar[tuple[str, ...]] = _bundled.TWO_LOSSES
    least: ClassVar[int] = 1

    def example(self) -> Sequence:
        return _bundled.examples(self.examples)

    def figure(self, runs: Sequence | None = None) -> PlotlyFigure:
        if runs is not None and len(runs) < self.least:
            raise ValueError(
                f"{type(self).__name__} shows finished runs: give figure(runs) at least {self.least}, as "
                f"lab.runs.list() returns them, got {len(runs)}."
            )
        return super().figure(runs)


def settings(runs: Sequence) -> list[str]:
    """Names of the settings that any of the runs has."""
    return sorted({name for run in runs for name in flat(run.config_dict)})


def score(run: Run, metric: str, split: str = "test") -> float:
    """One score of a run; NaN where it was not measured."""
    value = ((run.scores(split) or {}).get("values") or {}).get(metric)
    return float("nan") if value is None else float(value)


def test_embeddings(run: Run, split: str = "test") -> EmbeddingSet:
    """The query embeddings of a run.

    Raises:
        ValueError: the run has none stored.
    """
    embeddings = run.embeddings(split)
    if embeddings is None:
        raise ValueError(f"Run {run.name!r} has no {split} embeddings; evaluate it first.")
    return embeddings


def pictures(run: Run, split: str = "test") -> Pictures:
    """Which images the numbers of a run's split stand for. The runs that come with the package, and other objects that
    have what `Run` has, number their images alike."""
    if (known := getattr(run, "pictures", None)) is not None:
        return known(split)
    parts = [test_embeddings(run, split), run.embeddings(split, "gallery")]
    items, first = np.unique(np.concatenate([one.items for one in parts if one is not None]), return_index=True)
    classes = np.concatenate([one.labels for one in parts if one is not None])[first].astype(str)
    keys = as_array([f"image {item}" for item in items.tolist()])
    return Pictures(run.name, items, keys, np.zeros(len(items), np.int64), classes, place="numbers")


def setting(run: Run, knob: str) -> Any:
    """The value of a dotted configuration name, for instance loss.tau1; None where the run has none."""
    return flat(run.config_dict).get(knob)
