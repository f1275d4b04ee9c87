"""Ask and tell: a search is asked for the next setting and told what came of it, whoever trains the runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.core.explain import need
from lab.runs import management
from lab.runs.folder import FINISHED, Run
from lab.sweeps.bench import Bench
from lab.sweeps.plans import Plan, Span

if TYPE_CHECKING:
    from lab.launchers import Launcher


@dataclass(frozen=True)
class SweptRun:
    """One run of a sweep that has ended.

    number: from 1. values: of the knobs that vary. score: the best validation so far by the plan's column, None where
    there was none. new: whether it was trained now and not found finished.
    """

    number: int
    values: dict[str, Any]
    run: Run
    score: float | None
    new: bool


class Listed:
    """A grid, or random draws: settings that are known beforehand. Each run is either recalled or asked for."""

    def __init__(self, plan: Plan):
        self.settings = plan.settings()

    def ask(self, folder: Path) -> dict[str, Any]:
        """Knob to value of the next run, whose folder this will be."""
        return next(self.settings)

    def recall(self, run: Run) -> dict[str, Any] | None:
        """The knobs of a run that had ended before, which the search learns from; None where it is to be trained."""
        return next(self.settings) if run.state == FINISHED else None

    def tell(self, run: Run) -> None:
        """A run has ended."""


class Tpe(Listed):
    """Optuna's tree-structured Parzen estimator: each run's knobs follow from the scores of those before.

    Raises:
        ValueError: Optuna is not installed.
    """

    def __init__(self, plan: Plan):
        need("A search by tpe", "optuna")
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.optuna, self.plan = optuna, plan
        self.study = optuna.create_study(
            direction="maximize", sampler=optuna.samplers.TPESampler(seed=plan.seed)
        )
        self.distributions = {
            knob: self._distribution(values) for knob, values in plan.vary.items()
        }
        self.at_work: dict[Path, Any] = {}

    def _distribution(self, values: list[Any] | Span) -> Any:
        distributions = self.optuna.distributions
        if isinstance(values, list):
            return distributions.CategoricalDistribution(values)
        kind = distributions.IntDistribution if values.whole else distributions.FloatDistribution
        return kind(values.low, values.high, log=values.log)

    def ask(self, folder: Path) -> dict[str, Any]:
        """The next knobs; those of a run that was begun before are the run's own."""
        if (folder / "config.yaml").is_file():
            self.study.enqueue_trial(self._values(Run(folder)))
        self.at_work[folder] = self.study.ask(self.distributions)
        return dict(self.at_work[folder].params)

    def recall(self, run: Run) -> dict[str, Any] | None:
        if run.state != FINISHED:
            return None
        values, score = self._values(run), best_score(run, self.plan.score)
        if score is not None:
            create = self.optuna.trial.create_trial
            self.study.add_trial(
                create(params=values, distributions=self.distributions, value=score)
            )
        return values

    def _values(self, run: Run) -> dict[str, Any]:
        config = run.config_dict
        return {
            knob: config[knob.partition(".")[0]][knob.partition(".")[2]] for knob in self.plan.vary
        }

    def tell(self, run: Run) -> None:
        """How a run ended; a failed one tells nothing about its knobs."""
        trial, score = self.at_work.pop(run.path), best_score(run, self.plan.score)
        if run.state == FINISHED and score is not None:
            self.study.tell(trial, score)
        else:
            self.study.tell(trial, state=self.optuna.trial.TrialState.FAIL)


def carry_out(
    plan: Plan, root: Path | str, launcher: Launcher, at_once: int = 8
) -> Iterator[SweptRun | None]:
    """Make the runs that are missing below `root`, train them, and yield each as it ends; None at looks between.

    Args:
        at_once: how many runs tpe asks for before it has their scores; others are handed over whole.

    Raises:
        ValueError: a run of the sweep's name has another configuration, the launcher cannot take the runs, or it or the
            search needs a library that is not installed.
    """
    search, room = (Tpe(plan), at_once) if plan.search == "tpe" else (Listed(plan), plan.size)
    bench, begun = Bench(root), 0
    at_work: dict[Path, tuple[int, dict[str, Any]]] = {}
    while begun < plan.size or at_work:
        new = []
        while begun < plan.size and len(at_work) < room:
            begun += 1
            folder = bench.folder / _name(plan, begun)
            there = Run(folder) if (folder / "config.yaml").is_file() else None
            if there is not None and (values := search.recall(there)) is not None:
                bench.opened(folder.name, plan.configured(values))  # of this configuration
                yield SweptRun(begun, values, there, best_score(there, plan.score), new=False)
                continue
            values = search.ask(folder)
            new.append(_made(plan, bench, begun, values))
            at_work[new[-1].path] = begun, values
        if new:
            launcher.submit(new)
        for over in launcher.ended() if at_work else ():
            if over is None:
                yield None
                continue
            number, values = at_work.pop(over.path)
            search.tell(over)
            yield SweptRun(number, values, over, best_score(over, plan.score), new=True)
            if begun < plan.size:
                break  # another one may be asked for now
        else:
            at_work.clear()  # the launcher knows of none any more


def hand_over(plan: Plan, root: Path | str, launcher: Launcher) -> list[Run]:
    """Make the runs of a grid or a random search and hand them to a launcher, without waiting for them."""
    runs = [
        _made(plan, Bench(root), number, values)
        for number, values in enumerate(plan.settings(), start=1)
    ]
    launcher.submit(runs)
    return runs


def _name(plan: Plan, number: int) -> str:
    """The name of a run of a sweep: sorted, they stand in their order."""
    return f"{plan.name}-{number:0{len(str(plan.size))}d}"


def _made(plan: Plan, bench: Bench, number: int, values: dict[str, Any]) -> Run:
    """The run of that number; a new one belongs to the group of the sweep's name."""
    name = _name(plan, number)
    fresh = not (bench.folder / name).exists()
    run = bench.opened(name, plan.configured(values))
    if fresh:
        management.annotate(run, group=plan.name)
    return run


def best_score(run: Run, column: str) -> float | None:
    """The highest validation of a run so far, None where there was none or it was not measured."""
    values = [record.get("values") or {} for record in run.metrics("validated")]
    scores = [value[column] for value in values if isinstance(value.get(column), int | float)]
    return max(scores, default=None)
