"""One training of a study, by the same loop, samplers, losses and evaluation as `lab train`; nothing is written."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch

import lab.encoders
import lab.metrics
import lab.reranking
import lab.search
from lab.core.results import EmbeddingSet, Evidence, Ranking
from lab.core.streams import result_of
from lab.data import ImageSet
from lab.data.images.features import FeatureLoader
from lab.encoders import Encoder
from lab.evaluation.embedding import embed
from lab.evaluation.scores import Evaluation, evaluate
from lab.figures.measured import Trial, packed
from lab.kernels.devices import device_of
from lab.runs.building.loss import wrapped_loss
from lab.runs.building.parts import metrics_of, parts_of, testing_loader
from lab.runs.config import RunConfig
from lab.training.loop import Parts, Stopped, Trainer
from scripts.studies.data import prepared
from scripts.studies.study import PILOTS, Training


@dataclass(frozen=True)
class TrainedModel:
    """A trained model, to be measured on one split."""

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
        gallery = None if self.searched is self.query else self.searched
        found = evaluate(
            self.query, gallery, metrics_of(self.config), k=self.config.evaluation.knobs.k,
            similarity=self.config.similarity, device=self.config.training.knobs.device,
        )  # fmt: skip
        return result_of(found)

    def per_query(self, column: str) -> np.ndarray:
        """A score of each query, float64 [q]; `mAP, two-stage` and `r@1, re-ranked` search in another way."""
        metric, _, way = column.partition(", ")
        if not way:
            return self.evaluation.per_query[metric]
        ranking = {"two-stage": self._two_stage, "re-ranked": self._reranked}[way]()
        name = {"mAP": "mean_average_precision", "r@1": "hit_rate_at_k"}[metric]
        measure = lab.metrics.create(name)
        return measure(Evidence(ranking, self.query, self.searched)).per_query[metric]

    def _two_stage(self) -> Ranking:
        """The search among the images of the nearest anchor (003); what it does not reach is lost."""
        anchors = dict(self.parts.loss.named_parameters())["anchors"].detach().cpu().numpy()
        device = self.config.training.knobs.device
        index = lab.search.create(
            "two_stage", device=device, k=10, similarity=self.config.similarity, ties="shuffled"
        )
        index.build(self.searched, anchors=anchors)
        return index.rank(self.query, same_source=False)

    def _reranked(self) -> Ranking:
        """With neighbourhoods of four (004, table 10)."""
        reranker = lab.reranking.create("contextual", device=self.config.training.knobs.device, k=4)
        return reranker.rerank(self.evaluation.ranking, self.query, self.searched)


def run(training: Training, features: Any, device: str = "cpu") -> Trial:
    """Train, choose nothing, measure: a pilot on the validation classes, all others on the test classes.

    Args:
        features: float32 [n w] of every image, for the head tier; None for the other.
        device: as `training.device`.

    Raises:
        ValueError: a setting does not fit the data, or there is no such device.
    """
    started = time.process_time()
    config, arm = training.config.changed("training.device", device), training.arm
    dataset = prepared(config.data.create(), arm.protocol)
    base = Trial({"arm": arm.name}, training.lr, training.seed, arm.digest)
    if arm.tier == "head":
        parts = head_parts(config, dataset, features)
        testing: Any = parts.loader
    else:
        parts = replace(parts_of(config, dataset), validator=None)
        testing = testing_loader(config, dataset, cast("Encoder", parts.encoder))
    try:
        for _ in Trainer(parts, config.training.knobs).run():
            pass
    except Stopped as stopped:
        return replace(
            base, failed=str(stopped).split(";")[0][:200], cpu=time.process_time() - started
        )

    pilot = training.seed in PILOTS
    model = TrainedModel(config, dataset, parts, testing, "validation" if pilot else "test")
    scores = {
        column: of_classes(model.per_query(column), model.query.labels) for column in arm.columns
    }
    means = {column: float(of_class.mean()) for column, of_class in scores.items()}
    by_class = {column: packed(of_class) for column, of_class in scores.items()}
    scored = replace(base, by_class=by_class, cpu=time.process_time() - started)
    return replace(scored, validation=means) if pilot else replace(scored, test=means)


def of_classes(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """What each class contributes to a score, float64 [c]: their mean is the mean over all queries.

    Args:
        values: score of each query [q]. labels: its class [q].
    """
    _, place = np.unique(labels, return_inverse=True)
    sums = np.bincount(place, values)
    return sums * (len(sums) / len(values))


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
