"""Ways to break a training, each at three strengths beside healthy ones: does the verdict name the true cause first?

    python -m scripts.studies.verdict_trials trials/ --data emoji7 --seeds 20       # thresholds were set on these
    python -m scripts.studies.verdict_trials trials/ --data letters --seeds 40 41   # and judged on these
    python -m scripts.studies.verdict_trials trials/ --data symbols --seeds 42      # and these
    python -m scripts.studies.verdict_trials trials/ --data symbols --healthy --seeds 50   # nothing is wrong with these
    python -m scripts.studies.verdict_trials trials/ --table                        # the table of docs/verdict.md

A trial is a run of two seconds; one that is there is not trained again, so a changed threshold is judged in a moment.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image, ImageDraw

import lab.data
import lab.losses
import lab.runs
from lab import verdict
from lab.core.catalog import OUTSIDE
from lab.core.formats import markdown_table
from lab.core.knobs import Unchecked
from lab.data import ImageRecords, ImageSet
from lab.data._splits import Split
from lab.runs.custom.modules import Custom, custom_loss

STEPS, EVERY = 60, 15
BASE: dict[str, Any] = {
    "augmentation": {"size": 24, "scale_low": 0.8},
    "testing": {"resize": 24},
    "encoder": {"name": "small_cnn", "width": 12, "dim": 32},
    "sampler": {"name": "m_per_class", "batch_size": 64, "per_class": 4},
    "loss": {"name": "smooth_ap", "tau": 0.02},
    "optimiser": {"name": "adamw", "lr": 0.003},
    "schedule": {"name": "cosine", "warmup": 5},
    "training": {
        "steps": STEPS,
        "validate_every": EVERY,
        "checkpoint_every": 1000,
        "device": "cpu",
        "workers": 0,
    },
    "evaluation": {"splits": ["validation"]},
}
SETS = {
    "emoji7": {"name": "emoji7", "test": 0.04, "validation": 0.06},
    "letters": {"name": "letters", "test": 0.04, "validation": 0.1},
    "digits": {"name": "digits", "gallery": "test"},
    "symbols": {"name": "class_folders", "test": 0.04, "validation": 0.1},
}
SYMBOLS = (
    *range(0x2190, 0x2200),
    *range(0x2200, 0x2300, 3),
    *range(0x25A0, 0x2600, 2),
    *range(0x2600, 0x2670, 2),
)
"""Code points of arrows, operators, shapes and signs that DejaVu Sans has."""
PICTURES, SIDE = 12, 40
"""Pictures of each symbol, and their side in pixels."""


@dataclass(frozen=True)
class Way:
    """A way to break a training. expected: names of findings, any of which names the true cause. strengths: what to
    change, from weak to strong; `loss` may be a callable. twin: what the healthy twin has of it."""

    expected: tuple[str, ...]
    strengths: tuple[dict[str, Any], ...]
    twin: dict[str, Any] = field(default_factory=dict)
    spoil: Callable[[ImageSet, dict[str, Any]], ImageSet] | None = None


def attract(weight: float) -> Callable:
    """Positives are pulled together; negatives are pushed apart with this weight."""

    def attract_and_push(rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        cosines, same = rows @ rows.T, labels[:, None] == labels[None, :]
        return ((1 - cosines) * same).sum() / same.sum() + weight * (
            cosines.clamp_min(0) * ~same
        ).sum() / (~same).sum()

    return attract_and_push


def dot_products(temperature: float, unit: bool = False) -> Callable:
    """Softmax over dot products of the other images, positives against all."""

    def softmax_of_products(rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        rows = F.normalize(rows, dim=1) if unit else rows
        logits = (rows @ rows.T / temperature).fill_diagonal_(-1e4)
        same = (labels[:, None] == labels[None, :]).fill_diagonal_(False)
        return -(logits.log_softmax(1) * same).sum() / same.sum()

    return softmax_of_products


def scaled(weight: float) -> Callable:
    """A softmax over cosines whose value is multiplied by a tiny weight, as a forgotten factor of a sum of losses."""

    def weighted_softmax(rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return weight * dot_products(0.1, unit=True)(rows, labels)

    return weighted_softmax


def other_way(loss: str, sign: float) -> Callable:
    """A loss of the catalogue with a sign in front of it."""

    def signed_loss(rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return sign * lab.losses.create(loss)(rows, labels)

    return signed_loss


def other_labels(loss: str) -> Callable:
    """A loss of the catalogue that is given the labels in another order than the embeddings."""

    def displaced_loss(rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        order = torch.from_numpy(np.random.default_rng(len(labels)).permutation(len(labels)))
        return lab.losses.create(loss)(rows, labels[order])

    return displaced_loss


def hinge(margin: float) -> Callable:
    """A triplet loss of cosines over all triplets."""

    def hinge_of_triplets(rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        cosines, same = rows @ rows.T, labels[:, None] == labels[None, :]
        lacking = (margin + cosines[:, None, :] - cosines[:, :, None]).clamp_min(0)
        positive = same & ~torch.eye(len(rows), dtype=torch.bool)
        return lacking[positive[:, :, None] & ~same[:, None, :]].mean()

    return hinge_of_triplets


def of_a_logarithm(shift: float) -> Callable:
    """The logarithm of a similarity that may be negative."""

    def log_of_cosines(rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        same = labels[:, None] == labels[None, :]
        cosines = rows @ rows.T
        return -(cosines[same] - shift).log().mean() + (cosines[~same] - shift).log().mean()

    return log_of_cosines


def with_copies(images: ImageSet, change: dict[str, Any]) -> ImageSet:
    """A share of the validation images of `images`, moved into training as further images of training classes."""
    return Spoilt(images, copied=change["copied"])


class Spoilt(ImageSet):
    """Images of another set, with copies of validation images among those of training."""

    Knobs = Unchecked
    class_disjoint = False

    def __init__(self, base: ImageSet, copied: float):
        self.base, self.copied = base, copied
        super().__init__()

    def _read(self) -> ImageRecords:
        base, splits = self.base, dict(self.base.splits)
        held, trained = splits["validation"].query, splits["train"].query
        classes = np.unique(base.labels[held])
        # whole classes
        taken = held[np.isin(base.labels[held], classes[: round(self.copied * len(classes))])]
        labels = np.concatenate([base.labels, base.labels[taken]])
        more = len(base.labels) + np.arange(len(taken))
        self._items = np.concatenate([np.arange(len(base.labels)), taken])
        splits["train"] = Split(np.concatenate([trained, more]))
        keys = [*base.keys, *(f"copy/{base.keys[item]}" for item in taken)]
        return ImageRecords(keys=keys, labels=labels, class_names=base.class_names, splits=splits)

    @property
    def pixels(self) -> np.ndarray | None:
        return None if self.base.pixels is None else self.base.pixels[self._items]

    def load(self, i: int) -> Image.Image:
        return self.base.load(int(self._items[i]))


WAYS = {
    "temperature": Way(
        ("out of the temperature's reach",),
        ({"loss.tau": 1e-4}, {"loss.tau": 1e-5}, {"loss.tau": 1e-6}),
    ),
    "rate too high": Way(
        ("rate too high", "not a number"),
        ({"optimiser.lr": 0.1}, {"optimiser.lr": 0.3}, {"optimiser.lr": 3.0}),
    ),
    "rate too low": Way(
        ("rate too low",),
        ({"optimiser.lr": 3e-6}, {"optimiser.lr": 3e-7}, {"optimiser.lr": 3e-8}),
    ),
    "m = 1, or by chance": Way(
        ("no positives",),
        ({"sampler": {"name": "uniform", "batch_size": 64}}, {"sampler": {"name": "uniform", "batch_size": 32}},
         {"sampler.per_class": 1}),
        {"sampler.per_class": 2},
    ),
    "one image a class": Way(
        ("one image a class",),
        ({"data.imbalance": 1000.0, "sampler.short_classes": "repeat"},
         {"data.shots": 1, "sampler.short_classes": "repeat"}, {"data.shots": 1, "sampler.per_class": 1}),
        {"data.shots": 4},
    ),
    "shuffled labels": Way(
        ("label noise",),
        tuple({"data.label_noise": share, "sampler.short_classes": "leave_out"} for share in (0.3, 0.5, 0.8)),
    ),
    "unit vectors left out": Way(
        ("lengths left free",),
        tuple({"loss": dot_products(t), "encoder.normalise": False} for t in (10.0, 1.0, 0.1)),
        {"loss": dot_products(0.1)},
    ),
    "nothing pushes apart": Way(
        ("collapsed", "stuck at the margin"), tuple({"loss": attract(w)} for w in (0.03, 0.01, 0.0)),
        {"loss": attract(3.0)},
    ),
    "a batch that cannot teach": Way(
        ("a batch that cannot teach",),
        ({"loss": {"name": "recall_at_k", "k": [64]}}, {"loss": {"name": "recall_at_k", "k": [100]}},
         {"sampler": {"name": "m_per_class", "batch_size": 4, "per_class": 4}}),
        {"loss": {"name": "recall_at_k", "k": [1, 2, 4]}},
    ),
    "few images, by heart": Way(
        ("memorising",),
        tuple({"data.keep_classes": k, "augmentation.scale_low": 1.0, "augmentation.flip": 0.0, "training.steps": 120,
               "sampler.batch_size": 32} for k in (0.04, 0.03, 0.02)),
    ),
    "copies across splits": Way(
        ("duplicates across splits",), ({"copied": 0.2}, {"copied": 0.5}, {"copied": 1.0}), spoil=with_copies,
    ),
    "loss times almost nothing": Way(
        ("no gradient",), tuple({"loss": scaled(w)} for w in (1e-7, 1e-8, 1e-10)), {"loss": scaled(1.0)},
    ),
    "too wide, rankings": Way(
        ("temperature too wide",),
        ({"loss": {"name": "smooth_ap", "tau": 2.0}}, {"loss": {"name": "recall_at_k", "tau2": 5.0}},
         {"loss": {"name": "smooth_ap", "tau": 50.0}}),
    ),
    "too wide, softmax": Way(
        ("temperature too wide",),
        ({"loss": {"name": "nt_xent", "temperature": 10.0}},
         {"loss": {"name": "normalized_softmax", "temperature": 10.0}},
         {"loss": {"name": "normalized_softmax", "temperature": 100.0}}),
        {"loss": {"name": "normalized_softmax"}},
    ),
    "too narrow, other losses": Way(
        ("out of the temperature's reach",),
        ({"loss": {"name": "sup_ap", "tau": 1e-6, "delta": 1e6}}, {"loss": {"name": "recall_at_k", "tau2": 1e-6}},
         {"loss": {"name": "recall_at_k", "tau2": 1e-8}}),
        {"loss": {"name": "recall_at_k"}},
    ),
    "wrong sign": Way(
        ("wrong sign or labels",),
        ({"loss": other_way("smooth_ap", -1)}, {"loss": other_way("contrastive", -1)},
         {"loss": dot_products(-0.1, True)}),
        {"loss": other_way("contrastive", 1)},
    ),
    "labels in another order": Way(
        ("wrong sign or labels",),
        tuple({"loss": other_labels(name)} for name in ("nt_xent", "contrastive", "smooth_ap")),
    ),
    "shuffled labels, softmax": Way(
        ("label noise",),
        ({"data.label_noise": 0.4, "loss": {"name": "normalized_softmax"}, "sampler.short_classes": "leave_out"},
         {"data.label_noise": 0.5, "loss": {"name": "proxy_nca"}, "sampler.short_classes": "leave_out"},
         {"data.label_noise": 0.6, "loss": {"name": "normalized_softmax"},
          "sampler": {"name": "uniform", "batch_size": 64}}),
        {"loss": {"name": "proxy_nca"}},
    ),
    "rate times 1,000": Way(
        ("rate too high", "not a number"),
        ({"optimiser.lr": 1.0, "loss": {"name": "recall_at_k"}}, {"optimiser.lr": 3.0, "loss": {"name": "smooth_ap"}},
         {"optimiser": {"name": "sgd", "lr": 10.0}, "loss": {"name": "normalized_softmax"}}),
        {"optimiser": {"name": "sgd", "lr": 0.01}, "loss": {"name": "normalized_softmax"}},
    ),
    "steps held back": Way(
        ("rate too low",),
        ({"schedule": {"name": "cosine", "warmup": 100000}},
         {"optimiser": {"name": "sgd", "lr": 0.1}, "training.clip": 1e-8},
         {"optimiser": {"name": "sgd", "lr": 1e-6}, "loss": {"name": "contrastive"}}),
    ),
    "logarithm of a negative": Way(
        ("not a number",), tuple({"loss": of_a_logarithm(shift)} for shift in (0.1, 0.5, 0.99)),
        {"loss": hinge(0.2)},
    ),
    "two directions": Way(
        ("collapsed",), ({"encoder.dim": 2}, {"encoder.dim": 2, "loss": {"name": "contrastive"}},
                        {"encoder.dim": 2, "loss": {"name": "nt_xent"}}),
        {"encoder.dim": 64},
    ),
}  # fmt: skip


def config_of(
    root: Path, data: str, seed: int, change: dict[str, Any]
) -> tuple[lab.runs.RunConfig, Custom | None]:
    """The base training with a change of it; callables become losses of somebody's own."""
    sections = {name: dict(values) for name, values in BASE.items()} | {"data": dict(SETS[data])}
    if data == "symbols":
        sections["data"]["root"] = str(symbols(root))
    elif data != "digits":
        sections["data"]["split_seed"] = seed  # other classes are validated with each seed
    sections["training"]["seed"] = seed
    sections["data"] |= {"noise_seed": seed, "shot_seed": seed}
    custom = None
    for knob, value in change.items():
        section, _, name = knob.partition(".")
        if knob == "copied":
            continue
        if callable(value):
            custom = Custom(None, custom_loss(value))
            sections["loss"] = {"name": OUTSIDE, "what": value.__name__}
        elif name:
            sections[section][name] = value
        else:
            sections[section] = value
    return lab.runs.RunConfig.of(sections, stored=custom is not None), custom


