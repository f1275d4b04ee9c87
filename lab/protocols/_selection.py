"""Choosing between settings by what they do on validation classes, and drawing settings to choose from."""

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
    """The run's `select_by` on its validation classes, signed so that larger is better; -inf where it is no number."""
    from lab.runs.building.parts import metrics_of
    from lab.training.validation import columns_of

    column = run.config.training.knobs.select_by
    value = scores_of(run, "validation").get(column, math.nan)
    if math.isnan(value):
        return -math.inf
    return value if columns_of(metrics_of(run.config), ("middle", "coarse"))[column] else -value


def grid(vary: Sequence[str]) -> list[dict[str, Any]]:
    """Every combination of the values in texts such as `optimiser.lr=0.001:0.01`; one empty one when there are none.

    Raises:
        ValueError: a text is not PATH=VALUE:VALUE..., or names a path twice.
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
    """Settings in a table's cell."""
    short = {path: f"{value:.4g}" if isinstance(value, float) else value for path, value in settings.items()}
    return " ".join(f"{path}={value}" for path, value in short.items()) or "as configured"


def searched_knobs(knobs: type[Knobs]) -> list[Knob]:
    """The knobs that a random search moves: single real numbers with a default."""
    return [k for k in describe(knobs) if k.kind is float and not k.many and k.default is not None]


def drawn(knob: Knob, random: np.random.Generator) -> float:
    """One value around a knob's default: by a factor of up to 10 on a logarithmic scale; elsewhere anywhere between
    its bounds or, where a bound is missing, as far as the default is from zero (at least 0.5)."""
    low, high = (next((b for b in pair if b is not None), None) for pair in ((knob.ge, knob.gt), (knob.le, knob.lt)))
    if knob.scale == "log" and knob.default > 0:
        bottom = max(knob.default / 10, low or 0.0)
        top = knob.default * 10 if high is None else min(knob.default * 10, high)
        return float(np.exp(random.uniform(np.log(bottom), np.log(top))))
    reach = max(abs(knob.default), 0.5)
    bottom = knob.default - reach if low is None else low if high is not None else max(low, knob.default - reach)
    top = knob.default + reach if high is None else high if low is not None else min(high, knob.default + reach)
    return float(random.uniform(bottom, top))
