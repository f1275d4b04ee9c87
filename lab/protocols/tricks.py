"""What each trick of the trade brings: one after the other, and each alone."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from lab.core.estimates import Estimate, paired
from lab.core.knobs import LARGEST_SIDE, MOST_ITEMS, WIDEST, knob
from lab.core.records import Record
from lab.core.stored import Scores
from lab.protocols._base import Judgement, Protocol, lean, seeded, with_test
from lab.protocols._outcome import OutcomeRow, measured
from lab.runs.config import RunConfig
from lab.runs.folder import Run
from lab.sweeps import Bench, changed

Name = Literal[
    "crop", "width", "temperature", "norm", "pooling", "fast", "balanced", "beta", "mixed", "flip", "rerank"
]  # fmt: skip

FAST = 100
"""Factor from the encoder's learning rate to that of the proxies."""

ONE_BY_ONE, ALONE = "one after the other", "alone"
"""The two halves of the report, as the column `tricks` says them."""


@dataclass(frozen=True)
class Trick:
    """A switch. off, on: what it changes in a configuration, by dotted path. label: with its setting, for tables and
    figures."""

    label: str
    off: Mapping[str, Any]
    on: Mapping[str, Any]

    @property
    def trains(self) -> bool:
        """Whether a model must be trained anew for it, or only be used in another way."""
        return not all(path.startswith("evaluation.") for path in self.off)


