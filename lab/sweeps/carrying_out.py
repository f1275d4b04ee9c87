"""A plan becomes runs: made, handed to a launcher, and told as they end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.core.knobs import quoted
from lab.runs.config import difference
from lab.runs.execute import create, findable
from lab.runs.folder import FINISHED, Run
from lab.sweeps.plans import Plan

if TYPE_CHECKING:
    from lab.launchers._base import Launcher


@dataclass(frozen=True)
class Trial:
    """One run of a sweep that has ended.

    number: from 1. values: of the knobs that vary. score: the best validation so far by the plan's column, None where
    there was none. new: whether it was trained now and not found finished.
    """

    number: int
    values: dict[str, Any]
    run: Run
    score: float | None
    new: bool


def carry_out(plan: Plan, root: Path | str, launcher: Launcher, at_once: int = 8) -> Iterator[Trial | None]:
    """Make the runs that are missing below `root`, train them, and yield each as it ends; None at looks between.

    Args:
        at_once: how many runs tpe asks for before it has their scores; a grid is handed over whole.

    Raises:
        ValueError: a run of the sweep's name has another configuration, or the launcher cannot take the runs.
        ImportError: the launcher or the search needs a library that is not installed; says which.
    """
    if plan.search == "tpe":
        from lab.sweeps import tpe

        yield from tpe.carry_out(plan, Path(root), launcher, at_once)
        return
    trials = {number: (values, made(plan, Path(root), number, values)) for number, values in enumerated(plan)}
    waiting = {run.path: number for number, (_, run) in trials.items() if run.state != FINISHED}
    for number, (values, run) in trials.items():
        if run.path not in waiting:
            yield Trial(number, values, run, best_score(run, plan.score), new=False)
    if not waiting:
        return
    launcher.submit([run for _, run in trials.values() if run.path in waiting])
    for run in launcher.ended():
        if run is None:
            yield None
        else:
            number = waiting[run.path]
            yield Trial(number, trials[number][0], run, best_score(run, plan.score), new=True)


def enumerated(plan: Plan) -> Iterator[tuple[int, dict[str, Any]]]:
    return enumerate(plan.settings(), start=1)


def name_of(plan: Plan, number: int) -> str:
    """The name of a run of a sweep: sorted, they stand in their order."""
    return f"{plan.name}-{number:0{len(str(plan.size))}d}"


def made(plan: Plan, root: Path, number: int, values: dict[str, Any]) -> Run:
    """The run of that number, made unless it is there.

    Raises:
        ValueError: it is there with another configuration.
    """
    config, folder = findable(plan.configured(values)), root / name_of(plan, number)
    if not (folder / "config.yaml").is_file():
        return create(config, root, folder.name)
    run = Run(folder)
    for knob, (there, here) in difference(run.config, config).items():
        raise ValueError(
            f"There is a run {folder.name} already, with {knob} {quoted(there)} where this sweep has {quoted(here)}; "
            "give the sweep another name, or trash its old runs."
        )
    return run


def best_score(run: Run, column: str) -> float | None:
    """The highest validation of a run so far, None where there was none or it was not measured."""
    values = [record.get("values") or {} for record in run.metrics("validated")]
    scores = [value[column] for value in values if isinstance(value.get(column), int | float)]
    return max(scores, default=None)
