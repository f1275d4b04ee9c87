"""A line of a report, and what one has to know of it before comparing its scores with another's."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lab.encoders
import lab.papers.tables
from lab.core import arrays
from lab.core.estimates import Estimate
from lab.core.formats import counted
from lab.core.words import PATH
from lab.data import read_corrections
from lab.runs.config import RunConfig
from lab.runs.folder import Run

PRINTED = {
    "resnet18": "ResNet-18",
    "resnet50": "ResNet-50",
    "resnet101": "ResNet-101",
    "vit_base_patch32_224": "ViT-B/32",
    "vit_base_patch16_224": "ViT-B/16",
    "deit_small_patch16_224": "DeiT-S",
    "swin_tiny_patch4_window7_224": "Swin-T",
}
"""timm's names of backbones as the papers print them."""

PLACES = ("root", "path", "noise_folder")
"""Knobs of data sets that say where files lie, not what is measured."""

EXAMINED = ("search", "flip", "beta", "pooling", "scales", "rerank", "rerank_k")
"""Knobs of the evaluation that change what is measured."""


@dataclass(frozen=True)
class Facts:
    """None where it is not known: papers do not tell everything.

    data: entry of `lab.data`. encoder: as the papers print it. dim: width of the embedding. size: side of the images,
    in pixels. weights: what training started from. images: that training saw. protocol: knobs that say which images are
    measured, and how. validated: whether anything but the test images could choose checkpoint and knobs.
    None where a run was made elsewhere: nobody said how it was chosen. rate: the learning rate.
    """

    data: str
    encoder: str | None
    dim: int | None
    size: int | None
    weights: str | None = None
    images: int | None = None
    protocol: dict[str, Any] = field(default_factory=dict)
    validated: bool | None = True
    rate: float | None = None


@dataclass(frozen=True)
class ReportLine:
    """One line of a report.

    name: the loss, with the knobs that set it apart; or a published method. data: with the part of it.
    scores: column to what was found, shares in [0, 1]. runs, seeds: behind it, empty for a published line.
    source: `own`, or paper and table of a published line. note: a remark on it, or what is wrong with runs.
    spread: column to the standard deviation over the trials of a paper that prints one. measured: a digest of the
    images that each run was measured on, "" where none was recorded. vectors: a checksum of each run's embeddings.
    loss: its name alone, of an own line.
    """

    name: str
    data: str
    facts: Facts
    scores: dict[str, Estimate]
    source: str
    runs: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    note: str = ""
    spread: Mapping[str, float] = field(default_factory=dict)
    measured: tuple[str, ...] = ()
    vectors: tuple[str, ...] = ()
    loss: str = ""

    @property
    def published(self) -> bool:
        """Whether a paper reports it, instead of having been measured here."""
        return not self.runs

    @property
    def label(self) -> str:
        """The name, with its source where that is a paper: how warnings speak of it."""
        return f"{self.name} [{self.source}]" if self.published else self.name


UNREAD = "not read: "
"""Before the path of a list that a run of another account names, and that nobody allowed to be read."""


def corrections_of(run: Run) -> str | None:
    """The list of corrections that a run names, marked as unread where it may not be read."""
    config = run.config
    table = config.data.values.get("corrections")
    if not isinstance(table, str):
        return None
    rights = config.rights
    if rights is None or rights.reference("data.corrections", PATH, table).allowed:
        return table
    return UNREAD + table


def corrections_in_words(table: str | None) -> str | None:
    """How a run's data were corrected: "without 2 marked images", with the name of the list, which tells it apart."""
    if table is None:
        return None
    if table.startswith(UNREAD):
        return f"corrected, list {Path(table.removeprefix(UNREAD)).stem[:6]}"
    try:
        found = list(read_corrections(Path(table).expanduser()).values())
    except ValueError:
        found = []
    dropped = found.count("")
    relabelled = len(found) - dropped
    parts = []
    if dropped:
        parts.append(f"without {counted(dropped, 'marked image')}")
    if relabelled:
        parts.append(f"with {counted(relabelled, 'relabelled image')}")
    words = " and ".join(parts) or "corrected"
    return f"{words}, list {Path(table).stem[:6]}"


def of_run(run: Run, split: str) -> Facts:
    """The facts of an evaluated run."""
    config = run.config_of(split)
    # `lab.train` trains encoders from outside here
    elsewhere = config.outside and run.used_checkpoint() is None
    data = {knob: value for knob, value in config.data.values.items() if knob not in PLACES}
    if config.data.outside and data.get("digest"):
        data.pop("what", None)  # a word for the same images
    if "distractors" in data:
        data["distractors"] = data["distractors"] is not None  # whether, not where
    data["corrections"] = corrections_in_words(corrections_of(run))
    examined = {knob: value for knob, value in config.evaluation.values.items() if knob in EXAMINED}
    resize = config.testing.values.get("resize")
    queries = (run.scores(split) or {}).get("queries")
    batch_size = config.sampler.values.get("batch_size", 0)
    return Facts(
        data=config.data.name,
        encoder=_printed(config),
        dim=_width(run, split) or config.encoder.values.get("dim"),
        size=_size(config),
        weights=_weights(config),
        images=None if elsewhere else config.training.knobs.steps * batch_size or None,
        protocol={**data, **examined, "resize": resize, "queries": queries},
        validated=None if config.imported else bool(run.metrics("validated")),
        rate=None if elsewhere or config.imported else config.optimiser.values.get("lr"),
    )


def _weights(config: RunConfig) -> str | None:
    """What training started from: pretrained or random weights; None where it was done elsewhere."""
    if config.outside:
        return None
    encoder = config.encoder.values
    return "pretrained" if encoder.get("pretrained") or encoder.get("weights") else "random"


def of_row(row: lab.papers.tables.PublishedRow) -> Facts:
    """The facts of a published row, as far as its paper tells them."""
    protocol = dict(row.protocol)
    for column, search in row.search.items():
        protocol[f"search of {column}"] = search
    validated = not row.selected_on_test
    return Facts(row.data, row.encoder, row.dim, row.size, protocol=protocol, validated=validated)


def _printed(config: RunConfig) -> str | None:
    """The backbone as the papers print it, or what its owner calls an encoder from outside."""
    if config.encoder.outside:
        return config.encoder.values.get("what") or None
    backbone = config.encoder.values.get("backbone", config.encoder.name).partition(".")[0]
    return PRINTED.get(backbone, backbone)


def _size(config: RunConfig) -> int | None:
    """Side of the images that were measured: the testing size, else the training size, else the encoder's; None where
    that was done elsewhere."""
    if config.outside:
        return None
    encoder = config.encoder.values
    size = (
        config.testing.values.get("size")
        or config.augmentation.values.get("size")
        or encoder.get("image_size")
    )
    if size:
        return size
    if "backbone" not in encoder:
        return getattr(lab.encoders.get(config.encoder.name), "input_size", None)
    import timm

    known = timm.get_pretrained_cfg(encoder["backbone"])
    return known.input_size[-1] if known else None


def _width(run: Run, split: str) -> int | None:
    """Width of the stored embeddings, read from the file's header alone.

    Raises:
        ValueError: the file is damaged.
    """
    path = run.embeddings_file(split)
    if not path.is_file():
        return None
    with arrays.opened(path) as file:
        shape = file.get_slice("query.vectors").get_shape()
    if len(shape) != 2:
        raise arrays.unreadable(path, f"query.vectors has the shape {shape} in place of [n d]")
    return int(shape[1])