def trial(
    root: Path, name: str, data: str, seed: int, change: dict[str, Any], spoil: Any = None
) -> lab.runs.Run:
    """Train one, unless it is there; one that stops by itself is what it is."""
    if (root / name / "config.yaml").exists():
        return lab.runs.Run(root / name)
    config, custom = config_of(root, data, seed, change)
    run = lab.runs.create(config, root, name)
    if spoil is not None:
        images = spoil(config.data.create(), change)
        run.dataset = lambda **_: images  # type: ignore[method-assign]
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for _ in lab.runs.execute(run, custom=custom):
                pass
        except Exception as error:  # a sentence of the training's own; the run says how it ended
            print(f"    {type(error).__name__}: {str(error)[:110]}", flush=True)
    found = [one.name for one in verdict.diagnose(run)]
    print(
        f"{name}: {', '.join(found) or 'nothing'}  ({time.process_time() - began:.1f} s)",
        flush=True,
    )
    return run


def broken(root: Path, data: str, seeds: list[int]) -> None:
    """Every way at every strength, and its twin, where that differs from the plain one."""
    torch.set_num_threads(1)
    for seed in seeds:
        trial(root, f"{data}-{seed}-twin-plain", data, seed, {})
        for at, (_, way) in enumerate(WAYS.items()):
            if way.twin:
                trial(root, f"{data}-{seed}-twin-{at}", data, seed, way.twin)
            for strength, change in enumerate(way.strengths):
                trial(root, f"{data}-{seed}-{at}-{strength}", data, seed, change, way.spoil)


