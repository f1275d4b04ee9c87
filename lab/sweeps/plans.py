"""What a sweep is to try: a configuration, the knobs that vary, and how values are chosen."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from lab.core.files import checked
from lab.core.knobs import quoted
from lab.runs.config import RunConfig, parse_yaml, read_yaml
from lab.runs.store import check_name

SEARCHES = ("grid", "random", "tpe")

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


@dataclass(frozen=True)
class Plan:
    """A sweep.

    name: beginning of the runs' names. config: sections as in a run's YAML. vary: knob to the values to try or to a
    span of them. search: `grid` for every combination, `random`, or `tpe` for Optuna's tree-structured Parzen
    estimator. trials: how many runs, for the last two. seed: of their draws. score: the column of the validation by
    which tpe goes. prune: whether tpe stops runs that fall behind the median of the others.
    """

    name: str
    vary: dict[str, list[Any] | Span]
    config: dict[str, Any] = field(default_factory=dict)
    search: str = "grid"
    trials: int | None = None
    seed: int = 0
    score: str = "MAP@R"
    prune: bool = False

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Plan:
        """Check what a file says.

        Raises:
            ValueError: something is missing, unknown or out of range; one sentence that says what is legal.
        """
        known = [one.name for one in fields(cls)]
        unknown = [name for name in values if name not in known]
        if unknown:
            raise ValueError(f"A sweep has no {quoted(unknown[0])}; it has {', '.join(known)}.")
        lacking = [name for name in ("name", "vary") if not values.get(name)]
        if lacking:
            raise ValueError(f"A sweep needs {lacking[0]}.")
        check_name(str(values["name"]))
        vary, base = values["vary"], values.get("config") or {}
        if not isinstance(vary, Mapping):
            raise ValueError(f"vary must map knobs, such as loss.tau2, to their values, got {quoted(vary)}.")
        config = read_yaml(base) if isinstance(base, str) else base
        plan = cls(**{**values, "config": config, "vary": {str(k): _values(str(k), v) for k, v in vary.items()}})
        plan._check()
        return plan

    def _check(self) -> None:
        if self.search not in SEARCHES:
            raise ValueError(f"search must be {', '.join(SEARCHES)}, got {quoted(self.search)}.")
        spans = [knob for knob, values in self.vary.items() if isinstance(values, Span)]
        if self.search == "grid":
            if spans:
                raise ValueError(f"{spans[0]} is a span, and a grid needs a list of values; or set search to random.")
            if self.trials is not None:
                raise ValueError("A grid tries every combination; leave trials out, or set search to random.")
        elif type(self.trials) is not int or not 1 <= self.trials <= MOST:
            raise ValueError(f"search: {self.search} needs trials, a number from 1 to {MOST:,}; got {self.trials!r}.")
        if self.search == "grid" and self.size > MOST:
            raise ValueError(f"This grid has {self.size:,} combinations, and a sweep at most {MOST:,} runs.")
        if type(self.seed) is not int or self.seed < 0:
            raise ValueError(f"seed must be a whole number from 0, got {quoted(self.seed)}.")
        if not isinstance(self.score, str):
            raise ValueError(f"score must name a column of the validation, such as MAP@R; got {quoted(self.score)}.")
        if type(self.prune) is not bool or (self.prune and self.search != "tpe"):
            raise ValueError(f"prune must be true or false, and true with search: tpe alone; got {quoted(self.prune)}.")
        for knob, values in self.vary.items():  # before the first run is made, and at both ends
            for value in values if isinstance(values, list) else (values.low, values.high):
                self.configured({knob: value})

    @property
    def size(self) -> int:
        """How many runs the sweep has."""
        if self.trials is not None:
            return self.trials
        return math.prod(len(values) for values in self.vary.values() if isinstance(values, list))

    def settings(self) -> Iterator[dict[str, Any]]:
        """Knob to value for every run of a grid or a random search, in order.

        Raises:
            ValueError: the search is one that needs the scores of earlier runs.
        """
        if self.search == "tpe":
            raise ValueError("tpe chooses from the scores of the runs before; there is no list of its settings.")
        if self.search == "grid":
            yield from combinations({name: values for name, values in self.vary.items() if isinstance(values, list)})
            return
        generator = random.Random(self.seed)
        for _ in range(self.size):
            yield {
                knob: values.draw(generator) if isinstance(values, Span) else generator.choice(values)
                for knob, values in self.vary.items()
            }

    def configured(self, values: Mapping[str, Any]) -> RunConfig:
        """The configuration with these knobs changed.

        Raises:
            ValueError: a knob is unknown or its value out of range.
        """
        config = RunConfig.of(self.config)
        for knob, value in values.items():
            config = config.changed(knob, value)
        return config


def combinations(vary: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Every combination of one value each, the last knob changing first; one empty one of no knobs."""
    return [dict(zip(vary, values, strict=True)) for values in itertools.product(*vary.values())]


def read_plan(path: Path | str) -> Plan:
    """The plan in a YAML file.

    Raises:
        ValueError: there is no such file, or it holds no plan.
    """
    try:
        text = checked(Path(path)).read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8: {error}.") from None
    return Plan.of(parse_yaml(text, str(path)))


def _values(knob: str, values: Any) -> list[Any] | Span:
    if isinstance(values, list) and values:
        return values
    if isinstance(values, Mapping) and {"low", "high"} <= set(values) <= {"low", "high", "log"}:
        low, high, log = values["low"], values["high"], values.get("log", False)
        numbers = all(type(end) in (int, float) and math.isfinite(end) for end in (low, high))
        if numbers and low < high and type(log) is bool and (low > 0 or not log):
            return Span(low, high, log)
    raise ValueError(
        f"{knob} must be a list of values or a span such as {{low: 0.001, high: 0.1, log: true}}, low below high and "
        f"above 0 where log is true; got {quoted(values)}."
    )