class Tricks(Protocol):
    """A waterfall from a baseline: MAP@R, and what each trick added to it, over several seeds.

    Tables show the column `training.select_by`; JSON and the figure `measured_tricks` have all.

    The baseline is the configuration with every chosen trick switched off: its own crop and width, temperature 1,
    average pooling, batches drawn image by image, plain embeddings of one view, the ranking as it comes. Tricks are
    then switched on in the order given, and each also alone. A gain is taken seed by seed, so what both runs owe to the
    seed cancels. Tricks that only change how a model is used are measured on the models that are there already.

    crop: larger training and test crops. width: wider embeddings. temperature: what a loss divides its logits by, for
    losses with that knob. norm: LayerNorm before the last layer. fast: a larger learning rate for the loss's proxies,
    for losses that have some. pooling: maximum, mixed or generalised mean instead of the average. balanced: m images of
    each class in a batch. beta: e/|e| + beta e. mixed: average and maximum pooling at inference only. flip: average
    over the image and its mirror image. rerank: by the neighbours of the neighbours.
    """

    source = "DML deck, tricks to improve performance"

    tricks: tuple[Name, ...] = knob(
        "Tricks to switch on, in this order; by default all that fit the configuration.", default=()
    )
    seeds: int = knob("Number of trainings of each model, each with another seed.", default=3, ge=1, le=1000)
    split: Literal["test", "validation"] = knob("Split on which scores are measured.", default="test")
    crop: int | None = knob(
        "Size of the larger crop; by default 256/227 of the baseline's.",
        default=None,
        ge=8,
        le=LARGEST_SIDE,
        unit="pixels",
    )
    width: int | None = knob(
        "Width of the wider embedding; by default twice the baseline's.", default=None, ge=2, le=WIDEST, scale="log"
    )
    temperature: float = knob("Temperature of the loss; the baseline has 1.", default=1 / 9, gt=0, scale="log")
    pooling: Literal["max", "mixed", "gem"] = knob("Pooling that replaces average pooling.", default="max")
    beta: float = knob("Weight beta of the unnormalised embedding (beta-normalisation).", default=0.1, gt=0, le=100)
    reranker: Literal["k_reciprocal", "contextual"] = knob("Re-ranking method.", default="k_reciprocal")
    rerank_k: int | None = knob(
        "Number of neighbours for re-ranking (k1 or k); by default that of the method.",
        default=None,
        ge=2,
        le=MOST_ITEMS,
        scale="log",
    )

    def conduct(self, config: RunConfig, bench: Bench) -> Judgement:
        against = {name: self._against(name, config) for name in get_args(Name)}
        names = self.knobs.tricks or tuple(name for name, why in against.items() if why is None)
        for name in names:
            if against[name]:
                raise ValueError(f"tricks: {name} does not fit this configuration: {against[name]}")
        if len(set(names)) < len(names):
            raise ValueError(f"tricks: each trick is switched on once, got {', '.join(names)}.")
        tricks = {name: self.trick(name, config) for name in names}
        base = lean(config).changed("evaluation.splits", ())
        base = changed(base, {path: value for trick in tricks.values() for path, value in trick.off.items()})
        for trick in tricks.values():
            changed(base, trick.on).sampler.create()  # refuses an impossible batch before anything is trained
        dataset = base.data.create()
        if self.knobs.split not in dataset.splits:
            with_test(dataset, self.name)
            raise ValueError(f"{dataset.name} has no validation split to measure on; use --protocol.split test.")

        plans = [(ONE_BY_ONE, names[:count]) for count in range(len(names) + 1)]
        plans += [(ALONE, (name,)) for name in names]
        scores: dict[tuple[str, ...], dict[str, Estimate]] = {}
        for _, on in plans:
            if on not in scores:
                scores[on] = yield from self._measured(base, tricks, on, bench)
        rows = []
        for how, on in plans:
            before = scores[on[:-1]] if on else {}
            gains = {f"{column} gain": paired(now, before[column]) for column, now in scores[on].items() if before}
            label = tricks[on[-1]].label if on else "baseline"
            rows.append(OutcomeRow({"tricks": how, "switched on": label}, scores[on] | gains))
        notes = [
            f"Measured on the {self.knobs.split} split; gains are over the row before, or alone over the baseline."
        ]
        notes += [f"Left out: {name}, because {why}" for name, why in against.items() if why and name not in names]
        column = config.training.knobs.select_by
        return self.outcome(rows, "seeds", notes, columns=(column, f"{column} gain"))

    def trick(self, name: str, config: RunConfig) -> Trick:
        """The switch of that name, with the settings of these knobs."""
        k = self.knobs
        if name == "crop":
            size = _crop(config)
            larger = k.crop or round(size * 256 / 227)
            return Trick(f"crop {larger}", _seen(config, size, size), _seen(config, size, larger))
        if name == "balanced":
            size = config.sampler.values["batch_size"]
            uniform = {"sampler": {"name": "uniform", "batch_size": size}}
            drawn = {"name": "m_per_class", "batch_size": size, "per_class": 4, "short_classes": "leave_out"}
            return Trick("class-balanced batches", uniform, {"sampler": drawn})
        if name == "rerank":
            changes = {"evaluation.rerank": k.reranker, "evaluation.rerank_k": k.rerank_k}
            return Trick(f"re-ranking, {k.reranker}", {"evaluation.rerank": "none"}, changes)
        width = config.encoder.values.get("dim")
        wider, rate = k.width or 2 * (width or 0), FAST * config.optimiser.values["lr"]
        label, path, off, on = {
            "width": (f"width {wider}", "encoder.dim", width, wider),
            "temperature": (f"temperature {k.temperature:.3g}", "loss.temperature", 1.0, k.temperature),
            "pooling": (f"{k.pooling} pooling", "encoder.pooling", "avg", k.pooling),
            "norm": ("LayerNorm", "encoder.layer_norm", False, True),
            "fast": (f"proxies {FAST} times as fast", "optimiser.anchors_lr", None, rate),
            "beta": (f"beta {k.beta:g}", "evaluation.beta", 0.0, k.beta),
            "mixed": ("mixed inference", "evaluation.pooling", "trained", "mixed"),
            "flip": ("flip averaging", "evaluation.flip", False, True),
        }[name]
        return Trick(label, {path: off}, {path: on})

    def _against(self, name: str, config: RunConfig) -> str | None:
        """Why a trick does not fit, or None."""
        if name == "width" and config.encoder.values.get("dim") is None and self.knobs.width is None:
            return "the encoder keeps its pooled features, which have one width; give --encoder.dim."
        if name == "temperature" and "temperature" not in config.loss.values:
            return f"{config.loss.name} has no knob temperature; proxy_nca, normalized_softmax and cross_entropy have."
        if name == "fast" and "num_classes" not in config.loss.derived:
            return f"{config.loss.name} has no proxies that could learn faster; proxy_nca and proxy_anchor have."
        if name == "norm" and config.encoder.values.get("unit_features"):
            return "the encoder gives pooled features unit length; leave out --encoder.unit_features."
        native = config.encoder.values.get("pooling") == "native"
        if name == "pooling" and "pooling" not in config.encoder.values:
            return f"{config.encoder.name} pools in one way only."
        if name == "mixed" and native and "pooling" not in self.knobs.tricks:
            return "its backbone pools by itself; give --encoder.pooling avg."
        return None

    def _measured(
        self, base: RunConfig, tricks: Mapping[str, Trick], on: Sequence[str], bench: Bench
    ) -> Generator[Record, None, dict[str, Estimate]]:
        """Column to estimate over the seeds, with these tricks switched on."""
        trained, used = ([name for name in on if tricks[name].trains is trains] for trains in (True, False))
        config = base
        for name in trained:
            config = changed(config, tricks[name].on)
        prefix = "_".join(sorted(trained)) or "baseline"
        runs = yield from bench.trained(seeded(config, self.knobs.seeds, f"{prefix}-"))
        kept = []
        for name, run in runs.items():
            using = run.config
            for trick in used:
                using = changed(using, tricks[trick].on)
            label = "--".join([name, *sorted(used)])
            kept.append((yield from bench.kept(label, self._evaluated(run, using), Scores)))
        return dict(measured({}, *kept).scores)

    def _evaluated(self, run: Run, config: RunConfig) -> Generator[Record, None, dict[str, float]]:
        from lab.runs.evaluate import Evaluator, open_trained

        evaluator = Evaluator(open_trained(run, config=config))
        query, gallery = yield from evaluator.split(self.knobs.split)
        evaluation = yield from evaluator.measure(self.knobs.split, query, gallery)
        return evaluation.values


def _seen(config: RunConfig, before: int, size: int) -> dict[str, int]:
    """What makes crops of that size; sizes that are set for testing or for the encoder grow along."""
    changes = {"augmentation.size": size}
    for name in ("size", "resize"):
        if value := config.testing.values[name]:
            changes[f"testing.{name}"] = round(value * size / before)
    return changes | ({"encoder.image_size": size} if "image_size" in config.encoder.values else {})


def _crop(config: RunConfig) -> int:
    """The baseline's crop in pixels: as configured, else what the encoder was made for."""
    import importlib

    size = config.augmentation.knobs.size or config.encoder.values.get("image_size")
    size = size or getattr(importlib.import_module("lab.encoders").get(config.encoder.name), "input_size", None)
    if size is None:
        raise ValueError(
            f"tricks: what {config.encoder.name} was made for is known only once it is built; give the baseline's crop "
            "with --augmentation.size."
        )
    return size