HEALTHY: dict[str, dict[str, Any]] = {
    **{f"loss {name}": {"loss": {"name": name}} for name in lab.losses.names()},
    "loss class_anchor_margin": {"loss": {"name": "class_anchor_margin", "init": "random"}},
    "recall_at_k with SiMix": {"loss": {"name": "recall_at_k", "simix": True}},
    "recall_at_k of 1 and 2": {"loss": {"name": "recall_at_k", "k": [1, 2]}},
    "recall_at_k, batches of 128": {"loss": {"name": "recall_at_k"}, "sampler.batch_size": 128},
    "two images a class": {"sampler.per_class": 2},
    "eight images a class": {"sampler.per_class": 8, "sampler.short_classes": "repeat"},
    "uniform batches": {
        "loss": {"name": "normalized_softmax"},
        "sampler": {"name": "uniform", "batch_size": 64},
    },
    "sgd": {"optimiser": {"name": "sgd", "lr": 0.1}},
    "rate of 0.001": {"optimiser.lr": 0.001},
    "wide embeddings": {"encoder.dim": 128},
    "evaluated larger": {"testing": {"size": 32, "resize": 40}},
    "evaluated by a crop": {"testing": {"size": 24, "resize": 40}},
    "small crops": {"augmentation.scale_low": 0.16},
    "more steps": {"training.steps": 150},
    "clipped": {"training.clip": 1.0},
    "few wrong labels": {"data.label_noise": 0.05, "sampler.short_classes": "leave_out"},
    "a memory": {"loss": {"name": "contrastive"}, "wrappers": [{"name": "cross_batch_memory"}]},
    "own softmax": {"loss": dot_products(0.1, unit=True)},
    "own hinge": {"loss": hinge(0.1)},
}
"""Trainings in which nothing is wrong: each loss with its defaults, and usual choices besides."""


