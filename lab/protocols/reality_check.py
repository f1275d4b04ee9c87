"""Compare losses under equal conditions: folds of classes, one search budget for all, confidence intervals."""

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
from lab.protocols._base import (
    Judgement,
    Protocol,
    require_validation_split,
    with_metrics,
    without_recordings,
)
from lab.protocols._outcome import OutcomeRow, Setting, summarise
from lab.protocols._selection import cell, draw_value, searched_knobs, validation_score
from lab.protocols.standard_halves import require_disjoint_halves
from lab.runs.config import DERIVED, RunConfig
from lab.runs.folder import Run
from lab.sweeps import Bench, RunDiverged, changed

TABLE = (
    "contrastive",
    "triplet_margin",
    "nt_xent",
    "proxy_nca",
    "margin",
    "normalized_softmax",
    "cos_face",
    "arc_face",
    "fast_ap",
    "signal_to_noise_ratio_contrastive",
    "multi_similarity",
    "soft_triple",
)
"""Losses of the table in 002."""

METRICS: tuple[dict[str, Any], ...] = (
    {"name": "hit_rate_at_k", "k": (1,)},
    {"name": "r_precision"},
    {"name": "map_at_r"},
)
DRAWS = 100
"""Draws of a setting before the protocol gives up, since the loss refuses some combinations of its knobs."""


class FoldsFile(Stored):
    """Stored results of one seed: the width of an embedding, and scores by column in two ways; see `score_folds`."""

    width: Count
    separated: Scores
    concatenated: Scores


class RealityCheck(Protocol):
    """Give every loss the same encoder, the same steps and the same number of searched settings.

    The classes of the training half are divided into folds. Each of `trials` settings of a loss is trained once per
    fold, with the fold's classes as validation, and scored by the mean of `training.select_by` over the folds. The
    first setting holds the defaults of the loss; the others are drawn at random around them, with the learning rate of
    its weights if the loss has weights. The best setting is trained `reproductions` times with other seeds, and tested
    in two ways: separated (mean score of the models of the folds) and concatenated (the embeddings of the folds'
    models side by side). Batches hold one image per class for losses that compare with class weights, and are as
    configured for all others. Losses for which lengths matter get embeddings of any length, others unit vectors.

    Published: 50 trials by Bayesian search, 10 reproductions, batches of 8 classes x 4 images or 32 x 1, RMSprop at
    1e-6, width 128 and frozen BatchNorm, as in the preset `reality_check_cub200`. Its BN-Inception is not in timm; the
    preset uses a ResNet-50 instead, so compare its numbers only with each other.
    """

    source = "DML deck, metric learning reality check (Musgrave et al., 2020)"

    losses: tuple[str, ...] = knob("Losses to compare.", default=TABLE)
    folds: int = knob("Number of folds of the training classes.", default=4, ge=2, le=100)
    trials: int = knob(
        "Number of settings that are tried for each loss.", default=50, ge=1, le=10_000
    )
    reproductions: int = knob(
        "Number of trainings of the best setting, each with another seed.",
        default=10,
        ge=1,
        le=1000,
    )
    vary: tuple[str, ...] = knob(
        "Settings of the losses to search; by default every real-valued one.", default=()
    )
    search_seed: int = knob("Random seed of the settings that are tried.", default=0, ge=0)

    def folder_name(self, config: RunConfig) -> str:
        return f"{self.name}-{config.data.name}"

    def conduct(self, config: RunConfig, bench: Bench) -> Judgement:
        k = self.knobs
        base = self._base(config)
        dataset = base.data.create()
        require_disjoint_halves(dataset, self.name)
        require_validation_split(dataset, self.name)
        settings_of = {loss: self._settings(base, loss) for loss in k.losses}
        steps = config.training.knobs.steps
        count = len(k.losses) * k.folds * (k.trials + k.reproductions)
        yield Note(f"{self.name}: {count:,} runs of {steps:,} steps in all.")

        rows = []
        notes = []
        for loss, trials in settings_of.items():
            # Search: score every setting by its mean over the folds.
            scores = []
            for number, settings in enumerate(trials):
                score = yield from self._score(base, settings, f"{loss}-trial-{number}", bench)
                scores.append(score)
            best = int(np.argmax(scores))
            if scores[best] == -math.inf:
                notes.append(f"{loss}: none of its {k.trials} settings reached a number.")
                continue

            # Test: reproduce the best setting with other seeds.
            chosen = dict(trials[best])
            del chosen["loss"]
            notes.append(f"{loss}: {cell(chosen)}, of {k.trials} tried.")
            try:
                rows += yield from self._final(base, trials[best], loss, bench)
            except (
                RunDiverged
            ) as diverged:  # a mean over the remaining reproductions would flatter the loss
                notes.append(
                    f"{loss}: no row, since a reproduction of its best setting failed. {diverged}"
                )
        budget = f"{k.trials} settings for each loss, {k.folds} folds, {steps:,} steps a run."
        return self.outcome(rows, "reproductions", [budget, *notes])

    def _base(self, config: RunConfig) -> RunConfig:
        if "folds" not in config.data.values:
            raise ValueError(
                f"{config.data.name} has no training classes to make folds of; choose another data set."
            )
        base = with_metrics(without_recordings(config), METRICS)
        changes = {
            "evaluation.splits": ("validation",),
            "data.folds": self.knobs.folds,
            "wrappers": [],
        }
        return changed(base, changes)

    def _settings(self, base: RunConfig, loss: str) -> list[dict[str, Any]]:
        """Return the changes to the configuration of each trial of a loss; refuse an unknown loss."""
        kind = importlib.import_module("lab.losses").get(loss)
        defaults: dict[str, Any] = {"loss": {"name": loss}}
        if not kind.needs_positives and "per_class" in base.sampler.values:
            defaults["sampler.per_class"] = 1

        searched = searched_knobs(kind.Knobs)
        if self.knobs.vary:
            searched = [knob for knob in searched if knob.name in self.knobs.vary]

        trials = [defaults]  # the first trial is the loss as it is
        for trial in range(1, self.knobs.trials):
            trials.append(defaults | self._draw(base, defaults, searched, trial))
        return trials

    def _draw(
        self, base: RunConfig, defaults: dict[str, Any], searched: Sequence[Knob], trial: int
    ) -> dict[str, Any]:
        """Draw values of a loss's knobs until its own checks accept them."""
        random = np.random.default_rng((self.knobs.search_seed, trial))
        for _ in range(DRAWS):
            settings = {f"loss.{knob.name}": draw_value(knob, random) for knob in searched}
            config = changed(base, defaults | settings)
            if "num_classes" in config.loss.derived:
                rate = config.optimiser.values["lr"] * 10 ** random.uniform(-1, 2)
                settings["optimiser.anchors_lr"] = min(rate, 1000.0)
            try:
                config.loss.create(**DERIVED)
            except ValueError:
                continue  # a combination that the loss itself refuses
            return settings
        loss = defaults["loss"]["name"]
        raise ValueError(
            f"{self.name}: {loss} refused {DRAWS} draws of its knobs; name those to search in vary."
        )

    def _score(
        self, base: RunConfig, settings: Mapping[str, Any], name: str, bench: Bench
    ) -> Generator[Record, None, float]:
        """Return the mean validation score over the folds; -inf for settings whose training diverges."""
        try:
            runs = yield from bench.trained(self._fold_configs(base, settings, name))
        except RunDiverged as diverged:
            yield Note(str(diverged))
            return -math.inf
        return float(np.mean([validation_score(run) for run in runs.values()]))

    def _fold_configs(
        self, base: RunConfig, settings: Mapping[str, Any], name: str
    ) -> dict[str, RunConfig]:
        """Return one configuration per fold, by the name of its run."""
        configs = {}
        for fold in range(self.knobs.folds):
            configs[f"{name}-fold-{fold}"] = changed(base, {**settings, "data.fold": fold})
        return configs

    def _final(
        self, base: RunConfig, settings: Mapping[str, Any], loss: str, bench: Bench
    ) -> Generator[Record, None, list[OutcomeRow]]:
        """Train the best setting with other seeds and test it; return the rows of the loss."""
        first = base.training.knobs.seed + 1  # the search has used the configured seed
        results = []
        for seed in range(first, first + self.knobs.reproductions):
            name = f"{loss}-seed-{seed}"
            runs = yield from bench.trained(
                self._fold_configs(base, {**settings, "training.seed": seed}, name)
            )
            result = yield from bench.kept(name, score_folds(list(runs.values())), FoldsFile)
            results.append(result)

        width = results[-1]["width"]
        concatenated: Setting = {
            "loss": loss,
            "embeddings": "concatenated",
            "width": self.knobs.folds * width,
        }
        separated: Setting = {"loss": loss, "embeddings": "separated", "width": width}
        return [
            summarise(concatenated, *(result["concatenated"] for result in results)),
            summarise(separated, *(result["separated"] for result in results)),
        ]


