"""Losses under equal conditions: folds of classes, one search budget for all, confidence intervals."""

from __future__ import annotations

import importlib
import math
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import numpy as np

from lab.core.knobs import Knob, knob
from lab.core.records import Note, Record
from lab.core.results import EmbeddingSet
from lab.core.stored import Count, Scores, Stored
from lab.protocols._base import Judgement, Protocol, lean, measuring, with_validation
from lab.protocols._outcome import OutcomeRow, Setting, measured
from lab.protocols._selection import cell, drawn, searched_knobs, validation_score
from lab.protocols.standard_halves import disjoint_halves
from lab.runs.config import DERIVED, RunConfig
from lab.runs.folder import Run
from lab.sweeps import Bench, RunDiverged, changed

TABLE = (
    "contrastive", "triplet_margin", "nt_xent", "proxy_nca", "margin", "normalized_softmax", "cos_face", "arc_face",
    "fast_ap", "signal_to_noise_ratio_contrastive", "multi_similarity", "soft_triple",
)  # fmt: skip
"""The losses of the table in 002."""

METRICS: tuple[dict[str, Any], ...] = (
    {"name": "hit_rate_at_k", "k": (1,)},
    {"name": "r_precision"},
    {"name": "map_at_r"},
)
DRAWS = 100


class FoldsFile(Stored):
    """What is kept of one seed: the width of an embedding, and column to score in two ways; see `tested`."""

    width: Count
    separated: Scores
    concatenated: Scores


