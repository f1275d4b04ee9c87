"""Optuna's tree-structured Parzen estimator: each run's knobs follow from the scores of those before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.runs.folder import FINISHED, STOPPED, Run
from lab.runs.launching import stop_request
from lab.sweeps.plans import Plan, Span
from lab.sweeps.trials import Trial, best_score, made, name_of

if TYPE_CHECKING:
    from lab.launchers import Launcher

MISSING = "Optuna is not installed: pip install 'rankscope[optuna]'."


def carry_out(plan: Plan, root: Path, launcher: Launcher, at_once: int) -> Iterator[Trial | None]:
    """As `lab.sweeps.carry_out`. Runs that had ended when the sweep was begun again are told to the estimator first."""
    study = _Study(plan)
    at_work: dict[Path, tuple[int, Any, dict[str, Any]]] = {}
    begun = 0
    while begun < plan.size or at_work:
        while begun < plan.size and len(at_work) < at_once:
            begun += 1
            folder = root / name_of(plan, begun)
            if (folder / "config.yaml").is_file() and (ended := study.recall(Run(folder))) is not None:
                yield Trial(begun, ended, Run(folder), best_score(Run(folder), plan.score), new=False)
                continue
            trial, values = study.ask(folder)
            run = made(plan, root, begun, values)
            at_work[run.path] = begun, trial, values
            launcher.submit([run])
        if not at_work:
            return
        for over in launcher.ended():
            if over is None:
                study.prune({path: trial for path, (_, trial, _) in at_work.items()})
                yield None
                continue
            number, trial, values = at_work.pop(over.path)
            study.tell(trial, over)
            yield Trial(number, values, over, best_score(over, plan.score), new=True)
            break  # another one may be asked for now


class _Study:
    """What the estimator has seen."""

    def __init__(self, plan: Plan):
        try:
            import optuna
        except ImportError:
            raise ImportError(MISSING) from None
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.optuna, self.plan = optuna, plan
        pruner = optuna.pruners.MedianPruner() if plan.prune else optuna.pruners.NopPruner()
        sampler = optuna.samplers.TPESampler(seed=plan.seed)
        self.study = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)
        self.distributions = {knob: self._distribution(values) for knob, values in plan.vary.items()}
        self._reported: set[tuple[Path, int]] = set()

    def _distribution(self, values: list[Any] | Span) -> Any:
        distributions = self.optuna.distributions
        if isinstance(values, list):
            return distributions.CategoricalDistribution(values)
        kind = distributions.IntDistribution if values.whole else distributions.FloatDistribution
        return kind(values.low, values.high, log=values.log)

    def ask(self, folder: Path) -> tuple[Any, dict[str, Any]]:
        """The next trial and its knobs; those of a run that was begun before are the run's own."""
        if (folder / "config.yaml").is_file():
            self.study.enqueue_trial(self._values(Run(folder)))
        trial = self.study.ask(self.distributions)
        return trial, dict(trial.params)

    def recall(self, run: Run) -> dict[str, Any] | None:
        """Tell of a run that had ended before; returns its knobs, None where it is still to be trained.

        With pruning a stopped run counts as pruned: nobody else stops the runs of such a sweep.
        """
        pruned = self.plan.prune and run.state == STOPPED and run.begun
        if run.state != FINISHED and not pruned:
            return None
        values, score = self._values(run), best_score(run, self.plan.score)
        about: dict[str, Any] = dict(params=values, distributions=self.distributions)
        if pruned:
            self.study.add_trial(self.optuna.trial.create_trial(state=self.optuna.trial.TrialState.PRUNED, **about))
        elif score is not None:
            self.study.add_trial(self.optuna.trial.create_trial(value=score, **about))
        return values

    def _values(self, run: Run) -> dict[str, Any]:
        config = run.config_dict
        return {knob: config[knob.partition(".")[0]][knob.partition(".")[2]] for knob in self.plan.vary}

    def prune(self, at_work: dict[Path, Any]) -> None:
        """Ask those that fall behind the others' median to stop."""
        if not self.plan.prune:
            return
        for path, trial in at_work.items():
            for record in Run(path).metrics("validated"):
                score, step = (record.get("values") or {}).get(self.plan.score), int(record["step"])
                if isinstance(score, int | float) and (path, step) not in self._reported:
                    trial.report(score, step)  # Optuna warns of what it is told twice
                    self._reported.add((path, step))
            if trial.should_prune():
                stop_request.write(Run(path))

    def tell(self, trial: Any, run: Run) -> None:
        """How a run ended; a failed one tells nothing about its knobs."""
        states, score = self.optuna.trial.TrialState, best_score(run, self.plan.score)
        if run.state == FINISHED and score is not None:
            self.study.tell(trial, score)
        else:
            self.study.tell(trial, state=states.PRUNED if run.state == STOPPED else states.FAIL)
