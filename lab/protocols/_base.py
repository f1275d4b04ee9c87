"""Base classes of protocols, and the checks and configurations that several protocols share."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from lab.core.catalog import name_of
from lab.core.knobs import HasKnobs, knob
from lab.core.outcome_file import OutcomeFile
from lab.protocols._outcome import Outcome, OutcomeRow, merge, summarise

if TYPE_CHECKING:
    from lab.core.records import Record
    from lab.data import ImageSet
    from lab.runs.config import RunConfig
    from lab.runs.evaluate import Evaluator
    from lab.runs.folder import Run
    from lab.sweeps import Bench

Judgement = Generator["Record", None, Outcome]
"""A generator that yields records of progress and returns the outcome."""


class Protocol(HasKnobs):
    """Base class of all protocols. An entry declares its knobs and defines `conduct`.

    source: paper and section that it follows.

    A protocol that only measures a finished run derives from `JudgingProtocol`. Every other protocol trains its own
    runs and takes only the configuration from an existing run.
    """

    source: ClassVar[str]

    @property
    def name(self) -> str:
        """Name of the entry in the catalogue."""
        return name_of(type(self))

    def folder_name(self, config: RunConfig) -> str:
        """Return the default name of the folder that holds the runs it trains."""
        return f"{self.name}-{config.loss.name}-{config.data.name}"

    def conduct(self, config: RunConfig, bench: Bench) -> Judgement:
        """Train the runs that the protocol needs on `bench`, starting from `config`, and measure them.

        Raises:
            ValueError: the data or the configuration do not fit the protocol; the message says what does.
            lab.sweeps.Paused: the user asked it to stop; the same call continues.
        """
        raise NotImplementedError(f"{type(self).__name__} must define conduct.")

    def outcome(
        self,
        rows: Sequence[OutcomeRow],
        over: str,
        notes: Sequence[str],
        columns: Sequence[str] = (),
    ) -> Outcome:
        """Return the outcome of these rows, with this protocol's name, source and settings."""
        return Outcome(
            protocol=self.name,
            source=self.source,
            over=over,
            knobs=self.knobs.model_dump(mode="json"),
            rows=tuple(rows),
            notes=tuple(notes),
            shown=tuple(columns),
        )


class JudgingProtocol(Protocol):
    """Base class of protocols that measure one trained model, or one model per seed. An entry defines `judge`.

    metrics: metrics that it measures, written as in a configuration; those of the run's configuration are added.
    """

    metrics: ClassVar[tuple[Mapping[str, Any], ...]] = ()

    seeds: int = knob(
        "Number of runs to train, each with another seed, if no run is named.",
        default=1,
        ge=1,
        le=1000,
    )

    def judge(self, run: Run) -> Judgement:
        """Measure a finished run; writes nothing.

        Raises:
            ValueError: the run's data do not fit the protocol, or it has no checkpoint.
        """
        raise NotImplementedError(f"{type(self).__name__} must define judge.")

    def configured(self, config: RunConfig) -> RunConfig:
        """Return the configuration to train with when there is no run yet."""
        return config.changed("evaluation.splits", ())

    def conduct(self, config: RunConfig, bench: Bench) -> Judgement:
        """Train one run per seed, and judge each."""
        config = self.configured(config)
        self.check(config.data.create())
        runs = yield from bench.trained(one_run_per_seed(config, self.knobs.seeds))

        outcomes = []
        for name, run in runs.items():
            stored = yield from bench.kept(name, self._judged(run), OutcomeFile)
            outcomes.append(Outcome.read(stored))
        return merge(outcomes, over="seeds")

    def _judged(self, run: Run) -> Generator[Record, None, dict[str, Any]]:
        outcome = yield from self.judge(run)
        return outcome.as_json()

    def check(self, dataset: ImageSet) -> None:
        """Refuse data that the protocol cannot be applied to. `conduct` calls it before it trains anything.

        Raises:
            ValueError: the data do not fit; the message says what is missing.
        """

    def evaluator(self, run: Run) -> Evaluator:
        """Return an evaluator of the run that measures this protocol's metrics.

        Raises:
            ValueError: the data do not fit (see `check`), or the run has no checkpoint.
        """
        from lab.runs.evaluate import Evaluator, open_trained

        evaluator = Evaluator(open_trained(run, config=with_metrics(run.config, self.metrics)))
        self.check(evaluator.trained.dataset)
        return evaluator

    def test_row(self, evaluator: Evaluator) -> Generator[Record, None, OutcomeRow]:
        """Embed and search the test split as it is; return one row of single measurements."""
        query, gallery = yield from evaluator.split("test")
        evaluation = yield from evaluator.measure("test", query, gallery)
        return summarise({}, evaluation.values)


def with_metrics(config: RunConfig, metrics: Sequence[Mapping[str, Any]]) -> RunConfig:
    """Return the configuration with these metrics in front of its own."""
    names = {metric["name"] for metric in metrics}
    merged = [dict(metric) for metric in metrics]
    for metric in config.as_dict()["metrics"]:
        if metric["name"] not in names:
            merged.append(metric)
    return config.changed("metrics", merged)


def seed_range(config: RunConfig, count: int) -> range:
    """Return `count` consecutive seeds, beginning with the configuration's own."""
    first = config.training.knobs.seed
    return range(first, first + count)


def one_run_per_seed(config: RunConfig, count: int, prefix: str = "") -> dict[str, RunConfig]:
    """Return `count` configurations that differ in the seed, by the names of their runs, such as `seed-0`."""
    return {
        f"{prefix}seed-{seed}": config.changed("training.seed", seed)
        for seed in seed_range(config, count)
    }


def without_recordings(config: RunConfig) -> RunConfig:
    """Return the configuration of one run among many, which stores neither batches nor frames."""
    return config.changed("training.keep_batches", 0).changed("training.keep_frames", 0)


def require_test_split(dataset: ImageSet, protocol: str) -> None:
    """Refuse a data set without a test split.

    Raises:
        ValueError: there is none; the message lists the splits of the data set.
    """
    if "test" not in dataset.splits:
        splits = ", ".join(dataset.splits) or "none"
        raise ValueError(
            f"{protocol} measures on test images, but {dataset.name} has none (its splits: {splits})."
        )


def scores_of(run: Run, split: str) -> dict[str, float]:
    """Return the scores of an evaluated split by column; NaN where nothing could be measured."""
    stored = run.scores(split) or {}
    scores = {}
    for column, value in stored.get("values", {}).items():
        scores[column] = float("nan") if value is None else value
    return scores


def require_validation_split(dataset: ImageSet, protocol: str) -> None:
    """Refuse a data set without separate validation classes.

    Raises:
        ValueError: there are none; the message says why, or how to get them.
    """
    if not dataset.class_disjoint:
        raise ValueError(
            f"{protocol} validates on classes that do not train, but {dataset.name} tests on the classes it trains on; "
            "choose a class-disjoint data set."
        )
    if "validation" not in dataset.splits:
        raise ValueError(
            f"{dataset.name} holds no class back for validation ({len(dataset.class_names)} classes in all); raise "
            "data.validation or bring more training classes."
        )
