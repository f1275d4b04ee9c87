"""What comes before the first step: features of a frozen network, and a last layer that starts from whitening.

Runs of frozen networks look at each image once: at its features, which are kept beside the runs. The last layer of
others may be started from whitening (000, section 4.2): a linear map that makes matching pairs lie close.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import nn

from lab.core import arrays
from lab.core.records import Record
from lab.core.results import EmbeddingSet
from lab.data.images import transforms
from lab.data.images.features import FeatureLoader, Features, Making, once, place
from lab.data.images.loading import Loader
from lab.encoders import OUTPUT, Layer
from lab.encoders.adapted import Adapted
from lab.evaluation.embedding import embed
from lab.evaluation.mixed_precision import MixedPrecision
from lab.evaluation.whitening import Whitening, learnt, pca
from lab.kernels.devices import device_of
from lab.runs.building.fingerprints import fingerprint
from lab.runs.building.parts import WEIGHTS, testing_loader, testing_transform, workers_of
from lab.runs.config import RunConfig
from lab.runs.folder import Run
from lab.training.loop import Parts
from lab.training.randomness import mixed_seed

if TYPE_CHECKING:
    from lab.data import ImageSet
    from lab.encoders import Encoder
    from lab.runs.building.trained import Trained


ABREAST, AT_ONCE = 4, 16
"""Pieces for each thread that are embedded side by side, and images of each step of one."""


def features_of(encoder: Adapted, config: RunConfig, images: ImageSet, root: Path) -> Making:
    """What the network of a run makes of every image of a set, or the vectors that came without one; yields progress.

    Args:
        root: the folder of runs, beside which they are kept.

    Returns:
        vectors float32 [n w], labels as the set says them now, and the images' numbers.

    Raises:
        ValueError: the run that holds the vectors is gone, or they are not of these images or numbers.
    """
    if encoder.knobs.base is None:
        return _usable(_stored(encoder, images))
    path, network = (
        place(root, source_of(encoder, config, encoder.layer_used), images),
        encoder.backbone,
    )
    device = device_of(config.training.knobs.device)
    threads = torch.get_num_threads() if device.type == "cpu" else 1
    loader = Loader(images, testing_transform(config, encoder), with_contents=True)
    making = embed(
        network.to(device),
        loader,
        np.arange(len(images)),
        what="images once",
        batch_size=AT_ONCE if device.type == "cpu" else 4 * AT_ONCE,
        precision=MixedPrecision(config.training.knobs.precision, device),
        abreast=ABREAST * threads if threads > 1 else 1,
    )
    return _usable((yield from once(path, images, _with_contents(making, loader))))


def _with_contents(making: Making, loader: Loader) -> Making:
    rows = yield from making
    return Features.of(rows, loader.contents)


def source_of(encoder: Adapted, config: RunConfig, layer: Layer = OUTPUT) -> str:
    """What decides features besides the images: the network's weights, how it sees images, and the layer; or the
    vectors that are stored in the place of a network. A text that changes when the file of weights or the run of
    vectors is written anew."""
    if encoder.knobs.vectors is not None and encoder.knobs.base is None:
        run = Run(encoder.knobs.vectors)
        return " ".join(arrays.stamp(run.embeddings_file(split)) for split in run.splits)
    seen = f"{config.testing.as_dict()} {config.augmentation.knobs.size or encoder.input_size}"
    network = f"{fingerprint(encoder.whole_network)} {seen} {encoder.preprocessing}"
    return network if layer == OUTPUT else f"{network} {layer.words}"


def features_state(encoder: Adapted, config: RunConfig, images: ImageSet) -> str:
    """Sixteen letters that two runs on features share if these are of the same network, whichever of its layers, and of
    the same images in the same classes and splits, as they are now."""
    made = hashlib.blake2b(f"{source_of(encoder, config)} {images.state}".encode(), digest_size=8)
    made.update("\n".join(images.class_names).encode(errors="replace"))
    made.update(np.ascontiguousarray(images.labels).data)
    for name, split in images.splits.items():
        made.update(name.encode())
        made.update(np.ascontiguousarray(split.items).data)
    return made.hexdigest()


def _usable(features: EmbeddingSet) -> EmbeddingSet:
    """The features, where a head can be trained on them.

    Raises:
        ValueError: one holds NaN or infinity, or all are equal.
    """
    broken = ~np.isfinite(features.vectors).all(1)
    if broken.any():
        raise ValueError(
            f"The features of {broken.sum():,} images hold NaN or infinity, first those of image "
            f"{features.items[broken][0]:,}; take another network, or precision float32."
        )
    if len(features) > 1 and not np.ptp(features.vectors, axis=0).any():
        raise ValueError(
            "The features of all images are equal, so no head can tell them apart; take another network."
        )
    return features


def _stored(encoder: Adapted, images: ImageSet) -> EmbeddingSet:
    from lab.runs.whole_set import stored

    if encoder.knobs.vectors is None:
        raise ValueError(
            "A head without a network needs vectors; name the run that holds them (encoder.vectors)."
        )
    run = Run(encoder.knobs.vectors)
    found = stored(run)
    if found.vectors.shape[1] != encoder.width or found.items.max(initial=-1) >= len(images):
        raise ValueError(
            f"{encoder.knobs.vectors} holds vectors of {found.vectors.shape[1]} numbers for other images than these; "
            f"the head takes {encoder.width}."
        )
    contents = np.zeros(len(images), np.int64)
    for split in run.splits:
        known = run.pictures(split)
        contents[known.items] = known.contents
    return Features.of(replace(found, labels=images.labels[found.items]), contents)


def on_features(
    parts: Parts, config: RunConfig, images: ImageSet, root: Path
) -> Generator[Record, None, Parts]:
    """What a run trains with, images exchanged for their features where its network is frozen; yields progress."""
    if not isinstance(parts.encoder, Adapted):
        return parts
    features = yield from features_of(parts.encoder, config, images, root)
    rows = features.vectors[np.isin(features.items, images.splits["train"].items)]
    _start(parts.encoder, rows, config.training.knobs.seed)
    validator = parts.validator
    if validator is not None:
        validator = replace(
            validator, loader=cast("Loader", _loader_of(features, images, parts.encoder))
        )
    loader = cast("Loader", _loader_of(features, images.as_trained, parts.encoder))
    return replace(parts, loader=loader, validator=validator)


def _start(encoder: Adapted, rows: np.ndarray, seed: int) -> None:
    """Fit the whitening to training features [n w] without their labels, and set a linear head to a random rotation:
    similarities are then those of the features, or close to them where the head is narrower.

    Raises:
        ValueError: the features vary in fewer directions than the whitening keeps.
    """
    if encoder.whitening is not None:
        found = pca(rows, encoder.knobs.whiten, encoder.knobs.shrinkage)
        encoder.whitening.fit(found.mean, found.projection)
    layer = encoder.head.embed
    if not isinstance(layer, nn.Linear):
        return
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(mixed_seed(seed, WEIGHTS))
        nn.init.orthogonal_(layer.weight)
        layer.bias.zero_()


def measure_on_features(trained: Trained) -> Generator[Record, None, None]:
    """Let a trained run with a frozen network be measured on the features that are kept; yields progress.

    Raises:
        ValueError: an evaluation looks at images twice (flip, scales), and there are vectors alone.
    """
    encoder, knobs = trained.encoder, trained.config.evaluation.knobs
    twice = knobs.flip or tuple(knobs.scales) != (1.0,)
    if not isinstance(encoder, Adapted) or (twice and encoder.knobs.base is not None):
        return
    if twice:
        raise ValueError(
            "Vectors have no mirror image and no size: leave out evaluation.flip and evaluation.scales."
        )
    features = yield from features_of(
        encoder, trained.config, trained.dataset, trained.run.path.parent
    )
    trained.loader = cast("Loader", _loader_of(features, trained.dataset, encoder))


def _loader_of(features: EmbeddingSet, images: ImageSet, encoder: Adapted) -> FeatureLoader:
    """Load features in the place of images, and name the images that could not be read when they were embedded."""
    loader = FeatureLoader(features, images)
    if encoder.knobs.base is not None:
        lost = np.setdiff1d(np.arange(len(images)), features.items)
        loader.problems = [f"{images.keys[item]} cannot be decoded." for item in lost]
    return loader


@torch.no_grad()
def _whiten(layer: nn.Linear, whitening: Whitening) -> None:
    layer.weight.copy_(torch.from_numpy(whitening.projection.T.copy()))
    layer.bias.copy_(torch.from_numpy(-whitening.mean @ whitening.projection))


class _Pooled(nn.Module):
    """What the last layer gets: pooled features, normalised as the encoder does it."""

    def __init__(self, encoder: Encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.encoder.head.norm(self.encoder.head.pool(self.encoder.backbone(images)))


def start_from_whitening(
    config: RunConfig, dataset: ImageSet, parts: Parts
) -> Generator[Record, None, None]:
    """Set the last layer to the whitening of pooled features of `training.whitening` training images; yields progress.

    Whole classes are taken, so that there are pairs that match. Every process of a run computes the same.

    Raises:
        ValueError: there is no last layer, or the images are too few or too alike.
    """
    encoder = cast("Encoder", parts.encoder)  # of a run, not of a study over features
    layer = encoder.head.embed
    if not isinstance(layer, nn.Linear):
        raise ValueError(
            "training: whitening starts the last layer, which encoder.dim none leaves out; give a width."
        )
    items = dataset.splits["train"].items
    items = items[np.argsort(dataset.labels[items], kind="stable")][
        : config.training.knobs.whitening
    ]
    whole = config.augmentation.knobs.crop == "whole"
    loader = testing_loader(config, dataset, encoder)
    if whole:
        size = config.augmentation.knobs.size or encoder.input_size
        transform = transforms.whole(size, encoder.mean, encoder.std)
        loader = Loader(dataset, transform, workers=workers_of(config, dataset, size, 1))
    seen = yield from embed(
        _Pooled(encoder),
        loader,
        items,
        what="images to whiten by",
        batch_size=1 if whole else config.evaluation.knobs.batch_size,
        precision=MixedPrecision(config.training.knobs.precision, parts.device),
    )
    _whiten(layer, learnt(seen.vectors, seen.labels, layer.out_features))
