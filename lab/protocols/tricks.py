"""Measure the gain of common training and inference tricks: one after the other, and each alone."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from lab.core.estimates import Estimate, paired
from lab.core.knobs import LARGEST_SIDE, MOST_ITEMS, WIDEST, knob
from lab.core.records import Record
from lab.core.stored import Scores
from lab.protocols._base import (
    Judgement,
    Protocol,
    one_run_per_seed,
    require_test_split,
    without_recordings,
)
from lab.protocols._outcome import OutcomeRow, summarise
from lab.runs.config import RunConfig
from lab.runs.folder import Run
from lab.sweeps import Bench, changed

Name = Literal[
    "crop",
    "width",
    "temperature",
    "norm",
    "pooling",
    "fast",
    "balanced",
    "beta",
    "mixed",
    "flip",
    "rerank",
]

FAST = 100
"""Learning rate of the proxies, relative to that of the encoder."""

ONE_BY_ONE = "one after the other"
ALONE = "alone"
"""The two halves of the report, as the column `tricks` names them."""


@dataclass(frozen=True)
class Trick:
    """A trick that can be switched on.

    label: name with its setting, for tables and figures.
    off, on: values in the configuration by dotted path, without and with the trick.
    """

    label: str
    off: Mapping[str, Any]
    on: Mapping[str, Any]

    @property
    def trains(self) -> bool:
        """Whether a new model must be trained for it; otherwise an existing model is used in another way."""
        return not all(path.startswith("evaluation.") for path in self.off)


class Tricks(Protocol):
    """Measure a baseline, and what each trick adds to it over several seeds: a waterfall of MAP@R.

    Tables show the column `training.select_by`; JSON and the figure `measured_tricks` have all columns.

    The baseline is the configuration with every chosen trick switched off: its own crop and width, temperature 1,
    average pooling, batches drawn image by image, plain embeddings of one view, no re-ranking. Tricks are then switched
    on in the order given, and each also alone. A gain is computed seed by seed, so that the effect of the seed on both
    runs cancels. Tricks that only change how a model is used are measured on models that are trained already.

    crop: larger training and test crops. width: wider embeddings. temperature: divisor of the logits, for losses with
    this knob. norm: LayerNorm before the last layer. fast: a larger learning rate for the proxies of the loss, for
    losses with proxies. pooling: maximum, mixed or generalised mean instead of the average. balanced: m images of each
    class in a batch. beta: e/|e| + beta e. mixed: average and maximum pooling at inference only. flip: average over the
    image and its mirror image. rerank: re-ranking by the neighbours of the neighbours.
    """

    source = "DML deck, tricks to improve performance"

    tricks: tuple[Name, ...] = knob(
        "Tricks to switch on, in this order; by default all that fit the configuration.", default=()
    )
    seeds: int = knob(
        "Number of trainings of each model, each with another seed.", default=3, ge=1, le=1000
    )
    split: Literal["test", "validation"] = knob(
        "Split on which scores are measured.", default="test"
    )
    crop: int | None = knob(
        "Size of the larger crop; by default 256/227 of the baseline's.",
        default=None,
        ge=8,
        le=LARGEST_SIDE,
        unit="pixels",
    )
    width: int | None = knob(
        "Width of the wider embedding; by default twice the baseline's.",
        default=None,
        ge=2,
        le=WIDEST,
        scale="log",
    )
    temperature: float = knob(
        "Temperature of the loss; the baseline has 1.", default=1 / 9, gt=0, scale="log"
    )
    pooling: Literal["max", "mixed", "gem"] = knob(
        "Pooling that replaces average pooling.", default="max"
    )
    beta: float = knob(
        "Weight beta of the unnormalised embedding (beta-normalisation).", default=0.1, gt=0, le=100
    )
    reranker: Literal["k_reciprocal", "contextual"] = knob(
        "Re-ranking method.", default="k_reciprocal"
    )
    rerank_k: int | None = knob(
        "Number of neighbours for re-ranking (k1 or k); by default that of the method.",
        default=None,
        ge=2,
        le=MOST_ITEMS,
        scale="log",
    )

    def conduct(self, config: RunConfig, bench: Bench) -> Judgement:
        reasons = {name: self._reason_against(name, config) for name in get_args(Name)}
        names = self._choose(reasons)
        tricks = {name: self.trick(name, config) for name in names}

        # The baseline has every trick switched off.
        settings_off: dict[str, Any] = {}
        for trick in tricks.values():
            settings_off |= trick.off
        base = changed(without_recordings(config).changed("evaluation.splits", ()), settings_off)
        for trick in tricks.values():
            # refuses an impossible batch before anything is trained
            changed(base, trick.on).sampler.create()
        dataset = base.data.create()
        if self.knobs.split not in dataset.splits:
            require_test_split(dataset, self.name)
            raise ValueError(
                f"{dataset.name} has no validation split to measure on; use --protocol.split test."
            )

        # Measure each combination of tricks that the table needs once.
        combinations = [(ONE_BY_ONE, names[:count]) for count in range(len(names) + 1)]
        combinations += [(ALONE, (name,)) for name in names]
        scores: dict[tuple[str, ...], dict[str, Estimate]] = {}
        for _, switched_on in combinations:
            if switched_on not in scores:
                scores[switched_on] = yield from self._measure(base, tricks, switched_on, bench)

        rows = []
        for half, switched_on in combinations:
            row_scores = dict(scores[switched_on])
            label = "baseline"
            if switched_on:
                label = tricks[switched_on[-1]].label
                row_scores |= _gains(scores[switched_on], scores[switched_on[:-1]])
            rows.append(OutcomeRow({"tricks": half, "switched on": label}, row_scores))

        notes = [
            f"Measured on the {self.knobs.split} split; gains are over the row before, or alone over the baseline."
        ]
        for name, reason in reasons.items():
            if reason and name not in names:
                notes.append(f"Left out: {name}, because {reason}")
        column = config.training.knobs.select_by
        return self.outcome(rows, "seeds", notes, columns=(column, f"{column} gain"))

    def _choose(self, reasons: Mapping[str, str | None]) -> tuple[str, ...]:
        """Return the names of the tricks to switch on; refuse those that do not fit, and repeated names."""
        names = self.knobs.tricks
        if not names:
            return tuple(name for name, reason in reasons.items() if reason is None)
        for name in names:
            if reasons[name]:
                raise ValueError(f"tricks: {name} does not fit this configuration: {reasons[name]}")
        if len(set(names)) < len(names):
            raise ValueError(f"tricks: each trick is switched on once, got {', '.join(names)}.")
        return names

    def trick(self, name: str, config: RunConfig) -> Trick:
        """Return the trick of that name, with the settings of these knobs."""
        k = self.knobs

        # Tricks that change several settings.
        if name == "crop":
            size = _crop_size(config)
            larger = k.crop or round(size * 256 / 227)
            return Trick(
                f"crop {larger}",
                _crop_settings(config, size, size),
                _crop_settings(config, size, larger),
            )
        if name == "balanced":
            size = config.sampler.values["batch_size"]
            uniform = {"sampler": {"name": "uniform", "batch_size": size}}
            drawn = {
                "name": "m_per_class",
                "batch_size": size,
                "per_class": 4,
                "short_classes": "leave_out",
            }
            return Trick("class-balanced batches", uniform, {"sampler": drawn})
        if name == "rerank":
            changes = {"evaluation.rerank": k.reranker, "evaluation.rerank_k": k.rerank_k}
            return Trick(f"re-ranking, {k.reranker}", {"evaluation.rerank": "none"}, changes)

        # Tricks that change one setting: label, path, value without and value with the trick.
        width = config.encoder.values.get("dim")
        wider = k.width or 2 * (width or 0)
        rate = FAST * config.optimiser.values["lr"]
        label, path, off, on = {
            "width": (f"width {wider}", "encoder.dim", width, wider),
            "temperature": (
                f"temperature {k.temperature:.3g}",
                "loss.temperature",
                1.0,
                k.temperature,
            ),
            "pooling": (f"{k.pooling} pooling", "encoder.pooling", "avg", k.pooling),
            "norm": ("LayerNorm", "encoder.layer_norm", False, True),
            "fast": (f"proxies {FAST} times as fast", "optimiser.anchors_lr", None, rate),
            "beta": (f"beta {k.beta:g}", "evaluation.beta", 0.0, k.beta),
            "mixed": ("mixed inference", "evaluation.pooling", "trained", "mixed"),
            "flip": ("flip averaging", "evaluation.flip", False, True),
        }[name]
        return Trick(label, {path: off}, {path: on})

    def _reason_against(self, name: str, config: RunConfig) -> str | None:
        """Return why a trick does not fit the configuration, or None if it fits."""
        if (
            name == "width"
            and config.encoder.values.get("dim") is None
            and self.knobs.width is None
        ):
            return (
                "the encoder keeps its pooled features, which have one width; give --encoder.dim."
            )
        if name == "temperature" and "temperature" not in config.loss.values:
            return f"{config.loss.name} has no knob temperature; proxy_nca, normalized_softmax and cross_entropy have."
        if name == "fast" and "num_classes" not in config.loss.derived:
            return f"{config.loss.name} has no proxies that could learn faster; proxy_nca and proxy_anchor have."
        if name == "norm" and config.encoder.values.get("unit_features"):
            return (
                "the encoder gives pooled features unit length; leave out --encoder.unit_features."
            )
        native = config.encoder.values.get("pooling") == "native"
        if name == "pooling" and "pooling" not in config.encoder.values:
            return f"{config.encoder.name} pools in one way only."
        if name == "mixed" and native and "pooling" not in self.knobs.tricks:
            return "its backbone pools by itself; give --encoder.pooling avg."
        return None

    def _measure(
        self, base: RunConfig, tricks: Mapping[str, Trick], switched_on: Sequence[str], bench: Bench
    ) -> Generator[Record, None, dict[str, Estimate]]:
        """Return the estimates over the seeds by column, with these tricks switched on."""
        training_tricks = [name for name in switched_on if tricks[name].trains]
        inference_tricks = [name for name in switched_on if not tricks[name].trains]

        # Train one run per seed with the tricks that change training.
        config = base
        for name in training_tricks:
            config = changed(config, tricks[name].on)
        prefix = "_".join(sorted(training_tricks)) or "baseline"
        runs = yield from bench.trained(one_run_per_seed(config, self.knobs.seeds, f"{prefix}-"))

        # Evaluate each run with the tricks that change only how the model is used.
        scores = []
        for name, run in runs.items():
            evaluated_config = run.config
            for trick in inference_tricks:
                evaluated_config = changed(evaluated_config, tricks[trick].on)
            label = "--".join([name, *sorted(inference_tricks)])
            values = yield from bench.kept(label, self._evaluate(run, evaluated_config), Scores)
            scores.append(values)
        return dict(summarise({}, *scores).scores)

    def _evaluate(self, run: Run, config: RunConfig) -> Generator[Record, None, dict[str, float]]:
        from lab.runs.evaluate import Evaluator, open_trained

        evaluator = Evaluator(open_trained(run, config=config))
        query, gallery = yield from evaluator.split(self.knobs.split)
        evaluation = yield from evaluator.measure(self.knobs.split, query, gallery)
        return evaluation.values


def _gains(after: Mapping[str, Estimate], before: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Return the gain of each column, paired by seed."""
    return {
        f"{column} gain": paired(estimate, before[column]) for column, estimate in after.items()
    }


def _crop_settings(config: RunConfig, before: int, size: int) -> dict[str, int]:
    """Return the settings of crops of that size; sizes that are set for testing or for the encoder scale with it."""
    settings = {"augmentation.size": size}
    for name in ("size", "resize"):
        value = config.testing.values[name]
        if value:
            settings[f"testing.{name}"] = round(value * size / before)
    if "image_size" in config.encoder.values:
        settings["encoder.image_size"] = size
    return settings


def _crop_size(config: RunConfig) -> int:
    """Return the baseline's crop in pixels: the configured size, or the input size of the encoder."""
    import importlib

    size = config.augmentation.knobs.size or config.encoder.values.get("image_size")
    if not size:
        encoder = importlib.import_module("lab.encoders").get(config.encoder.name)
        size = getattr(encoder, "input_size", None)
    if size is None:
        raise ValueError(
            f"tricks: {config.encoder.name} tells its input size only once it is built; give the baseline's crop with "
            "--augmentation.size."
        )
    return size
