"""One run of a sweep: its name, its folder, and what it came to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.core.knobs import quoted
from lab.runs import management
from lab.runs.config import difference
from lab.runs.execute import create, findable
from lab.runs.folder import Run
from lab.sweeps.plans import Plan


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


def enumerated(plan: Plan) -> Iterator[tuple[int, dict[str, Any]]]:
    return enumerate(plan.settings(), start=1)


def name_of(plan: Plan, number: int) -> str:
    """The name of a run of a sweep: sorted, they stand in their order."""
    return f"{plan.name}-{number:0{len(str(plan.size))}d}"


def made(plan: Plan, root: Path, number: int, values: dict[str, Any]) -> Run:
    """The run of that number, made unless it is there; a new one belongs to the group of the sweep's name.

    Raises:
        ValueError: it is there with another configuration.
    """
    config, folder = findable(plan.configured(values)), root / name_of(plan, number)
    if not (folder / "config.yaml").is_file():
        fresh = create(config, root, folder.name)
        management.annotate(fresh, group=plan.name)
        return fresh
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
