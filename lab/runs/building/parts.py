"""Build the parts that a configuration names, each on its device and bound to the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from lab.data.images import loading, transforms
from lab.data.images.loading import Loader
from lab.evaluation.mixed_precision import MixedPrecision
from lab.evaluation.scores import check_levels, is_anchors
from lab.kernels.devices import device_of
from lab.runs.building.loss import wrapped_loss
from lab.runs.config import RunConfig
from lab.training.loop import Parts
from lab.training.randomness import mixed_seed
from lab.training.validation import Validator

if TYPE_CHECKING:
    from lab.data import ImageSet
    from lab.encoders import Encoder
    from lab.reranking import Reranker
    from lab.runs.custom.modules import Custom

WEIGHTS = 11
CROPS = 12
BATCHES = 13
"""Streams of the run's seed; those of the loop are in `lab.training.randomness`."""


def metrics_of(config: RunConfig) -> dict[str, Any]:
    """Return name to metric."""
    return {choice.name: choice.create() for choice in config.metrics}


def reranker_of(config: RunConfig) -> Reranker | None:
    """Return the re-ranker that reorders rankings before they are measured, or None."""
    knobs = config.evaluation.knobs
    if knobs.rerank == "none":
        return None
    import lab.reranking

    size = lab.reranking.get(knobs.rerank).neighbours_knob
    knob_values = {} if knobs.rerank_k is None else {size: knobs.rerank_k}
    return lab.reranking.create(knobs.rerank, device=config.training.knobs.device, **knob_values)


def testing_transform(config: RunConfig, encoder: Encoder) -> transforms.Transform:
    """Return the transform of an image for the encoder outside training."""
    knobs = config.testing.values
    size = knobs.pop("size") or config.augmentation.knobs.size or encoder.input_size
    return transforms.testing(
        size, mean=encoder.mean, std=encoder.std, own=encoder.preprocessing, **knobs
    )


def testing_loader(
    config: RunConfig, dataset: ImageSet, encoder: Encoder, with_contents: bool = False
) -> Loader:
    """Return the loader of images for the encoder outside training. with_contents: see `Loader`."""
    size = config.augmentation.knobs.size or encoder.input_size
    workers = workers_of(config, dataset, size, config.evaluation.knobs.batch_size)
    return Loader(
        dataset, testing_transform(config, encoder), workers=workers, with_contents=with_contents
    )


def training_loader(config: RunConfig, dataset: ImageSet, encoder: Encoder) -> Loader:
    """Return the loader of training images, cropped and flipped at random by the run's seed."""
    knobs = config.augmentation.values
    size = knobs.pop("size") or encoder.input_size
    training = config.training.knobs
    at_once = config.sampler.knobs.batch_size
    if training.stream and training.chunk:
        at_once = training.chunk
    return Loader(
        dataset,
        transforms.training(size, mean=encoder.mean, std=encoder.std, **knobs),
        seed=mixed_seed(training.seed, CROPS),
        workers=workers_of(config, dataset, size, at_once),
        pin_memory=device_of(training.device).type == "cuda",
    )


def workers_of(config: RunConfig, dataset: ImageSet, size: int, at_once: int) -> int:
    """Return the number of processes that load images ahead: the run's, or what suits this machine.

    Args:
        size: side of the images in pixels.
        at_once: images that are loaded at once.
    """
    knobs = config.training.knobs
    if knobs.workers is not None:
        return knobs.workers
    on_gpu = knobs.device != "cpu" and torch.cuda.is_available()
    return loading.num_workers(on_gpu, dataset.pixels is not None, 3 * size * size * at_once)


