"""What a study declares: a claim of a paper, the trainings that try it, and the numbers that decide.

Every `Study` in a file of this folder is found by `names` and `get`, under the name of its variable.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib
import json
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lab.runs.config import RunConfig, merged
from lab.trials import key_of

Tier = Literal["head", "cnn", "end_to_end"]

SEEDS = 5
SEEN_CLASSES, SEEN_AMONG = 240, 779
"""The `seen` protocol takes so many classes of Emoji-7 out of those of six images or more."""

TESTED = {"unseen": 1 / 2, "seen": SEEN_CLASSES / SEEN_AMONG, "digits": 1 / 5}
"""Share of the classes that a seed tests on; of digits, whose ten classes are always the same, of the images."""

LEAST = 0.005
"""Half a point of a score: differences that are surely smaller count as none."""

RELEASED = frozenset(
    {
        "blackbox_ap", "calibration", "contextual", "fast_ap", "recall_at_k", "roadmap", "smooth_ap", "softbin_ap",
        "sup_ap",
    }
)  # fmt: skip
"""Losses whose published numbers come from code that computes something else than the paper says."""

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
    "end_to_end": {
        "encoder": {"name": "efficientnet_lite0", "dim": 128, "layer_norm": True},
        "augmentation": {"size": 64, "scale_low": 0.8},
        "testing": {"resize": 64},
        "sampler": {"name": "m_per_class", "batch_size": 64, "short_classes": "leave_out"},
        "training": {"steps": 40},
    },
}
"""What every training of a tier has in common. In the head tier only the encoder's head is trained, on its frozen
features; see `lab.claims._data.features`. In the last tier the pretrained network learns as a whole, for as many steps
as a minute of one core takes."""


@dataclass(frozen=True)
class DataSetup:
    """What is trained and tested on; see `lab.claims._data.prepared`.

    protocol: `unseen` takes the splits of the data set, whose test classes nothing was trained or chosen on (but for
        digits); `seen` makes others: new images of the training classes, searched among the training images, as in 003.
    classes: share of the training classes kept. shots: training images kept of each class, None for all.
    wrong_labels: share of the training images whose label is drawn at random.
    """

    protocol: Literal["unseen", "seen"] = "unseen"
    classes: float = 1.0
    shots: int | None = None
    wrong_labels: float = 0.0


@dataclass(frozen=True)
class Point:
    """One place on a study's axes, and how it trains there.

    setting: what stands in tables and on axes. Points of one setting are options, between which the validation
        classes choose, as between learning rates.
    config: sections of a run's configuration that differ from the tier's base.
    option: names the point where its setting has others, for instance `released`.
    """

    setting: dict[str, Any]
    config: dict[str, Any]
    task: DataSetup = DataSetup()
    option: str = ""


@dataclass(frozen=True)
class Contrast:
    """A number of each seed whose mean decides.

    words: what the number is, for instance `RS@k - SmoothAP at 32`.
    of: given `score(column=None, **setting)` of one seed, returns the number.
    expects: `positive`: it should be above 0; `none`: between -least and least; `no loss`: above -least.
    least: the smallest size worth speaking of.
    points: whether it is a difference of scores, told in points (hundredths).
    """

    words: str
    of: Callable[[Callable[..., float]], float]
    expects: Literal["positive", "none", "no loss"] = "positive"
    least: float = LEAST
    points: bool = True


@dataclass(frozen=True)
class Claim:
    """What a paper says, in our words, and what would have to be true here. All contrasts must hold.

    source: paper and place, by default those of the study.
    """

    says: str
    contrasts: tuple[Contrast, ...]
    source: str = ""


@dataclass(frozen=True)
class Study:
    """One sweep: its points, each with every learning rate and seed, and the claims that it tries.

    lrs: learning rates; by default those of 0.00025, 0.001 and 0.004 that the study `losses` chose for ranking and pair
        losses.
    column: score that chooses the learning rate on the validation classes, and that claims read by default.
    extra: further test scores of a `lab.claims._train.TrainedModel`; also of validation, where `column` is one of them.
    remark: what a reader should know about how this differs from the paper.
    data: the data set, of those that need no download: `emoji7`, `letters` or `digits`.
    turn: place in a sweep. Those whose answers matter most come first, in case it is stopped; by default last.
    """

    title: str
    source: str
    points: tuple[Point, ...]
    claims: tuple[Claim, ...]
    lrs: tuple[float, ...] = (2.5e-4, 1e-3)
    tier: Tier = "head"
    column: str = "MAP@R"
    extra: Callable[[Any], dict[str, float]] | None = None
    remark: str = ""
    data: str = "emoji7"
    turn: int = 1_000

    def __post_init__(self) -> None:
        claims = tuple(replace(claim, source=claim.source or self.source) for claim in self.claims)
        object.__setattr__(self, "claims", claims)

    def trainings(self, seeds: int = SEEDS) -> list[Training]:
        """Every training of the study, the seeds one after the other."""
        return [Training(self, point, lr, seed) for seed in range(seeds) for point in self.points for lr in self.lrs]

    @property
    def shared(self) -> float:
        """Classes (of digits: images) that a seed tests on for each that it does not. Every seed draws from the same
        ones, so this is what widens the intervals over seeds; see `lab.trials.interval`."""
        tested = TESTED[self.data if self.data in TESTED else self.points[0].task.protocol]
        return tested / (1 - tested)

    def options(self) -> dict[tuple, set[tuple[float, str]]]:
        """Between which learning rates and digests each setting chooses, as `lab.trials.Scores` takes them."""
        options: dict[tuple, set[tuple[float, str]]] = {}
        for training in self.trainings(seeds=1):
            setting, lr, _, digest = training.key
            options.setdefault(setting, set()).add((lr, digest))
        return options


@dataclass(frozen=True)
class Training:
    """One training to be made."""

    study: Study = field(repr=False)
    point: Point
    lr: float
    seed: int

    @property
    def config(self) -> RunConfig:
        """As `lab train` takes it. The seed decides which classes train, validate and test, too."""
        settings: dict[str, Any] = {
            "data": {"name": self.study.data, "split_seed": self.seed, "validation": 0.4},
            "optimiser": {"name": "adamw", "lr": self.lr, "anchors_lr": 10 * self.lr},
            "training": {"seed": self.seed, "device": "cpu"},
            "metrics": [{"name": "hit_rate_at_k", "k": [1, 4]}, "map_at_r", "mean_average_precision"],
            "evaluation": {"k": 10},
        }
        return RunConfig.of(merged(merged(BASE[self.study.tier], settings), self.point.config))

    @property
    def digest(self) -> str:
        """Changes with what a study declares: tier, configuration, task. What all trainings have in common beyond the
        tier's base, such as the data's split or the metrics, is not in it: to change that, delete the results."""
        decides: list[Any] = [self.study.tier, self.point.config, vars(self.point.task), BASE[self.study.tier]]
        decides += [self.study.data] if self.study.data != "emoji7" else []
        return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:8]

    @property
    def key(self) -> tuple:
        """As `lab.trials.Trial.key`."""
        return key_of(self.point.setting), self.lr, self.seed, self.digest


def arms(
    losses: Mapping[str, Mapping[str, Any]],
    setting: Mapping[str, Any] | None = None,
    task: DataSetup | None = None,
    **sections: Any,
) -> list[Point]:
    """A point for each loss and each of its variants, which are options of one setting.

    Args:
        losses: what a table calls a loss, to the loss and its knobs.
        setting: the rest of the setting.
        sections: of the configuration, besides the loss.
    """
    return [
        point
        for name, loss in losses.items()
        for point in variants({"loss": name, **(setting or {})}, loss, task, **sections)
    ]


def variants(
    setting: Mapping[str, Any], loss: Mapping[str, Any], task: DataSetup | None = None, **sections: Any
) -> list[Point]:
    """A point for each variant of a loss. The printed formula is the default of every loss."""
    options = {"paper": {}, "released": {"variant": "released"}} if loss["name"] in RELEASED else {"": {}}
    return [
        Point(dict(setting), {"loss": {**loss, **knobs}, **sections}, task or DataSetup(), option)
        for option, knobs in options.items()
    ]


def less(one: Mapping[str, Any], other: Mapping[str, Any], column: str | None = None, **expected: Any) -> Contrast:
    """The score of one setting less that of another, told by what differs; `expected` are fields of `Contrast`."""

    def told(setting: Mapping[str, Any], same: bool) -> str:
        words = {axis: f"{value:g}" if isinstance(value, int | float) else value for axis, value in setting.items()}
        return ", ".join(
            word if axis in ("loss", "parts", "training", "gradient") else f"{axis} {word}"
            for axis, word in words.items()
            if (one[axis] == other[axis]) is same
        )

    words = ", ".join(filter(None, (f"{told(one, False)} less {told(other, False)}", told(one, True), column)))
    return Contrast(words, lambda s: s(column, **one) - s(column, **other), **expected)


def above(
    one: Mapping[str, Any], *changes: Mapping[str, Any], column: str | None = None, **expected: Any
) -> tuple[Contrast, ...]:
    """Contrasts: the score of one setting less that of each which a change makes of it."""
    return tuple(less(one, {**one, **change}, column, **expected) for change in changes)


def ahead(
    one: str, *others: str, column: str | None = None, at: Mapping[str, Any] | None = None
) -> tuple[Contrast, ...]:
    """Contrasts: one loss above each of the others, at one place of the other axes."""
    return above({"loss": one, **(at or {})}, *({"loss": other} for other in others), column=column)


def doubling(values: Sequence[float], sizes: Sequence[float]) -> float:
    """Least-squares slope of values [n] over log2 of sizes [n]: change for each doubling."""
    return float(np.polyfit(np.log2(np.asarray(sizes, dtype=float)), np.asarray(values, dtype=float), 1)[0])


def slope(s: Callable[..., float], name: str, axis: str, sizes: Sequence[float], column: str | None = None) -> float:
    """`doubling` of a loss's scores along an axis of a study."""
    return doubling([s(column, loss=name, **{axis: size}) for size in sizes], sizes)


@cache
def _studies() -> dict[str, Study]:
    found: dict[str, Study] = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if not module.name.startswith("_"):
            values = vars(importlib.import_module(f"lab.claims.{module.name}"))
            found |= {name: value for name, value in values.items() if isinstance(value, Study)}
    return dict(sorted(found.items(), key=lambda one: (one[1].turn, one[0])))


def names() -> tuple[str, ...]:
    """Names of all studies, in the order in which a sweep runs them: by their turn."""
    return tuple(_studies())


def get(name: str) -> Study:
    """The study of that name.

    Raises:
        ValueError: there is none; lists those there are.
    """
    if name not in (known := _studies()):
        near = difflib.get_close_matches(str(name), known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"There is no study {name!r}.{hint} Known: {', '.join(known)}.")
    return known[name]
