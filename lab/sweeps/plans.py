"""What a sweep is to try: a configuration, the knobs that vary, and how values are chosen."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lab.core.explain import quoted
from lab.core.files import checked
from lab.core.knobs import Knobs, knob
from lab.runs.config import RunConfig, merged, parse_yaml, read_yaml, refuse_programs
from lab.runs.store import check_name

MOST = 10_000
"""Runs of one sweep: each is a folder, made before the first begins."""


@dataclass(frozen=True)
class Span:
    """Values from `low` to `high`, both ends among them; whole numbers where both ends are whole. log: by factors."""

    low: float
    high: float
    log: bool = False

    @property
    def whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    def draw(self, generator: random.Random) -> float:
        """One value, evenly over the span or over its logarithm.

        >>> Span(1, 3).draw(random.Random(0)), round(Span(0.01, 1.0, log=True).draw(random.Random(0)), 3)
        (2, 0.488)
        """
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        if self.whole and not self.log:
            return generator.randint(int(low), int(high))
        value = generator.uniform(low, high)
        value = min(max(math.exp(value) if self.log else value, self.low), self.high)
        return round(value) if self.whole else value


class Plan(Knobs):
    """A sweep. `Plan.of` makes one of what a file says."""

    name: str = knob("Beginning of the runs' names.")
    vary: dict[str, Any] = knob(
        "Knobs, such as loss.tau2, to the values to try or to a span of them."
    )
    config: dict[str, Any] = knob("Sections as in a run's YAML.", default={})
    search: Literal["grid", "random", "tpe"] = knob(
        "Every combination, random draws, or Optuna's tree-structured Parzen estimator.",
        default="grid",
    )
    trials: int | None = knob("How many runs random and tpe make.", default=None, ge=1, le=MOST)
    seed: int = knob("Of the draws of random and tpe.", default=0, ge=0)
    score: str = knob("Column of the validation by which tpe goes.", default="MAP@R")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Plan:
        """Check what a file says.

        Raises:
            ValueError: something is missing, unknown or out of range; one sentence that says what is legal.
        """
        vary, base = values.get("vary") or {}, values.get("config") or {}
        if not isinstance(vary, Mapping) or not vary:
            raise ValueError(
                f"A sweep needs vary: knobs, such as loss.tau2, to their values; got {quoted(vary)}."
            )
        plan = cls(
            **{str(key): value for key, value in values.items()}
            | {"config": read_yaml(base) if isinstance(base, str) else base}
            | {"vary": {str(path): _values(str(path), given) for path, given in vary.items()}}
        )
        plan._check()
        return plan

    def _check(self) -> None:
        check_name(self.name)
        spans = [path for path, values in self.vary.items() if isinstance(values, Span)]
        if self.search == "grid":
            if spans:
                raise ValueError(
                    f"{spans[0]} is a span, and a grid needs a list of values; or set search to random."
                )
            if self.trials is not None:
                raise ValueError(
                    "A grid tries every combination; leave trials out, or set search to random."
                )
            if self.size > MOST:
                raise ValueError(
                    f"This grid has {self.size:,} combinations, and a sweep at most {MOST:,} runs."
                )
        elif self.trials is None:
            raise ValueError(f"search: {self.search} needs trials, a number from 1 to {MOST:,}.")
        for path, values in self.vary.items():  # before the first run is made, and at both ends
            for value in values if isinstance(values, list) else (values.low, values.high):
                self.configured({path: value})

    @property
    def size(self) -> int:
        """How many runs the sweep has."""
        return self.trials or math.prod(len(values) for values in self.vary.values())

    def settings(self) -> Iterator[dict[str, Any]]:
        """Knob to value for every run of a grid or a random search, in order.

        Raises:
            ValueError: the search is one that needs the scores of earlier runs.
        """
        if self.search == "tpe":
            raise ValueError(
                "tpe chooses from the scores of the runs before; there is no list of its settings."
            )
        if self.search == "grid":
            yield from combinations(self.vary)
            return
        generator = random.Random(self.seed)
        for _ in range(self.size):
            yield {
                path: values.draw(generator)
                if isinstance(values, Span)
                else generator.choice(values)
                for path, values in self.vary.items()
            }

    def configured(self, values: Mapping[str, Any]) -> RunConfig:
        """The configuration with these knobs changed.

        Raises:
            ValueError: a knob is unknown or its value out of range.
        """
        return changed(RunConfig.of(self.config), values)


def changed(config: RunConfig, values: Mapping[str, Any]) -> RunConfig:
    """The configuration with several knobs changed, each by its dotted path."""
    for path, value in values.items():
        config = config.changed(path, value)
    return config


def combinations(vary: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Every combination of one value each, the last knob changing first; one empty one of no knobs."""
    return [dict(zip(vary, values, strict=True)) for values in itertools.product(*vary.values())]


def read_plan(path: Path | str) -> Plan:
    """The plan in a YAML file.

    Raises:
        ValueError: there is no such file, it holds no plan, or it names a program.
    """
    try:
        text = checked(Path(path)).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} cannot be read: {getattr(error, 'strerror', None) or error}."
        ) from None
    plan = Plan.of(parse_yaml(text, str(path)))
    refuse_programs(plan.config, str(path))
    for path_of_knob, values in plan.vary.items():
        section, _, name = path_of_knob.partition(".")
        for value in values if isinstance(values, list) else ():
            refuse_programs(
                merged(plan.config, {section: {name: value} if name else value}), str(path)
            )
    return plan


def _values(path: str, values: Any) -> list[Any] | Span:
    if isinstance(values, list) and values:
        return values
    if isinstance(values, Mapping) and {"low", "high"} <= set(values) <= {"low", "high", "log"}:
        low, high, log = values["low"], values["high"], values.get("log", False)
        numbers = all(type(end) in (int, float) and math.isfinite(end) for end in (low, high))
        if numbers and low < high and type(log) is bool and (low > 0 or not log):
            return Span(low, high, log)
    raise ValueError(
        f"{path} must be a list of values or a span such as {{low: 0.001, high: 0.1, log: true}}, low below high and "
        f"above 0 where log is true; got {quoted(values)}."
    )
