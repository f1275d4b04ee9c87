"""What every protocol is: settings, a way to judge one finished run, and a way to conduct all that it needs."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from lab.core.catalog import name_of
from lab.core.knobs import HasKnobs, knob
from lab.core.outcome_file import OutcomeFile
from lab.protocols._outcome import Outcome, OutcomeRow, joined, measured

if TYPE_CHECKING:
    from lab.core.records import Record
    from lab.data import ImageSet
    from lab.runs.config import RunConfig
    from lab.runs.evaluate import Evaluator
    from lab.runs.folder import Run
    from lab.sweeps import Bench

Judgement = Generator["Record", None, Outcome]
"""Progress, and in the end what was found."""


class Protocol(HasKnobs):
    """Base of every protocol. An entry declares its knobs and defines `conduct`.

    source: paper and section that it follows.
    One that needs no more than a finished run derives from `JudgingProtocol`; the others train their own and take from
    a run only its configuration.
    """

    source: ClassVar[str]

    @property
    def name(self) -> str:
        """Name of the entry in the catalogue."""
        return name_of(type(self))

    def folder_name(self, config: RunConfig) -> str:
        """What the folder is called in which it trains, unless somebody says otherwise."""
        return f"{self.name}-{config.loss.name}-{config.data.name}"

    def conduct(self, config: RunConfig, bench: Bench) -> Judgement:
        """Train on `bench` what the protocol needs, starting from `config`, and measure it.

        Raises:
            ValueError: data or configuration do not fit the protocol; says what does.
            lab.sweeps.Paused: it was asked to stop; the same call goes on.
        """
        raise NotImplementedError(f"{type(self).__name__} must define conduct.")

    def outcome(
        self, rows: Sequence[OutcomeRow], over: str, notes: Sequence[str], columns: Sequence[str] = ()
    ) -> Outcome:
        """What was found, with this protocol's name, source and settings."""
        knobs = self.knobs.model_dump(mode="json")
        return Outcome(self.name, self.source, over, knobs, tuple(rows), tuple(notes), tuple(columns))


class JudgingProtocol(Protocol):
    """A protocol that needs one trained model, of which seeds may be repeated. An entry defines `judge`.

    metrics: what it measures, as a configuration lists metrics; further ones of the run's configuration are added.
    """

    metrics: ClassVar[tuple[Mapping[str, Any], ...]] = ()

    seeds: int = knob("Number of runs to train, each with another seed, if no run is named.", default=1, ge=1, le=1000)

    def judge(self, run: Run) -> Judgement:
        """Measure a finished run; writes nothing.

        Raises:
            ValueError: the run's data do not fit the protocol, or it has no checkpoint.
        """
        raise NotImplementedError(f"{type(self).__name__} must define judge.")

    def configured(self, config: RunConfig) -> RunConfig:
        """The configuration to train with, when there is no run yet."""
        return config.changed("evaluation.splits", ())

    def conduct(self, config: RunConfig, bench: Bench) -> Judgement:
        """Train one run a seed, and judge each."""
        config = self.configured(config)
        self.check(config.data.create())
        runs = yield from bench.trained(seeded(config, self.knobs.seeds))
        outcomes = []
        for name, run in runs.items():
            outcomes.append(Outcome.read((yield from bench.kept(name, self._judged(run), OutcomeFile))))
        return joined(outcomes, over="seeds")

    def _judged(self, run: Run) -> Generator[Record, None, dict[str, Any]]:
        return (yield from self.judge(run)).as_json()

    def check(self, dataset: ImageSet) -> None:
        """Refuse data that the protocol cannot be applied to; asked before anything is trained.

        Raises:
            ValueError: says what is missing.
        """

    def evaluator(self, run: Run) -> Evaluator:
        """Measures the run by this protocol's metrics, if its data can be.

        Raises:
            ValueError: see `check`; or the run has no checkpoint.
        """
        from lab.runs.evaluate import Evaluator, open_trained

        evaluator = Evaluator(open_trained(run, config=measuring(run.config, self.metrics)))
        self.check(evaluator.trained.dataset)
        return evaluator

    def test_row(self, evaluator: Evaluator) -> Generator[Record, None, OutcomeRow]:
        """Embed and search the test split as it is; one row of single measurements."""
        query, gallery = yield from evaluator.split("test")
        evaluation = yield from evaluator.measure("test", query, gallery)
        return measured({}, evaluation.values)


def measuring(config: RunConfig, metrics: Sequence[Mapping[str, Any]]) -> RunConfig:
    """The configuration with these metrics in front of its own."""
    names = {one["name"] for one in metrics}
    further = [one for one in config.as_dict()["metrics"] if one["name"] not in names]
    return config.changed("metrics", [*map(dict, metrics), *further])


def seeds(config: RunConfig, count: int) -> range:
    """As many seeds, beginning with the configuration's own."""
    first = config.training.knobs.seed
    return range(first, first + count)


def seeded(config: RunConfig, count: int, before: str = "") -> dict[str, RunConfig]:
    """Name of a run, such as `seed-0`, to the configuration with that seed; as many as `count`."""
    return {f"{before}seed-{seed}": config.changed("training.seed", seed) for seed in seeds(config, count)}


def lean(config: RunConfig) -> RunConfig:
    """The configuration of one run among many: no batches and no frames are kept."""
    return config.changed("training.keep_batches", 0).changed("training.keep_frames", 0)


def with_test(dataset: ImageSet, protocol: str) -> None:
    """Refuse a data set without a test split.

    Raises:
        ValueError: says which splits it has.
    """
    if "test" not in dataset.splits:
        raise ValueError(
            f"{protocol} measures on test images, but {dataset.name} has none "
            f"(its splits: {', '.join(dataset.splits) or 'none'})."
        )


def scores_of(run: Run, split: str) -> dict[str, float]:
    """Column to value of an evaluated split; NaN where nothing could be measured."""
    values = (run.scores(split) or {}).get("values", {})
    return {column: float("nan") if value is None else value for column, value in values.items()}


def with_validation(dataset: ImageSet, protocol: str) -> None:
    """Refuse a data set without classes of its own for validation.

    Raises:
        ValueError: says why it cannot have them, or how to have them.
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