def score_folds(runs: Sequence[Run]) -> Generator[Record, None, dict[str, Any]]:
    """Test the models of all folds: the mean of their scores, and the score of their concatenated embeddings."""
    from lab.runs.evaluate import Evaluator, open_trained

    scores = []
    embeddings = []
    for run in runs:
        evaluator = Evaluator(open_trained(run))
        query, _ = yield from evaluator.split("test")
        evaluation = yield from evaluator.measure("test", query, None)
        scores.append(evaluation.values)
        embeddings.append(query)

    means = {}
    for column in scores[0]:
        means[column] = float(np.mean([values[column] for values in scores]))
    evaluation = yield from evaluator.measure("test", concatenate(embeddings), None)
    return {
        "width": int(embeddings[0].vectors.shape[1]),
        "separated": means,
        "concatenated": evaluation.values,
    }


def concatenate(parts: Sequence[EmbeddingSet]) -> EmbeddingSet:
    """Normalise the embeddings of the same images by several models, and concatenate them to unit vectors.

    Raises:
        ValueError: the parts are not of the same images in the same order.
    """
    if any(not np.array_equal(part.items, parts[0].items) for part in parts):
        raise ValueError(
            "Embeddings can be put side by side only where every model embedded the same images."
        )
    units = [part.vectors / np.linalg.norm(part.vectors, axis=1, keepdims=True) for part in parts]
    vectors = np.concatenate(units, axis=1) / np.sqrt(len(parts))
    return EmbeddingSet(vectors.astype(np.float32), parts[0].labels, parts[0].items)
