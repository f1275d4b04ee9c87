"""Checking an exercise: exact, close, or where it is too large or too small; the answer itself stays untold."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from lab.core.style import BLUE, GREY, RIGHT, VERMILLION, WRONG

OPEN = "○"
CLOSE = 1e-6
"""Relative difference up to which two computations in floating point count as the same."""


@dataclass(frozen=True)
class Verdict:
    """What `check` found. True in a condition when the answer is right; reads as a sentence."""

    right: bool
    sentence: str
    begun: bool = True

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return f"{(RIGHT if self.right else WRONG) if self.begun else OPEN} {self.sentence}"

    def _repr_html_(self) -> str:
        colour = (BLUE if self.right else VERMILLION) if self.begun else GREY
        return f"<p style='color:{colour}'><b>{escape(repr(self))}</b></p>"


def check(mine: Any, expected: Any, tolerance: float = CLOSE) -> Verdict:
    """Compare an answer with what it should be.

    Args:
        mine: a number, a sequence, an array or a tensor; or `...` where nothing has been filled in yet.
        expected: the same, for instance autograd's gradient or a plain loop's value.
        tolerance: relative to the largest expected magnitude, or absolute where all of that is zero.
    """
    if mine is Ellipsis or mine is None:
        return Verdict(False, "Nothing to check yet: replace the ... by your answer.", begun=False)
    try:
        mine, expected = (
            np.asarray(side.detach().cpu() if hasattr(side, "detach") else side, dtype=np.float64)
            for side in (mine, expected)
        )
    except (TypeError, ValueError):
        return Verdict(False, f"This needs numbers, got {type(mine).__name__}.")
    if mine.shape != expected.shape:
        return Verdict(False, f"The shape should be {list(expected.shape)}, yours is {list(mine.shape)}.")
    if np.array_equal(mine, expected):
        return Verdict(True, "Exact.")
    if not np.isfinite(mine).all():
        first = np.unravel_index(np.isfinite(mine).argmin(), mine.shape)
        return Verdict(False, f"Yours is NaN or infinite{_at(first)}.")
    difference = np.abs(mine - expected)
    worst = np.unravel_index(difference.argmax(), difference.shape)
    scale = np.abs(expected).max() or 1.0
    if difference[worst] <= tolerance * scale:
        return Verdict(True, f"Close: the worst difference is {difference[worst]:.2g}.")
    off = difference > tolerance * scale
    count = f"{off.sum()} of {off.size} differ; worst is {_at(worst).strip()}: " if off.size > 1 else ""
    way = "too large" if mine[worst] > expected[worst] else "too small"
    return Verdict(False, f"Not yet: {count}yours, {mine[worst]:.6g}, is {way}.")


def _at(index: tuple) -> str:
    return f" at [{', '.join(str(int(i)) for i in index)}]" if index else ""