class RealityCheck(Protocol):
    """Every loss gets the same encoder, the same steps and the same number of searched settings.

    The classes of the training half are shared out into folds. Each of `trials` settings of a loss is trained once a
    fold, the fold's classes validating, and scored by the mean of `training.select_by` over the folds. The first
    setting is the loss's defaults, the others are drawn at random around them; where a loss has weights of its own,
    their learning rate is drawn, too. The best setting is trained `reproductions` times with other seeds, and tested:
    the models of the folds one by one (separated, mean of their scores), and as one, their embeddings side by side
    (concatenated). Batches of losses that compare with class weights hold one image a class, others as configured;
    losses for which lengths matter get embeddings of any length, others unit ones.

    Published: 50 trials by Bayesian search, 10 reproductions, batches of 8 classes x 4 images or 32 x 1, RMSprop at
    1e-6, width 128 and frozen BatchNorm, as in the preset `reality_check_cub200`. Its BN-Inception is not in timm; a
    ResNet-50 stands in for it there, and numbers compare among each other only.
    """

    source = "DML deck, metric learning reality check (Musgrave et al., 2020)"

    losses: tuple[str, ...] = knob("Losses to compare.", default=TABLE)
    folds: int = knob("Number of folds of the training classes.", default=4, ge=2, le=100)
    trials: int = knob("Number of settings that are tried for each loss.", default=50, ge=1, le=10_000)
    reproductions: int = knob(
        "Number of trainings of the best setting, each with another seed.", default=10, ge=1, le=1000
    )
    vary: tuple[str, ...] = knob("Settings of the losses to search; by default every real-valued one.", default=())
    search_seed: int = knob("Random seed of the settings that are tried.", default=0, ge=0)

    def folder_name(self, config: RunConfig) -> str:
        return f"{self.name}-{config.data.name}"

    def conduct(self, config: RunConfig, bench: Bench) -> Judgement:
        k = self.knobs
        base = self._base(config)
        dataset = base.data.create()
        disjoint_halves(dataset, self.name)
        with_validation(dataset, self.name)
        plans = {loss: self._settings(base, loss) for loss in k.losses}
        count = len(k.losses) * k.folds * (k.trials + k.reproductions)
        yield Note(f"{self.name}: {count:,} runs of {config.training.knobs.steps:,} steps in all.")
        rows, notes = [], []
        for loss, settings in plans.items():
            scores = []
            for trial, one in enumerate(settings):
                scores.append((yield from self._score(base, one, f"{loss}-trial-{trial}", bench)))
            best = int(np.argmax(scores))
            if scores[best] == -math.inf:
                notes.append(f"{loss}: none of its {k.trials} settings reached a number.")
                continue
            chosen = {path: value for path, value in settings[best].items() if path != "loss"}
            notes.append(f"{loss}: {cell(chosen)}, of {k.trials} tried.")
            try:
                rows += yield from self._final(base, settings[best], loss, bench)
            except RunDiverged as diverged:  # a mean over the reproductions that are left would flatter the loss
                notes.append(f"{loss}: no row, since a reproduction of its best setting failed. {diverged}")
        budget = f"{k.trials} settings for each loss, {k.folds} folds, {config.training.knobs.steps:,} steps a run."
        return self.outcome(rows, "reproductions", [budget, *notes])

    def _base(self, config: RunConfig) -> RunConfig:
        if "folds" not in config.data.values:
            raise ValueError(f"{config.data.name} has no training classes to make folds of; choose another data set.")
        return changed(
            measuring(lean(config), METRICS),
            {"evaluation.splits": ("validation",), "data.folds": self.knobs.folds, "wrappers": []},
        )

    def _settings(self, base: RunConfig, loss: str) -> list[dict[str, Any]]:
        """What each trial of a loss changes; refuses an unknown loss before any training."""
        kind = importlib.import_module("lab.losses").get(loss)
        fixed: dict[str, Any] = {"loss": {"name": loss}}
        if not kind.needs_positives and "per_class" in base.sampler.values:
            fixed["sampler.per_class"] = 1
        moved = [one for one in searched_knobs(kind.Knobs) if not self.knobs.vary or one.name in self.knobs.vary]
        draws = [self._draw(base, fixed, moved, trial) for trial in range(1, self.knobs.trials)]
        return [fixed, *(fixed | settings for settings in draws)]

    def _draw(self, base: RunConfig, fixed: dict[str, Any], moved: Sequence[Knob], trial: int) -> dict[str, Any]:
        """Settings of a loss's knobs that its own checks let pass."""
        random = np.random.default_rng((self.knobs.search_seed, trial))
        for _ in range(DRAWS):
            settings = {f"loss.{one.name}": drawn(one, random) for one in moved}
            config = changed(base, fixed | settings)
            if "num_classes" in config.loss.derived:
                rate = config.optimiser.values["lr"] * 10 ** random.uniform(-1, 2)
                settings["optimiser.anchors_lr"] = min(rate, 1000.0)
            try:
                config.loss.create(**DERIVED)
            except ValueError:
                continue  # a combination that the loss itself refuses
            return settings
        loss = fixed["loss"]["name"]
        raise ValueError(f"{self.name}: {loss} refused {DRAWS} draws of its knobs; name those to search in vary.")

    def _score(
        self, base: RunConfig, settings: Mapping[str, Any], name: str, bench: Bench
    ) -> Generator[Record, None, float]:
        """Mean validation score over the folds; -inf for settings that break down."""
        try:
            runs = yield from bench.trained(self._of_folds(base, settings, name))
        except RunDiverged as diverged:
            yield Note(str(diverged))
            return -math.inf
        return float(np.mean([validation_score(run) for run in runs.values()]))

    def _of_folds(self, base: RunConfig, settings: Mapping[str, Any], name: str) -> dict[str, RunConfig]:
        return {
            f"{name}-fold-{fold}": changed(base, {**settings, "data.fold": fold}) for fold in range(self.knobs.folds)
        }

    def _final(
        self, base: RunConfig, settings: Mapping[str, Any], loss: str, bench: Bench
    ) -> Generator[Record, None, list[OutcomeRow]]:
        first = base.training.knobs.seed + 1  # the search has used the configured one
        kept = []
        for seed in range(first, first + self.knobs.reproductions):
            name = f"{loss}-seed-{seed}"
            runs = yield from bench.trained(self._of_folds(base, {**settings, "training.seed": seed}, name))
            kept.append((yield from bench.kept(name, tested(list(runs.values())), FoldsFile)))
        width = kept[-1]["width"]
        together: Setting = {"loss": loss, "embeddings": "concatenated", "width": self.knobs.folds * width}
        apart: Setting = {"loss": loss, "embeddings": "separated", "width": width}
        return [
            measured(together, *(one["concatenated"] for one in kept)),
            measured(apart, *(one["separated"] for one in kept)),
        ]


def tested(runs: Sequence[Run]) -> Generator[Record, None, dict[str, Any]]:
    """Test the models of all folds: each by itself, mean of the scores; and their embeddings side by side."""
    from lab.runs.evaluate import Evaluator, open_trained

    single, embedded = [], []
    for run in runs:
        evaluator = Evaluator(open_trained(run))
        query, _ = yield from evaluator.split("test")
        evaluation = yield from evaluator.measure("test", query, None)
        single.append(evaluation.values)
        embedded.append(query)
    whole = yield from evaluator.measure("test", concatenated(embedded), None)
    return {
        "width": int(embedded[0].vectors.shape[1]),
        "separated": {column: float(np.mean([values[column] for values in single])) for column in single[0]},
        "concatenated": whole.values,
    }


def concatenated(parts: Sequence[EmbeddingSet]) -> EmbeddingSet:
    """Embeddings of the same images by several models, each at unit length, side by side, at unit length.

    Raises:
        ValueError: they are not of the same images in the same order.
    """
    if any(not np.array_equal(part.items, parts[0].items) for part in parts):
        raise ValueError("Embeddings can be put side by side only where every model embedded the same images.")
    units = [part.vectors / np.linalg.norm(part.vectors, axis=1, keepdims=True) for part in parts]
    vectors = np.concatenate(units, axis=1) / np.sqrt(len(parts))
    return EmbeddingSet(vectors.astype(np.float32), parts[0].labels, parts[0].items)
