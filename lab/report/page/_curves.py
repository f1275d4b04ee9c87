"""Curves over the steps as inline SVG."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from lab.runs.folder import Run

WIDTH = 480
HEIGHT = 260
LEFT = 62
RIGHT = 12
TOP = 12
BOTTOM = 34
"""Of a chart and its margins."""

POINTS = 300
"""Points of a line at most; more are averaged."""

StepValues = list[tuple[float, float]]

DASHES = ("", "7 4", "2 3", "9 3 2 3", "12 4", "4 2")
"""How lines are broken, so that colour is never alone."""


def of(runs: Sequence[Run]) -> str:
    """The loss, and each validation score, one line a run."""
    curves: dict[str, dict[str, StepValues]] = {}  # title of a chart, then name of a run
    for run in runs:
        for record in run.metrics():
            for title, value in _values(record).items():
                points = curves.setdefault(title, {}).setdefault(run.name, [])
                points.append((record["step"], value))
    if not curves:
        return "<p>These runs recorded no curves.</p>"
    names = [run.name for run in runs]
    charts = [_chart(title, of_runs, names) for title, of_runs in curves.items()]
    return f"{_key(names)}<div class='charts'>{''.join(charts)}</div>"


def _values(record: dict[str, Any]) -> dict[str, float]:
    """What a record adds to the charts, by their titles."""
    values = {}
    if record["kind"] == "stepped":
        values["Training loss"] = record.get("loss")
    elif record["kind"] == "validated":
        for name, value in record.get("values", {}).items():
            values[f"Validation {name}"] = value
    return {title: value for title, value in values.items() if value is not None}


def _line(number: int) -> str:
    """Attributes of the line of the number-th run."""
    return f'fill="none" stroke="var(--c{number % 6})" stroke-width="2" stroke-dasharray="{DASHES[number % 6]}"'


def _key(names: Sequence[str]) -> str:
    """Which line is whose."""
    swatch = '<svg viewBox="0 0 36 8" aria-hidden="true"><path d="M0 4H36" {}/></svg>'
    items = [
        f"<li>{swatch.format(_line(number))}{escape(name)}</li>"
        for number, name in enumerate(names)
    ]
    return f'<ul class="key">{"".join(items)}</ul>'


def _chart(title: str, curves: dict[str, StepValues], names: Sequence[str]) -> str:
    """One chart with a line for each run. names: of all runs, whose places choose colour and dashes."""
    steps = [step for points in curves.values() for step, _ in points]
    values = [value for points in curves.values() for _, value in points]
    x = _axis(0, max(steps))
    y = _axis(min(values), max(values))

    def across(step: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * step / x[-1]

    def down(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - y[0]) / (y[-1] - y[0]))

    parts = []
    for tick in y:
        at = down(tick)
        parts.append(f'<path class="axis" d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for tick in x:
        anchor = "end" if tick == x[-1] else "middle"
        parts.append(
            f'<text x="{across(tick):.1f}" y="{HEIGHT - 12}" text-anchor="{anchor}">{tick:,g}</text>'
        )
    ranges = []
    for name, points in curves.items():
        shown = points if len(points) <= POINTS else averaged(points)
        path = "M" + "L".join(f"{across(step):.1f} {down(value):.1f}" for step, value in shown)
        if len(shown) == 1:
            path += "h.1"  # a line that is long enough to be seen
        parts.append(f'<path d="{path}" stroke-linecap="round" {_line(names.index(name))}/>')
        ranges.append(f"{name} from {points[0][1]:.3g} to {points[-1][1]:.3g}")
    alt = escape(f"{title} over {max(steps):,} training steps: {'; '.join(ranges)}.")
    svg = (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{alt}"><title>{alt}</title>{"".join(parts)}</svg>'
    )
    return f"<figure>{svg}<figcaption>{escape(title)} over training steps</figcaption></figure>"


def averaged(points: StepValues) -> StepValues:
    """`POINTS` means of many points."""
    means = [part.mean(axis=0) for part in np.array_split(np.array(points), POINTS)]
    return [(float(step), float(value)) for step, value in means]


def _axis(low: float, high: float) -> list[float]:
    """Round numbers from below `low` to above `high`, five or so."""
    if not high > low:
        low -= 0.5
        high += 0.5
    raw = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(raw))
    step = 10 * power
    for factor in (5, 2.5, 2, 1):  # the smallest round step that is large enough
        if factor * power >= raw:
            step = factor * power
    first = math.floor(low / step)
    last = math.ceil(high / step)
    return [round(number * step, 12) for number in range(first, last + 1)]
