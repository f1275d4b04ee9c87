"""Example runs that come with the package, for figures of runs: small runs, and sweeps that version 0.2 made.

Each has the members of `lab.runs.Run` that `lab.figures._runs` lists.
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
"""Folder of the example runs, which scripts/bundle_examples.py writes."""

TWO_LOSSES = ("contrastive", "recall_at_k")
FOUR_LOSSES = ("cross_entropy", "class_anchor_margin", *TWO_LOSSES)
MEMORIES = ("batch_64", "memory_512", "memory_1024", "memory_2048")
EXAMINED = ("steady", "narrow_temperature", "high_rate")
"""Names of example runs. The two are those of the preset emoji7_contrastive and the demo; the four add those that CAM
compares, in the same setting. The memories are the contrastive loss with memories of several sizes. The examined runs
are a healthy training of `scripts.studies.verdict_trials` and two that it breaks."""


class ExampleRun:
    """A reduced copy of a finished run on Emoji-7: all steps and scores, images of forty test classes or none."""

    status = {"state": "finished"}  # so that findings have no link to a page
    failure = None
    splits = ()
    batches = tuple

    def __init__(self, path: Path):
        self.path = path
        self.name = f"example: {entry_in_words(path.stem)}"

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
        records: list[dict[str, Any]] = []
        for step, values in enumerate(zip(*columns.values(), strict=True), start=1):
            records.append(
                {"kind": "stepped", "step": step, **dict(zip(columns, values, strict=True))}
            )
        for record in self._facts["validated"]:
            records.append({"kind": "validated", **record})
        records += self._facts.get("checkups", ())  # only the runs of `EXAMINED` have them
        return [record for record in records if kind in (None, record["kind"])]

    def scores(self, split: str = "test") -> dict[str, Any] | None:
        return self._facts["scores"] if split == "test" else None

    def per_query(self, split: str = "test") -> dict[str, np.ndarray]:
        self._only_test(split)
        columns = {}
        for name, values in self._stored.items():
            if name.startswith("query "):
                columns[name.removeprefix("query ")] = values
        return columns

    def embeddings(self, split: str = "test", part: str = "query") -> EmbeddingSet | None:
        self._only_test(split)
        if part != "query" or "vectors" not in self._stored:
            return None
        vectors = self._stored["vectors"].astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return EmbeddingSet(
            vectors, self._stored["labels"].astype(np.int64), self._stored["items"].astype(np.int64)
        )

    def dataset(self) -> ImageSet:
        """Return the images of the run, which come with the package."""
        from lab import data

        return data.create("emoji7")

    def _only_test(self, split: str) -> None:
        if split != "test":
            raise ValueError(
                f"The example runs hold the test split only, not {split!r}; give runs of your own."
            )


def examples(names: Sequence[str] = TWO_LOSSES) -> list[ExampleRun]:
    """Return example runs that come with the package."""
    return [ExampleRun(EXAMPLES / f"{name}.npz") for name in names]


class TrialRun:
    """One training of a sweep: its setting as configuration, and its test scores."""

    def __init__(self, study: str, trial: trials.Trial, axes: tuple[str, str]):
        self.study = study
        self.axes = axes
        setting = ", ".join(f"{axis} {value}" for axis, value in trial.setting.items())
        self.name = f"{study}, seed {trial.seed}, {setting}"
        self.config_dict = {**trial.setting, "learning rate": trial.lr, "seed": trial.seed}
        self._scores = {"values": trial.test}

    def scores(self, split: str = "test") -> dict[str, Any] | None:
        return self._scores if split == "test" else None


def swept(study: str) -> list[TrialRun]:
    """Return the trainings of a bundled sweep, at the learning rates chosen on validation.

    Each has the sweep's two axes. The first is the numeric axis with the most values; a single axis is given twice.

    Raises:
        ValueError: no results of that name come with the package; the message lists those that do.
    """
    study_scores = scores(study)
    settings = study_scores.settings()
    axes = list(settings[0])

    def numeric_and_long(axis: str) -> tuple[bool, int]:
        values = {setting[axis] for setting in settings}
        return all(isinstance(value, int | float) for value in values), len(values)

    axes.sort(key=numeric_and_long, reverse=True)
    two_axes = axes[0], axes[min(1, len(axes) - 1)]
    runs = []
    for by_seed in study_scores.chosen.values():
        for trial in by_seed.values():
            runs.append(TrialRun(study, trial, two_axes))
    return runs


def axes(runs: Sequence) -> tuple[str, str] | None:
    """Return the axes of a bundled sweep; None for real runs, whose axes are knobs."""
    return getattr(runs[0], "axes", None)


def origin(runs: Sequence) -> str:
    """Return the source of the numbers of a bundled sweep, as the end of a subtitle; empty for real runs."""
    study = getattr(runs[0], "study", None)
    if study is None:
        return ""
    return f"; measured on {data_of(study)}, a sweep of version 0.2, {study}"


def scores(study: str) -> trials.Scores:
    """Return the scores of a bundled sweep, whose learning rates were chosen by its only column of validation."""
    study_trials = trials.bundled(study).trials
    validated = next(trial for trial in study_trials if trial.validation)
    column = next(iter(validated.validation))
    return trials.Scores(study_trials, column)


def curves(
    study: str, axis: str, column: str | None = None, lines: str | None = None
) -> tuple[list[Any], dict[str, tuple[np.ndarray, np.ndarray]]]:
    """Return mean and standard deviation over seeds along an axis of a bundled sweep, a line per value of another axis.

    Args:
        column: score; by default the column that chose the learning rates.
        lines: axis whose values make the lines; None makes one line with the name of the study.

    Returns:
        the values on the axis that every line has, and (mean [p], deviation [p]) of each line.
    """
    study_scores = scores(study)
    scores_of: dict[str, dict[Any, Sequence[float]]] = {}  # by line and value on the axis
    for setting in study_scores.settings():
        line = str(setting[lines]) if lines else study
        scores_of.setdefault(line, {})
        by_seed = study_scores.by_seed(column, **setting)
        if by_seed:
            scores_of[line][setting[axis]] = list(by_seed.values())

    positions = sorted(set.intersection(*(set(scores_at) for scores_at in scores_of.values())))
    statistics = {}
    for name, scores_at in scores_of.items():
        means = np.array([np.mean(scores_at[position]) for position in positions])
        deviations = np.array([deviation(scores_at[position]) for position in positions])
        statistics[name] = (means, deviations)
    return positions, statistics


def subtitle(study: str) -> str:
    """Return a subtitle that names the source of the numbers, and the settings that were chosen for each seed."""
    results = trials.bundled(study)
    seeds = len({trial.seed for trial in results.trials})
    choices = []
    for counts, noun in zip(results.choices, ("variants", "learning rates"), strict=True):
        if counts[-1] > 1:
            up_to = "up to " if len(counts) > 1 else ""
            choices.append(f"{up_to}{counts[-1]} {noun}")
    chosen = ""
    if choices:
        chosen = f", each with the best of {' and '.join(choices)} on validation classes"
    return (
        f"measured on {data_of(study)}: mean and deviation over {seeds} "
        f"seeds{chosen}; a sweep of version 0.2, {study}"
    )


def frozen() -> dict[str, dict[str, float]]:
    """Return the test scores of the frozen features that the sweeps train on, by protocol; means of five splits."""
    return json.loads((EXAMPLES / "frozen_features.json").read_text(encoding="utf-8"))


def data_of(study: str) -> str:
    """Return the data set of a bundled sweep under its usual name."""
    data = trials.bundled(study).data
    return "Emoji-7" if data == "emoji7" else data
