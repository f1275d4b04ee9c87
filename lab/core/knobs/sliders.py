"""Where the slider of a knob begins, ends and stops: the same in a notebook and on the dashboard."""

from __future__ import annotations

import math

from lab.core.knobs import Knob

ROUND = (1, 1.1, 1.25, 1.4, 1.6, 1.8, 2, 2.2, 2.5, 2.8, 3.2, 3.5, 4, 4.5, 5, 5.5, 6, 7, 8, 9)
"""About twenty even steps a decade, all of them numbers that a person would write."""

FAR = 10_000
"""A whole bound beyond this only guards the memory of the machine, so a slider ends before it."""

LEAST = 100
"""How far an integer without an upper bound can be moved, at least."""

FINER = 3
"""How many tens finer than a hand needs a step may get, so that a slider stops at a knob's value."""


def span(knob: Knob, value: float | None = None) -> tuple[float, float]:
    """The two ends of a slider: the declared bounds, or where there is none a stretch around default and `value`."""
    low = knob.ge if knob.ge is not None else knob.gt
    high = knob.le if knob.le is not None else knob.lt
    farthest = math.inf
    if knob.kind is int and high is not None and high > FAR:
        farthest, high = high, None
    near = knob.default if isinstance(knob.default, int | float) else 1
    known = [near] if value is None else [near, value]
    if knob.scale == "log":
        # a knob may be 0, which has no logarithm
        known = [number for number in known if number > 0] or [1]
        near = known[0]
        return low or min(near / 1000, *known), min(
            farthest, max(near * 1000, *known)
        ) if high is None else high
    reach = max(LEAST if knob.kind is int else 1.0, *(4 * abs(number) for number in known))
    return (min(known) - reach if low is None else low), (
        min(farthest, max(known) + reach) if high is None else high
    )


def linear_steps(knob: Knob, value: float | None = None) -> tuple[float, float, float]:
    """Both ends and the step of a linear slider; an end that is itself not legal is left out.

    The step is as coarse as a hand can use, and finer by tens where the default, or `value`, would lie between two
    stops: a slider shows the stop that it stands on, and must not show another number than the knob has.
    """
    low, high = span(knob, value)
    if knob.kind is int:
        return int(low) + (knob.gt == low), int(high) - (knob.lt == high), 1
    power = math.floor(math.log10((high - low) / 50))
    numbers = [number for number in (knob.default, value) if isinstance(number, int | float)]
    for _ in range(FINER):
        steps = [(number - low) / 10.0**power for number in numbers]
        # the slider stops at all of them
        if all(math.isclose(count, round(count), abs_tol=1e-6) for count in steps):
            break
        power -= 1
    step = 10.0**power
    low += step * (knob.ge is None and knob.gt is not None)
    high -= step * (knob.le is None and knob.lt is not None)
    return float(low), float(high), step


def log_steps(knob: Knob, value: float) -> list[float]:
    """Where a logarithmic slider stops: round numbers between the bounds, the bounds, the default and `value`; whole
    numbers double from the default."""
    low, high = span(knob, value)
    start = value if knob.default is None else knob.default
    if knob.kind is int:
        reach = math.ceil(math.log2(high / low))
        stops = {round(start * 2.0**power) for power in range(-reach, reach + 1)} | {
            int(low),
            int(high),
        }
    else:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        stops = {float(f"{m}e{d}") for d in decades for m in ROUND} | {low, high}
    return sorted(
        s for s in stops | {start, value} if (low <= s <= high or s == value) and not knob.check(s)
    )


def tidy(knob: Knob, value: float) -> float:
    """A slider's number as a person would write it: four digits, as long as they are legal."""
    if knob.kind is not float:
        return value
    short = float(f"{value:.4g}")
    return value if knob.check(short) else short
