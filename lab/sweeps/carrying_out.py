"""A plan becomes runs: made, handed to a launcher, and told as they end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lab.runs.folder import FINISHED
from lab.sweeps import tpe
from lab.sweeps.plans import Plan
from lab.sweeps.trials import Trial, best_score, enumerated, made

if TYPE_CHECKING:
    from lab.launchers import Launcher


def carry_out(plan: Plan, root: Path | str, launcher: Launcher, at_once: int = 8) -> Iterator[Trial | None]:
    """Make the runs that are missing below `root`, train them, and yield each as it ends; None at looks between.

    Args:
        at_once: how many runs tpe asks for before it has their scores; a grid is handed over whole.

    Raises:
        ValueError: a run of the sweep's name has another configuration, or the launcher cannot take the runs.
        ImportError: the launcher or the search needs a library that is not installed; says which.
    """
    if plan.search == "tpe":
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
    for over in launcher.ended():
        if over is None:
            yield None
        else:
            number = waiting[over.path]
            yield Trial(number, trials[number][0], over, best_score(over, plan.score), new=True)
