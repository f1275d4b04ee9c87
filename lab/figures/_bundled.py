"""What figures of runs show when no run is given: small example runs, and sweeps that version 0.2 made.

Each stands in for a `lab.runs.Run` with the members that `lab.figures._runs` names.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.core.estimates import deviation
from lab.core.knobs.labels import entry_in_words
from lab.core.results import EmbeddingSet
from lab.figures import measured as trials

if TYPE_CHECKING:
    from lab.data import ImageSet

EXAMPLES = Path(__file__).parent / "examples"
"""Made by scripts/bundle_examples.py."""

TWO_LOSSES = ("contrastive", "recall_at_k")
FOUR_LOSSES = ("cross_entropy", "class_anchor_margin", *TWO_LOSSES)
MEMORIES = ("batch_64", "memory_512", "memory_1024", "memory_2048")
EXAMINED = ("steady", "narrow_temperature", "high_rate")
"""Of the preset emoji7_contrastive and the demo; with those that CAM compares, in the same setting; the contrastive
loss with memories of several sizes; a healthy training of `scripts.studies.verdict_trials` and two that it breaks."""


class ExampleRun:
    """A finished run on Emoji-7, cut down: all steps and scores, but only the images of forty test classes, or none."""

    status, failure, splits, batches = {"state": "finished"}, None, (), tuple  # a finding leads to no page

    def __init__(self, path: Path):
        self.path, self.name = path, f"example: {entry_in_words(path.stem)}"

    @cached_property
    def _stored(self) -> dict[str, np.ndarray]:
        with np.load(self.path, allow_pickle=False) as archive:
            return dict(archive)

    @cached_property
    def _facts(self) -> dict[str, Any]:
        return json.loads(str(self._stored["told"]))

    @property
    def config_dict(self) -> dict[str, Any]:
        return self._facts["config"]

    def metrics(self, kind: str | None = None) -> list[dict[str, Any]]:
        columns = {key: self._stored[key].tolist() for key in ("loss", "seconds", "memory_bytes")}
        stepped = [
            {"kind": "stepped", "step": step, **dict(zip(columns, values, strict=True))}
            for step, values in enumerate(zip(*columns.values(), strict=True), start=1)
        ]
        records = [*stepped, *({"kind": "validated", **record} for record in self._facts["validated"])]
        records += self._facts.get("checkups", ())  # of `EXAMINED`
        return [record for record in records if kind in (None, record["kind"])]

    def scores(self, split: str = "test") -> dict[str, Any] | None:
        return self._facts["scores"] if split == "test" else None

    def per_query(self, split: str = "test") -> dict[str, np.ndarray]:
        self._only_test(split)
        return {name.removeprefix("query "): v for name, v in self._stored.items() if name.startswith("query ")}

    def embeddings(self, split: str = "test", part: str = "query") -> EmbeddingSet | None:
        self._only_test(split)
        if part != "query" or "vectors" not in self._stored:
            return None
        vectors = self._stored["vectors"].astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return EmbeddingSet(vectors, self._stored["labels"].astype(np.int64), self._stored["items"].astype(np.int64))

    def dataset(self) -> ImageSet:
        """The images that the items number: those that come with the package."""
        from lab import data

        return data.create("emoji7")

    def _only_test(self, split: str) -> None:
        if split != "test":
            raise ValueError(f"The example runs hold the test split only, not {split!r}; give runs of your own.")


def examples(names: Sequence[str] = TWO_LOSSES) -> list[ExampleRun]:
    """Example runs that come with the package."""
    return [ExampleRun(EXAMPLES / f"{name}.npz") for name in names]


class TrialRun:
    """One training of a sweep: its place on the axes as configuration, and its test scores."""

    def __init__(self, study: str, trial: trials.Trial, axes: tuple[str, str]):
        self.study, self.axes = study, axes
        self.name = f"{study}, seed {trial.seed}, " + ", ".join(f"{k} {v}" for k, v in trial.setting.items())
        self.config_dict = {**trial.setting, "learning rate": trial.lr, "seed": trial.seed}
        self._scores = {"values": trial.test}

    def scores(self, split: str = "test") -> dict[str, Any] | None:
        return self._scores if split == "test" else None


def swept(study: str) -> list[TrialRun]:
    """The trainings of a bundled sweep, at the learning rates chosen on validation.

    Each knows the sweep's two axes. The first is that of numbers with the most values; a single axis is given twice.

    Raises:
        ValueError: no results of that name come with the package; lists those there are.
    """
    measured = scores(study)
    settings = measured.settings()
    axes = list(settings[0])

    def values(axis: str) -> tuple[bool, int]:
        seen = {s[axis] for s in settings}
        return all(isinstance(v, int | float) for v in seen), len(seen)

    axes.sort(key=values, reverse=True)
    both = axes[0], axes[min(1, len(axes) - 1)]
    return [TrialRun(study, trial, both) for by_seed in measured.chosen.values() for trial in by_seed.values()]


def axes(runs: Sequence) -> tuple[str, str] | None:
    """The axes of a bundled sweep; None for real runs, whose axes the knobs say."""
    return getattr(runs[0], "axes", None)


def origin(runs: Sequence) -> str:
    """Where the numbers of a bundled sweep come from, to end a subtitle with; empty for real runs."""
    study = getattr(runs[0], "study", None)
    return "" if study is None else f"; measured on {data_of(study)}, a sweep of version 0.2, {study}"


def scores(study: str) -> trials.Scores:
    """Scores of a bundled sweep; the column that chose the learning rates is the one the study kept of validation."""
    study_trials = trials.bundled(study).trials
    column = next(iter(next(t for t in study_trials if t.validation).validation))
    return trials.Scores(study_trials, column)


def curves(
    study: str, axis: str, column: str | None = None, lines: str | None = None
) -> tuple[list[Any], dict[str, tuple[np.ndarray, np.ndarray]]]:
    """Mean and standard deviation over seeds along an axis of a bundled sweep, a line for each value of another.

    Args:
        column: score; by default the one that chose the learning rates.
        lines: axis whose values make the lines; None draws one, named by the study.

    Returns:
        The places that every line has, and line to (mean [p], deviation [p]).
    """
    measured = scores(study)
    settings = measured.settings()
    named = list(dict.fromkeys(str(s[lines]) if lines else study for s in settings))
    per_line: dict[str, dict[Any, Sequence[float]]] = {name: {} for name in named}
    for setting in settings:
        values = list(measured.by_seed(column, **setting).values())
        if values:
            per_line[str(setting[lines]) if lines else study][setting[axis]] = values
    places = sorted(set.intersection(*(set(line) for line in per_line.values())))
    return places, {
        name: tuple(np.array([of(line[p]) for p in places]) for of in (np.mean, deviation))
        for name, line in per_line.items()
    }


def subtitle(study: str) -> str:
    """A subtitle that says where the numbers come from, and what each seed was free to choose."""
    results = trials.bundled(study)
    seeds = len({trial.seed for trial in results.trials})
    free = [
        f"{'up to ' if len(counts) > 1 else ''}{counts[-1]} {words}"
        for counts, words in zip(results.choices, ("variants", "learning rates"), strict=True)
        if counts[-1] > 1
    ]
    chosen = f", each with the best of {' and '.join(free)} on validation classes" if free else ""
    return (
        f"measured on {data_of(study)}: mean and deviation over {seeds} seeds{chosen}; a sweep of version 0.2, {study}"
    )


def frozen() -> dict[str, dict[str, float]]:
    """Test scores of the frozen features that the sweeps train on, by protocol; mean of five splits."""
    return json.loads((EXAMPLES / "frozen_features.json").read_text(encoding="utf-8"))


def data_of(study: str) -> str:
    """The data set of a bundled sweep, as people write it."""
    data = trials.bundled(study).data
    return "Emoji-7" if data == "emoji7" else data
