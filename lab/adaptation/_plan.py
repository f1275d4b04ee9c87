"""From what a person has - images, a run, vectors - to two configurations: the network as it came, and with a head;
and how long that head will take on this machine, before anything is begun."""

from __future__ import annotations

import json
import time
import timeit
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import lab.data
from lab.core.files import whole
from lab.core.words import NAME, kind_of
from lab.data import ImageSet
from lab.encoders.adapted import Adapted
from lab.encoders.foreign import encoder_of
from lab.runs.building.fingerprints import fingerprint
from lab.runs.building.parts import encoder_and_loss, testing_transform
from lab.runs.building.user_images import shares
from lab.runs.config import RunConfig, merged, without_fetching
from lab.runs.folder import Run
from lab.runs.store import default_root, open_run
from lab.runs.threads import training_threads
from lab.runs.whole_set import side_of

HEADS = ("linear", "mlp", "none")
"""What can be put on features: two heads that are trained, or nothing, to measure a layer or a whitening alone."""
LAYER = ("layer", "token", "whiten", "shrinkage")
"""Settings of the encoder that choose the features of the head; the network as it came has none of them."""
NETWORK = "efficientnet_lite0"
"""What embeds images where nobody names a network: its weights come as a package."""
BASELINE = "as-it-came"
"""How the run of the network as it came is called, after its source."""
STEPS, BATCH = 150, 256
"""Of a training of a head; a batch has four images of each class at most."""
FEW = 8
"""Images that are embedded to see how long one takes."""
BEGINNING = 4.0
"""Seconds of what each run does besides: reading weights, searching, writing."""


@dataclass(frozen=True)
class Plan:
    """baseline: measures the network as it came. head: trains a head on it. stem: what runs of it are called.
    images: the data set, as `head` shares it out."""

    baseline: RunConfig
    head: RunConfig
    stem: str
    images: ImageSet