def encoder_and_loss(
    config: RunConfig, num_classes: int, custom: Custom | None = None
) -> tuple[Any, nn.Module]:
    """Return a fresh encoder and wrapped loss on the CPU; their weights depend on the run's seed alone. The user's own
    are returned as they are."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(mixed_seed(config.training.knobs.seed, WEIGHTS))
        encoder: Any = custom.encoder if custom else None
        if not encoder:
            encoder = config.encoder.create()
        custom_loss = custom.loss if custom else None
        loss = wrapped_loss(config, num_classes, encoder.trained_dim, custom_loss)
    return encoder, loss


def parts_of(
    config: RunConfig, dataset: ImageSet | None = None, custom: Custom | None = None
) -> Parts:
    """Build everything that a run trains with.

    Args:
        custom: the user's own encoder and loss, where the configuration names none of the catalogue.

    Raises:
        ValueError: the data cannot be trained on, a choice does not fit another, or the device does not exist.
    """
    knobs = config.training.knobs
    device = device_of(knobs.device)
    if knobs.precision == "float16" and device.type != "cuda":
        raise ValueError(
            "training: precision float16 needs a GPU; use bfloat16 or float32 on the CPU."
        )
    if dataset is None:
        dataset = config.data.create()
    # Every class needs the sampler's m images, unless rare classes are left out or their images repeated.
    sampled = config.sampler.values
    least = 1
    if sampled.get("short_classes") == "refuse":
        least = sampled["per_class"] or 4
    dataset.check_training(least)
    check_levels(metrics_of(config), dataset.levels)
    # Number the classes of the training images from 0, as losses and samplers take them.
    classes, _ = dataset.splits["train"].by_class(dataset.labels)
    trained = dataset.as_trained
    items = dataset.splits["train"].items
    super_labels = None if dataset.super_labels is None else dataset.super_labels[items]
    labels = np.searchsorted(classes, trained.labels[items])
    encoder, loss = encoder_and_loss(config, len(classes), custom)
    check_search(config, any(map(is_anchors, loss.state_dict())))
    encoder = encoder.to(device)
    loss = loss.to(device)
    # a run without steps may have nothing to train
    optimiser: Any = torch.optim.SGD([torch.zeros(1)])
    if knobs.steps:
        optimiser = config.optimiser.create().build(encoder, loss)
    return Parts(
        encoder=encoder,
        loss=loss,
        sampler=config.sampler.create().bind(
            labels, super_labels, seed=mixed_seed(knobs.seed, BATCHES)
        ),
        items=items,
        classes=classes,
        loader=training_loader(config, trained, encoder),
        optimiser=optimiser,
        schedule=config.schedule.create(),
        validator=_validator(config, dataset, encoder, loss, classes, device),
        device=device,
        config=config.as_dict(),
    )


def check_search(config: RunConfig, has_anchors: bool) -> None:
    """Refuse a two-stage search of a model without anchors, and a number of neighbours for no re-ranking.

    Raises:
        ValueError: says what to change.
    """
    if config.evaluation.knobs.rerank_k is not None and config.evaluation.knobs.rerank == "none":
        raise ValueError(
            "evaluation: rerank_k is for re-ranking; choose one with rerank, or leave rerank_k out."
        )
    if config.evaluation.knobs.search == "two_stage" and not has_anchors:
        who = "this run" if config.loss.outside else config.loss.name
        raise ValueError(
            f"evaluation: search two_stage needs class anchors, which {who} has not; take search exact, "
            "or train with class_anchor_margin."
        )


def _validator(
    config: RunConfig,
    dataset: ImageSet,
    encoder: Encoder,
    loss: nn.Module,
    classes: np.ndarray,
    device: torch.device,
) -> Validator | None:
    split = dataset.splits.get("validation")
    if split is None:
        return None
    trained_on = np.isin(split.by_class(dataset.labels)[0], classes).any()
    return Validator(
        loader=testing_loader(config, dataset, encoder),
        query=split.query,
        gallery=split.gallery,
        metrics=metrics_of(config),
        select_by=config.training.knobs.select_by,
        loss=loss if trained_on else None,
        classes=classes,
        batch_size=config.evaluation.knobs.batch_size,
        similarity=config.similarity,
        precision=MixedPrecision(config.training.knobs.precision, device),
        device=device,
    )
