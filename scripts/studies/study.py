"""What a study declares: a sentence of a paper, the two scores that it compares, and what the paper found.

`scripts.studies.catalogue` finds those that the papers' modules hold, under the names of their variables.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from lab.figures.measured import key_of
from lab.papers import tables
from lab.runs.config import RunConfig, merged

Tier = Literal["head", "cnn"]

SEEDS = 12
"""Trainings of an arm that are judged: all on one split, they differ in weights, batches and augmentation."""
PILOTS = (1001, 1002)
"""Seeds of the trainings that choose the learning rate and tell the power; they look at the validation classes only."""
SPLIT = 0
"""The one split of each data set, as `split_seed`."""

SEEN_CLASSES = 240
"""Classes of the `seen` protocol: as many as embeddings have dimensions, so that anchors can start on base vectors."""

BASE: dict[Tier, dict[str, Any]] = {
    "head": {
        "encoder": {"name": "efficientnet_lite0", "dim": 128, "layer_norm": True},
        "sampler": {"name": "m_per_class", "batch_size": 128, "short_classes": "leave_out"},
        "training": {"steps": 150},
    },
    "cnn": {
        "encoder": {"name": "small_cnn", "dim": 128},
        "sampler": {"name": "m_per_class", "batch_size": 128, "short_classes": "leave_out"},
        "training": {"steps": 100},
    },
}
"""What every training of a tier has in common. In the head tier only the encoder's head is trained, on its frozen
features; see `scripts.studies.data.features`."""

Protocol = Literal["unseen", "few", "seen"]
"""How the images of Emoji-7 are split; see `scripts.studies.data.prepared`."""


@dataclass(frozen=True)
class Arm:
    """One way to train, and the scores that are kept of it.

    name: as tables call it. config: sections of a run's configuration that differ from the tier's base.
    columns: scores of each query that are kept: of the exact search, or of another one, such as `mAP, two-stage`.
    """

    name: str
    config: dict[str, Any]
    columns: tuple[str, ...] = ("r@1",)
    protocol: Protocol = "unseen"
    tier: Tier = "head"

    @cached_property
    def digest(self) -> str:
        """Changes with whatever decides how the arm trains."""
        decides = [self.config, self.columns, self.protocol, BASE[self.tier]]
        return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:8]

    @property
    def slug(self) -> str:
        """Name of the file that holds its trainings."""
        return "_".join(
            "".join(c if c.isalnum() else " " for c in f"{self.name} {self.digest}").split()
        )


@dataclass(frozen=True)
class Training:
    """One training to be made. seed: one of `PILOTS`, or from 0 on; the latter are judged."""

    arm: Arm
    lr: float
    seed: int

    @property
    def config(self) -> RunConfig:
        """As `lab train` takes it."""
        settings: dict[str, Any] = {
            "data": {"name": "emoji7", "split_seed": SPLIT, "validation": 0.4},
            "optimiser": {"name": "adamw", "lr": self.lr, "anchors_lr": 10 * self.lr},
            "training": {"seed": self.seed, "device": "cpu"},
            "metrics": [{"name": "hit_rate_at_k", "k": [1]}, "map_at_r", "mean_average_precision"],
            "evaluation": {"k": 10},
        }
        return RunConfig.of(merged(merged(BASE[self.arm.tier], settings), self.arm.config))

    @property
    def key(self) -> tuple:
        """As `lab.figures.measured.Trial.key`."""
        return key_of({"arm": self.arm.name}), self.lr, self.seed, self.arm.digest


@dataclass(frozen=True)
class Gain:
    """What a paper reports of one data set: a score less another one, in points.

    paper: its number in `lab.papers.tables`. source: paper and table.
    """

    paper: str
    source: str
    data: str
    points: float


@dataclass(frozen=True)
class Study:
    """A sentence of a paper, tried by the score of one arm less that of another.

    says: the sentence, in our words. published: the same difference as the paper has it, one or several.
    columns: scores of the first and of the second arm that are compared. What stands before a comma is the score of
        the exact search, which chooses the learning rate.
    remark: what a reader should know about how this differs from the paper.
    """

    says: str
    published: tuple[Gain, ...]
    first: Arm
    second: Arm
    columns: tuple[str, str]
    remark: str = ""

    @property
    def expected(self) -> float:
        """The mean of what the paper reports, in points."""
        return sum(gain.points for gain in self.published) / len(self.published)

    @property
    def paper(self) -> str:
        """Its number in `lab.papers.tables`."""
        return self.published[0].paper

    @property
    def source(self) -> str:
        return "; ".join(dict.fromkeys(gain.source for gain in self.published))


def gains(
    paper: str,
    first: tuple[str, str],
    second: tuple[str, str],
    column: str,
    *data: str,
    part: str | None = None,
) -> tuple[Gain, ...]:
    """What a paper reports of one method less another, wherever both stand with the same data, network and width.

    Args:
        first, second: table and method of each.
        column: score. data: data sets; all, unless some are named. part: the test set; all, unless it is named.

    Raises:
        ValueError: nowhere do both stand side by side.
    """

    def found(place: tuple[str, str]) -> dict[tuple, tables.PublishedRow]:
        rows = (
            row
            for row in tables.rows(data or None)
            if (row.paper, row.table, row.method) == (paper, *place)
        )
        rows = (row for row in rows if column in row.values and part in (None, row.part))
        return {(row.data, row.part, row.encoder, row.dim): row for row in rows}

    ours, theirs = found(first), found(second)
    both = [place for place in ours if place in theirs]
    if not both:
        raise ValueError(f"{paper}: {first} and {second} stand nowhere side by side with {column}.")
    return tuple(
        Gain(paper, ours[place].source, " ".join(map(str, filter(None, place))),
             round(100 * (ours[place].values[column] - theirs[place].values[column]), 4))
        for place in both
    )  # fmt: skip
