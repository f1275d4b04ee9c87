"""Curves over the steps as inline SVG."""

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from lab.runs.folder import Run

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 480, 260, 62, 12, 12, 34
POINTS = 300
"""Points of a line at most; more are averaged."""

StepValues = list[tuple[float, float]]

DASHES = ("", "7 4", "2 3", "9 3 2 3", "12 4", "4 2")
"""How lines are broken, so that colour is never alone."""


def of(runs: Sequence[Run]) -> str:
    """The loss, and each validation score, one line a run."""
    curves: dict[str, dict[str, StepValues]] = {}
    for run in runs:
        for record in run.metrics():
            if record["kind"] == "stepped" and record.get("loss") is not None:
                curves.setdefault("Training loss", {}).setdefault(run.name, []).append((record["step"], record["loss"]))
            for name, value in record.get("values", {}).items() if record["kind"] == "validated" else ():
                if value is not None:
                    made = curves.setdefault(f"Validation {name}", {}).setdefault(run.name, [])
                    made.append((record["step"], value))
    if not curves:
        return "<p>These runs recorded no curves.</p>"
    names = [run.name for run in runs]
    return f"{_key(names)}<div class='charts'>{''.join(_chart(t, c, names) for t, c in curves.items())}</div>"


def _line(number: int) -> str:
    """Attributes of the line of the number-th run."""
    return f'fill="none" stroke="var(--c{number % 6})" stroke-width="2" stroke-dasharray="{DASHES[number % 6]}"'


def _key(names: Sequence[str]) -> str:
    """Which line is whose."""
    swatch = '<svg viewBox="0 0 36 8" aria-hidden="true"><path d="M0 4H36" {}/></svg>'
    items = (f"<li>{swatch.format(_line(number))}{escape(name)}</li>" for number, name in enumerate(names))
    return f'<ul class="key">{"".join(items)}</ul>'


def _chart(title: str, curves: dict[str, StepValues], names: Sequence[str]) -> str:
    steps = [step for points in curves.values() for step, _ in points]
    values = [value for points in curves.values() for _, value in points]
    x, y = _axis(0, max(steps)), _axis(min(values), max(values))
    across, up = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    parts = []
    for tick in y:
        at = TOP + up * (1 - (tick - y[0]) / (y[-1] - y[0]))
        parts.append(f'<path class="axis" d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for tick in x:
        at = LEFT + across * tick / x[-1]
        anchor = "end" if tick == x[-1] else "middle"
        parts.append(f'<text x="{at:.1f}" y="{HEIGHT - 12}" text-anchor="{anchor}">{tick:,g}</text>')
    for name, points in curves.items():
        places = [
            f"{LEFT + across * step / x[-1]:.1f} {TOP + up * (1 - (value - y[0]) / (y[-1] - y[0])):.1f}"
            for step, value in (points if len(points) <= POINTS else averaged(points))
        ]
        drawn = "M" + "L".join(places) + ("h.1" if len(places) == 1 else "")
        parts.append(f'<path d="{drawn}" stroke-linecap="round" {_line(names.index(name))}/>')
    ranges = "; ".join(f"{name} from {points[0][1]:.3g} to {points[-1][1]:.3g}" for name, points in curves.items())
    alt = escape(f"{title} over {max(steps):,} training steps: {ranges}.")
    svg = (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{alt}"><title>{alt}</title>{"".join(parts)}</svg>'
    )
    return f"<figure>{svg}<figcaption>{escape(title)} over training steps</figcaption></figure>"


def averaged(points: StepValues) -> StepValues:
    """`POINTS` means of many points."""
    return [(float(part[:, 0].mean()), float(part[:, 1].mean())) for part in np.array_split(np.array(points), POINTS)]


def _axis(low: float, high: float) -> list[float]:
    """Round numbers from below `low` to above `high`, five or so."""
    if not high > low:
        low, high = low - 0.5, high + 0.5
    raw = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(number * step, 12) for number in range(first, last + 1)]
