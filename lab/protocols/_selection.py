"""Draw settings at random or from a grid, and score them on validation classes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lab.core import yaml_reader
from lab.core.knobs import Knob, Knobs, describe
from lab.protocols._base import scores_of
from lab.runs.folder import Run
from lab.sweeps import combinations


def validation_score(run: Run) -> float:
    """Return the run's `select_by` score on its validation classes, signed so that larger is better; -inf for NaN."""
    from lab.runs.building.parts import metrics_of
    from lab.training.validation import columns_of

    column = run.config.training.knobs.select_by
    value = scores_of(run, "validation").get(column, math.nan)
    if math.isnan(value):
        return -math.inf

    higher_is_better = columns_of(metrics_of(run.config), ("middle", "coarse"))
    if higher_is_better[column]:
        return value
    return -value


def grid(vary: Sequence[str]) -> list[dict[str, Any]]:
    """Return every combination of the values in texts such as `optimiser.lr=0.001:0.01`; without texts, [{}].

    Raises:
        ValueError: a text is not PATH=VALUE:VALUE..., or a path occurs twice.
    """
    axes: dict[str, list[Any]] = {}
    for text in vary:
        path, sign, values = text.partition("=")
        if not sign or "." not in path or not values or path in axes:
            raise ValueError(
                f"What to vary is given once as SECTION.KNOB=VALUE:VALUE, for instance optimiser.lr=0.001:0.01; got "
                f"{text!r}."
            )
        axes[path] = [yaml_reader.load(value) for value in values.split(":")]
    return combinations(axes)


def cell(settings: Mapping[str, Any]) -> str:
    """Return settings as the text of a table's cell, such as `optimiser.lr=0.001`."""
    words = []
    for path, value in settings.items():
        text = f"{value:.4g}" if isinstance(value, float) else value
        words.append(f"{path}={text}")
    return " ".join(words) or "as configured"


def searched_knobs(knobs: type[Knobs]) -> list[Knob]:
    """Return the knobs that a random search moves: single real numbers with a default."""
    return [
        knob
        for knob in describe(knobs)
        if knob.kind is float and not knob.many and knob.default is not None
    ]


def draw_value(knob: Knob, random: np.random.Generator) -> float:
    """Draw one value around a knob's default.

    On a logarithmic scale the value is within a factor of 10 of the default. On a linear scale it is anywhere between
    the bounds; where a bound is missing, the value is at most as far from the default as the default is from zero, but
    0.5 at least.
    """
    low = knob.gt if knob.ge is None else knob.ge
    high = knob.lt if knob.le is None else knob.le
    if knob.scale == "log" and knob.default > 0:
        bottom = max(knob.default / 10, low or 0.0)
        top = knob.default * 10
        if high is not None:
            top = min(top, high)
        return float(np.exp(random.uniform(np.log(bottom), np.log(top))))

    if low is not None and high is not None:
        return float(random.uniform(low, high))

    reach = max(abs(knob.default), 0.5)
    bottom = knob.default - reach
    if low is not None:
        bottom = max(low, bottom)
    top = knob.default + reach
    if high is not None:
        top = min(high, top)
    return float(random.uniform(bottom, top))
