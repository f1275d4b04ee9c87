"""More trainings of a run's method: the same configuration with other seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import lab.runs
from lab.report._lines import setting, together
from lab.runs import Run, RunConfig
from lab.runs.folder import FINISHED


def trainings(run: Run, known: Sequence[Run], split: str = "test") -> list[Run]:
    """Return the runs that differ from `run` in nothing but their seed, itself first.

    Args:
        known: where to look, for instance all runs of a folder; a run may be there twice. Runs that
            cannot be read are passed over.
    """
    own = setting(run, split)
    others: dict[Path, Run] = {}
    for other in known:
        try:
            alike = len(together([own, setting(other, split)])) == 1
        except (ValueError, OSError):
            continue
        if alike:
            others[other.path.resolve()] = other
    others.pop(run.path.resolve(), None)
    return [run, *sorted(others.values(), key=lambda other: other.name)]


def missing(run: Run, members: Sequence[Run], count: int) -> dict[str, RunConfig]:
    """Return name and configuration of the trainings that a method lacks to have `count` of them.

    Args:
        members: the trainings that there are, as `trainings` returns them.

    Raises:
        ValueError: the run was made elsewhere, or needs a program, so that Rankscope cannot train it again; or a
            training is still under way.
    """
    lacking = count - len(members)
    if lacking <= 0:
        _check_finished(members)
        return {}
    config = run.config
    if config.imported or config.loss.outside or config.program:
        raise ValueError(
            f"{run.name} was trained elsewhere, so it cannot be trained again here; give its other trainings."
        )
    _check_finished(members)
    taken = {member.config.seed for member in members}
    seeds = [seed for seed in range(count + len(taken)) if seed not in taken][:lacking]
    made = {}
    for seed in seeds:
        name = lab.runs.free_name(run.path.parent, f"{run.name}-seed-{seed}")
        made[name] = config.changed("training.seed", seed)
    return made


def _check_finished(members: Sequence[Run]) -> None:
    unfinished = [
        f"{member.name} ({member.state})" for member in members if member.state != FINISHED
    ]
    if unfinished:
        raise ValueError(
            f"Not every training has finished: {', '.join(unfinished)}. Wait for them, or use "
            "`lab runs trash` for those that are not wanted."
        )
