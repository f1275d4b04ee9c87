"""Base class of figures of finished runs. The figures are a layer below `lab.runs` and never import it."""

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


class RunLike(Protocol):
    """The members of `lab.runs.Run` that this module uses; some figures also call `metrics` and `per_query`."""

    @property
    def name(self) -> str: ...
    @property
    def config_dict(self) -> dict[str, Any]: ...
    def scores(self, split: str = "test") -> dict[str, Any] | None: ...
    def embeddings(self, split: str = "test", part: str = "query") -> EmbeddingSet | None: ...
    def dataset(self) -> ImageSet: ...


class RunFigure(Figure):
    """Base class of the figures of finished runs.

    examples: names of the bundled runs that it shows by default. least: smallest number of runs that it takes.
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
    """Return the names of all settings of the runs."""
    names: set[str] = set()
    for run in runs:
        names.update(flat(run.config_dict))
    return sorted(names)


def score(run: RunLike, metric: str, split: str = "test") -> float:
    """Return one score of a run; NaN if it was not measured."""
    scores = run.scores(split) or {}
    value = (scores.get("values") or {}).get(metric)
    return float("nan") if value is None else float(value)


def test_embeddings(run: RunLike, split: str = "test") -> EmbeddingSet:
    """Return the query embeddings of a run.

    Raises:
        ValueError: the run has no stored embeddings.
    """
    embeddings = run.embeddings(split)
    if embeddings is None:
        raise ValueError(f"Run {run.name!r} has no {split} embeddings; evaluate it first.")
    return embeddings


def pictures(run: RunLike, split: str = "test") -> Pictures:
    """Return the images behind the item numbers of a run's split.

    Objects without a method `pictures`, such as the bundled runs, all number their images in the same way.
    """
    own_pictures = getattr(run, "pictures", None)
    if own_pictures is not None:
        return own_pictures(split)
    sets = [test_embeddings(run, split)]
    gallery = run.embeddings(split, "gallery")
    if gallery is not None:
        sets.append(gallery)
    items, first = np.unique(
        np.concatenate([embeddings.items for embeddings in sets]), return_index=True
    )
    classes = np.concatenate([embeddings.labels for embeddings in sets])[first].astype(str)
    keys = as_array([f"image {item}" for item in items.tolist()])
    return Pictures(run.name, items, keys, np.zeros(len(items), np.int64), classes, place="numbers")


def setting(run: RunLike, knob: str) -> Any:
    """Return the value of a dotted configuration name, for instance loss.tau1; None if the run has no such setting."""
    return flat(run.config_dict).get(knob)