def plan_head(
    source: Run | Path | str, *, encoder: str | Mapping[str, Any] | None = None, weights: str | None = None,
    loss: Any = None, head: str = "linear", dim: int | None = None, runs: Path | str | None = None,
    allow: Iterable[str] | str = (), **sections: Any,
) -> Plan:  # fmt: skip
    """What is trained and measured for a source.

    Args:
        source: a run, its name or folder; a folder of class folders; or the name of a data set.
        encoder: the network, as `lab embed --encoder` takes it; of a run its own. Or a mapping, which also chooses the
            features of the head: `{"base": "resnet50.a1_in1k", "layer": 4, "whiten": 128}`, any of `base` and `LAYER`.
        weights: file of weights of the network.
        loss: of the catalogue, a name or a mapping with its knobs; by default recall_at_k.
        head: one of `HEADS`. dim: width of the embedding, by default 512, at most that of the features.
        runs: the folder of runs. allow: what a run that another account wrote may read outside its folder, as
            `lab.load` takes it. sections: further ones of a configuration, which win over what is chosen here.

    Raises:
        ValueError: there is no such source or network; or no class, fewer than two, or none of two images to train on.
    """
    if head not in HEADS:
        raise ValueError(f"There is no head {head!r}; the heads are {', '.join(HEADS)}.")
    base_word, chosen_layer = _chosen(encoder)
    trains = [] if loss is None else ["loss"]
    trains += [
        name for name in ("wrappers", "sampler", "optimiser", "schedule") if sections.get(name)
    ]
    trains += [
        f"training.{name}"
        for name in sections.get("training") or {}
        if name not in ("device", "seed", "workers")
    ]
    if head == "none" and (trains or dim is not None):
        trains += [] if dim is None else ["dim"]
        raise ValueError(
            f"The head none is not trained, so {' and '.join(trains)} would change nothing; leave "
            f"{'it' if len(trains) == 1 else 'them'} out, or take the head linear."
        )
    if head == "none" and not chosen_layer:
        raise ValueError(
            "The head none changes nothing on its own; choose a layer or a whitening for it, or a head."
        )
    data, network, stem = source_of_head(source, base_word, weights, runs, allow)
    section, images = shared_out(data)
    labels = _training_labels(images, stem)
    counts = np.unique(labels, return_counts=True)[1]
    features, unit = network.pop("features", None), network.pop("normalise", True)
    if network.get("base") == NETWORK:  # it takes any size, and is quicker the smaller images are
        network["image_size"] = side_of(images)
    widths = [512, *(one for one in (features, chosen_layer.get("whiten")) if one)]
    per_class = int(np.clip(np.median(counts), 2, 4))
    kept = [name for name in ("validation", "test") if name in images.splits]
    steps = 0 if head == "none" else STEPS
    base: dict[str, Any] = {
        "data": section,
        "encoder": {"name": "adapted", **network},
        "sampler": {
            "name": "m_per_class",
            "batch_size": per_class * min(len(counts), BATCH // per_class),
            "per_class": per_class,
            "short_classes": "repeat",
        },
        "evaluation": {"splits": kept or ["train"]},
        "training": {"steps": 0},
    }
    chosen: dict[str, Any] = {
        "loss": loss or "recall_at_k",
        "optimiser": {"name": "adamw", "lr": 0.001, "weight_decay": 0.0001},
        "schedule": {"name": "cosine", "warmup": 15 if steps else 0},
        "training": {"steps": steps, "validate_every": 50, "checkpoint_every": max(steps, 1)},
    }
    if "train" not in kept and "validation" not in kept and steps:
        chosen["training"]["validate_every"] = steps
    with_head = {**base["encoder"], **chosen_layer}
    if head == "none":
        with_head["dim"] = None
    else:
        with_head |= {"head": head, "dim": dim or max(2, min(widths))}
    made = merged({**base, **chosen, "encoder": with_head}, sections)
    shared = {
        name: value for name, value in sections.items() if name in ("data", "metrics", "evaluation")
    }
    where = {
        name: value
        for name, value in (sections.get("training") or {}).items()
        if name in ("device", "seed")
    }
    baseline = merged(
        merged(base, shared), {"encoder": {"dim": None, "normalise": unit}, "training": where}
    )
    return Plan(RunConfig.of(baseline), RunConfig.of(made), stem, images)


def _chosen(encoder: str | Mapping[str, Any] | None) -> tuple[str | None, dict[str, Any]]:
    """The word of the network, and the settings of `LAYER` that are given.

    Raises:
        ValueError: the mapping has other settings.
    """
    if encoder is None or isinstance(encoder, str):
        return encoder, {}
    given = {name: value for name, value in encoder.items() if value is not None}
    word = given.pop("base", None)
    if unknown := sorted(map(str, given.keys() - set(LAYER))):
        raise ValueError(f"encoder takes base, {', '.join(LAYER)}; got {', '.join(unknown)}.")
    return word, given


def source_of_head(
    source: Run | Path | str,
    encoder: str | None,
    weights: str | None,
    runs: Path | str | None,
    allow: Iterable[str] | str,
) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Data, knobs of the network, and what it is called."""
    if isinstance(source, str) and source in lab.data.names():
        if (there := default_root(runs) / source).is_dir():
            raise ValueError(
                f"{source} is a data set and also a run here; rename the run, or name it by {there}."
            )
        return {"name": source}, _named(encoder, weights), source
    try:
        run = open_run(source, runs, allow)
    except ValueError as no_run:
        folder = whole(str(source))
        if not folder.is_dir():
            raise ValueError(
                f"{source} is no run, no folder of class folders and no data set. ({no_run})"
            ) from None
        return {"name": "class_folders", "root": str(folder)}, _named(encoder, weights), folder.name
    run.config.data.check()  # from here on these are words of the person who adapts the run
    data = run.config.data.as_dict()
    if run.config.data.outside:
        data = {"name": "imported", "root": str(run.path.resolve())}
    pictured = not run.config.data.outside or run.dataset().root is not None
    if encoder is not None and not pictured:
        raise ValueError(
            f"Run {run.name} holds vectors without pictures, so no other network can embed them."
        )
    if weights is not None and encoder is None:
        raise ValueError(
            f"Run {run.name} has a network with weights of its own; name the network of {weights}, too."
        )
    network = _named(encoder, weights) if encoder is not None else _of_run(run, pictured)
    return data, network, run.name


def _named(encoder: str | None, weights: str | None) -> dict[str, Any]:
    return {"base": encoder or NETWORK} | (
        {} if weights is None else {"weights": str(whole(weights))}
    )


def _of_run(run: Run, pictured: bool) -> dict[str, Any]:
    """The network of a run where it can be built here; else the vectors that it stored."""
    choice = run.config.encoder
    if choice.name == "adapted":
        choice.check()
        of_network = ("base", "pretrained", "weights", "vectors", "width", "image_size")
        kept = {name: choice.values[name] for name in of_network}
        return kept | ({} if kept["base"] else {"features": kept["width"]})
    if not choice.outside and (used := run.used_checkpoint()) is not None:
        choice.check(without_fetching(choice))
        path = run.checkpoint(used)
        return {
            "base": json.dumps(choice.as_dict() | without_fetching(choice)),
            "weights": str(Path(str(path)).resolve()),
        }
    made_by = run.meta.get("made_by")
    if pictured and isinstance(made_by, dict) and _is_at_hand(word := str(made_by.get("words"))):
        with suppress(ValueError):  # there is no such network
            if fingerprint(encoder_of(word)) == made_by.get("weights"):
                return {"base": word}
    width = int(run.embeddings(run.splits[0]).vectors.shape[1]) if run.splits else 0
    if not width:
        raise ValueError(
            f"Run {run.name} holds neither a network nor vectors; train it, or name another one."
        )
    unit = choice.values.get("normalise", True)
    return {
        "vectors": str(run.path.resolve()),
        "width": width,
        "features": width,
        "normalise": unit,
    }


def _is_at_hand(word: str) -> bool:
    """Whether a word of a file names a network that can be built without a download; a program is none."""
    return kind_of(word) == NAME and not Adapted.download({"base": word})


def shared_out(data: dict[str, Any]) -> tuple[dict[str, Any], ImageSet]:
    """The section `data`, and the data set; where that does not say which images train, its classes are shared out by
    how many there are."""
    images = lab.data.create(**data)
    if data["name"] not in ("class_folders", "imported"):
        return data, images
    if "test" not in data:
        test, validation = shares(len(images.class_names))
        images = lab.data.create(**{**data, "test": test, "validation": validation})
    return {**data, "test": images.knobs.test, "validation": images.knobs.validation}, images


def _training_labels(images: ImageSet, stem: str) -> np.ndarray:
    """Classes of the training images.

    Raises:
        ValueError: a head cannot be trained on them; says what is missing.
    """
    train = images.splits.get("train")
    items = train.items if train is not None else np.zeros(0, np.int64)
    labels = images.labels[items[images.labelled[items]]]
    classes, counts = np.unique(labels, return_counts=True)
    if not len(counts) or counts.max() < 2:
        raise ValueError(
            f"{stem} has no class of two images to train on (or no labels), so nothing is alike for a head to learn; "
            "give classes, or several images of each."
        )
    if len(classes) < 2:
        raise ValueError(
            f"{stem} has {len(classes)} classes to train on, and ranking needs at least two."
        )
    return labels


def seconds(plan: Plan) -> float:
    """Return the seconds of both runs, as measured on a few random images and steps.

    The run of the network as it came embeds every image once, and the other one trains the head on these features. Not
    counted: reading files. On a processor one thread is timed by what it computes, so that other work does not count;
    images are shared out among all threads, and one thread trains a head. Features that were kept before make it
    quicker.
    """
    config, threads = plan.head, torch.get_num_threads()
    sampler, knobs = config.sampler.knobs, config.training.knobs
    train = plan.images.splits["train"].items
    device = torch.device(
        knobs.device if knobs.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    )
    encoder, loss = encoder_and_loss(config, len(np.unique(plan.images.labels[train])))
    encoder, loss = encoder.to(device).train(), loss.to(device)
    labels = torch.arange(sampler.batch_size, device=device) // sampler.per_class
    rows = torch.randn(sampler.batch_size, encoder.width, device=device)
    if encoder.whitening is not None:  # timed like a fitted one
        encoder.whitening.fit(
            np.zeros(encoder.width), np.eye(encoder.width)[:, : encoder.knobs.whiten]
        )

    def embed() -> None:
        side = testing_transform(config, encoder)(torch.zeros(3, 64, 64, dtype=torch.uint8)).shape[
            -1
        ]
        with torch.no_grad():
            # which waits for a GPU
            float(encoder.whole_network(torch.rand(FEW, 3, side, side, device=device)).sum())

    def step() -> None:
        loss(encoder(rows), labels).backward()

    torch.set_num_threads(1)
    try:
        an_image = 0.0 if encoder.knobs.base is None else _quickest(embed, device) / FEW
        a_step = _quickest(step, device) if knobs.steps else 0.0
    finally:
        torch.set_num_threads(threads)
    embedding, training = len(plan.images) * an_image, knobs.steps * a_step
    if device.type == "cpu":
        embedding, training = embedding / threads, training / training_threads(config, threads)
    return 2 * BEGINNING + embedding + training


def _quickest(work: Callable[[], None], device: torch.device) -> float:
    return min(
        timeit.repeat(
            work,
            timer=time.thread_time if device.type == "cpu" else time.perf_counter,
            number=1,
            repeat=3,
        )
    )
