"""One training of a study, by the same loop, samplers, losses and evaluation as `lab train`; nothing is written."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

import lab.encoders
from lab.claims._data import prepared
from lab.claims._study import Training
from lab.core.results import EmbeddingSet, Evidence
from lab.core.streams import result_of
from lab.data import ImageSet
from lab.data.images.features import FeatureLoader
from lab.encoders import Encoder
from lab.evaluation.embedding import embed
from lab.evaluation.scores import Evaluation, evaluate
from lab.kernels.devices import device_of
from lab.runs.building.loss import wrapped_loss
from lab.runs.building.parts import metrics_of, parts_of, testing_loader
from lab.runs.config import RunConfig
from lab.training.loop import Parts, Stopped, Trainer
from lab.trials import Trial

if TYPE_CHECKING:
    from lab.metrics import Metric


@dataclass(frozen=True)
class TrainedModel:
    """A trained model with all that a study may measure on one split."""

    config: RunConfig
    dataset: ImageSet
    parts: Parts
    testing: Any  # a loader of images or of features
    split: str

    def embedded(self, items: np.ndarray) -> EmbeddingSet:
        """Embed images of the data set, int64 [n]."""
        return result_of(embed(self.parts.encoder, self.testing, items, batch_size=1024))

    @cached_property
    def query(self) -> EmbeddingSet:
        return self.embedded(self.dataset.splits[self.split].query)

    @cached_property
    def searched(self) -> EmbeddingSet:
        """The gallery, or the queries, where those are searched among themselves."""
        gallery = self.dataset.splits[self.split].gallery
        return self.query if gallery is None else self.embedded(gallery)

    @cached_property
    def evaluation(self) -> Evaluation:
        return self.evaluated(self.query, None if self.searched is self.query else self.searched)

    @property
    def anchors(self) -> np.ndarray | None:
        """Class anchors [c d] of the loss, if it has any."""
        named = dict(self.parts.loss.named_parameters())
        return named["anchors"].detach().cpu().numpy() if "anchors" in named else None

    def measured(self, metric: Metric, **more: Any) -> dict[str, float]:
        """What one metric says of the ranking; `more` are fields of its evidence."""
        return metric(Evidence(self.evaluation.ranking, self.query, self.searched, **more)).values

    def evaluated(
        self, query: EmbeddingSet, gallery: EmbeddingSet | None = None, metrics: Mapping[str, Metric] | None = None
    ) -> Evaluation:
        """Search and measure, with the metrics of the configuration unless others are given."""
        evaluation = evaluate(
            query, gallery, metrics or metrics_of(self.config), k=self.config.evaluation.knobs.k,
            similarity=self.config.similarity, device=self.config.training.knobs.device,
        )  # fmt: skip
        return result_of(evaluation)


def run(training: Training, features: Any, device: str = "cpu") -> Trial:
    """Train, choose nothing, measure on validation and test.

    Args:
        features: float32 [n w] of every image, for the head tier; None for the other.
        device: as `training.device`.

    Raises:
        ValueError: a setting does not fit the data, or there is no such device.
    """
    started = time.process_time()
    config, study = training.config.changed("training.device", device), training.study
    dataset = prepared(config.data.create(), training.point.task, training.seed)
    base = Trial(dict(training.point.setting), training.lr, training.seed, training.digest)
    if study.tier == "head":
        parts = head_parts(config, dataset, features)
        testing: Any = parts.loader
    else:
        parts = replace(parts_of(config, dataset), validator=None)
        if study.tier == "end_to_end" and parts.device.type == "cpu":  # three fifths of the time
            parts.encoder.to(memory_format=torch.channels_last)
        testing = testing_loader(config, dataset, cast("Encoder", parts.encoder))
    try:
        for _ in Trainer(parts, config.training.knobs).run():
            pass
    except Stopped as stopped:
        return replace(base, failed=str(stopped).split(";")[0][:200], cpu=time.process_time() - started)

    scores: dict[str, Any] = {}
    for name in ("validation", "test"):
        model = TrainedModel(config, dataset, parts, testing, name)
        scores[name] = dict(model.evaluation.values)
        if study.extra is not None and (name == "test" or study.column not in scores[name]):
            scores[name] |= study.extra(model)
    scores["validation"] = {study.column: scores["validation"][study.column]}
    return replace(base, **scores, cpu=time.process_time() - started)


def head_parts(config: RunConfig, dataset: ImageSet, features: np.ndarray) -> Parts:
    """What `parts_of` builds, with frozen features in the place of images."""
    items = dataset.splits["train"].query
    classes, labels = np.unique(dataset.labels[items], return_inverse=True)
    device, knobs = device_of(config.training.knobs.device), config.encoder.knobs
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.training.knobs.seed)
        how = {"dim": knobs.dim, "layer_norm": knobs.layer_norm, "normalise": knobs.normalise}
        encoder = lab.encoders.create("adapted", width=features.shape[1], **how).to(device)
        loss = wrapped_loss(config, len(classes), knobs.dim).to(device)
    everything = EmbeddingSet(features, dataset.labels, np.arange(len(dataset)))
    loader: Any = FeatureLoader(everything, dataset)
    return Parts(
        encoder=encoder,
        loss=loss,
        sampler=config.sampler.create().bind(labels, seed=config.training.knobs.seed),
        items=items,
        classes=classes,
        loader=loader,
        optimiser=config.optimiser.create().build(encoder, loss),
        schedule=config.schedule.create(),
        validator=None,
        device=device,
    )