def healthy(root: Path, data: str, seeds: list[int]) -> None:
    """Every training of `HEALTHY` on one set."""
    torch.set_num_threads(1)
    for seed in seeds:
        for at, (_, change) in enumerate(HEALTHY.items()):
            name = (
                change.get("loss", {}).get("name")
                if isinstance(change.get("loss", {}), dict)
                else None
            )
            free = bool(name) and lab.losses.get(name).lengths_matter
            trial(
                root,
                f"{data}-{seed}-healthy-{at}",
                data,
                seed,
                {"encoder.normalise": not free, **change},
            )


def symbols(root: Path) -> Path:
    """Draw the pictures of `SYMBOLS` as folders of classes, unless they are there: turned, tinted and shifted."""
    folder = root / ".symbols"
    if folder.is_dir():
        return folder
    from lab.data.letters import _font

    font, random = _font("DejaVuSans"), np.random.default_rng(7)
    for code in SYMBOLS:
        inside = folder / f"{code:04x}"
        inside.mkdir(parents=True)
        for at in range(PICTURES):
            dark, light = (
                tuple(random.integers(*ends, 3).tolist()) for ends in ((0, 110), (150, 256))
            )
            picture = Image.new("RGB", (64, 64), light)
            place = tuple((32 + random.integers(-6, 7, 2)).tolist())
            ImageDraw.Draw(picture).text(place, chr(code), font=font, fill=dark, anchor="mm")
            angle = float(random.uniform(-25, 25))
            turned = picture.rotate(angle, resample=Image.Resampling.BILINEAR, fillcolor=light)
            turned.resize((SIDE, SIDE)).save(inside / f"{at}.png")
    return folder


def faults(run: lab.runs.Run) -> list[str]:
    return [one.name for one in verdict.diagnose(run) if not one.note]


def judged(root: Path, data: str, at: int, way: Way) -> tuple[int, int, list[str]]:
    """Trials of a way on a set in which the true cause was named first, all trials, and what stood there instead."""
    made = [
        lab.runs.Run(path)
        for path in sorted(root.glob(f"{data}-*-{at}-?"))
        if "twin" not in path.name
    ]
    # a set of few classes refuses some
    found = [faults(run) for run in made if run.metrics("checkup")]
    firsts = [one[0] if one else "nothing" for one in found]
    wrong = [first for first in firsts if first not in way.expected]
    return len(firsts) - len(wrong), len(firsts), wrong


def table(root: Path) -> str:
    """Return what docs/verdict.md shows: in how many trials the true cause was named first, by way and set."""
    sets = [data for data in SETS if list(root.glob(f"{data}-*"))]
    lines, totals = [], {data: [0, 0] for data in sets}
    for at, (name, way) in enumerate(WAYS.items()):
        line, instead = [name], []
        for data in sets:
            first, count, wrong = judged(root, data, at, way)
            totals[data] = [totals[data][0] + first, totals[data][1] + count]
            line.append(f"{first} of {count}")
            instead += wrong
        lines.append([*line, ", ".join(sorted({*instead}))])
    lines.append(["**all**", *(f"**{first} of {count}**" for first, count in totals.values()), ""])
    parts = [markdown_table(["broken by", *sets, "first instead"], lines)]
    for words, pattern in (("Healthy twins", "twin"), ("Usual trainings", "healthy")):
        runs = [lab.runs.Run(path) for path in sorted(root.glob(f"[!.]*-{pattern}-*"))]
        alarms = {run.name: found for run in runs if (found := faults(run))}
        parts.append(f"{words}: false alarms in {len(alarms)} of {len(runs)} {alarms or ''}")
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", type=Path)
    parser.add_argument("--data", choices=SETS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--healthy", action="store_true")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if given.data and not given.healthy:
        broken(given.root, given.data, given.seeds)
    if given.healthy:
        healthy(given.root, given.data, given.seeds)
    if given.table:
        print(table(given.root))


if __name__ == "__main__":
    main()
