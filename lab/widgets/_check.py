"""Checking an exercise: exact, close, or where it is too large or too small; the answer itself stays untold.

A function that a reader built is checked by value and by slope, and a known mistake is called by its name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import torch

from lab.core.style import BLUE, GREY, RIGHT, VERMILLION, WRONG

OPEN = "○"
CLOSE = 1e-6
"""Relative difference up to which two computations in floating point count as the same."""

Built = Callable[..., Any]


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


def built(
    mine: Built, right: Built, cases: Sequence[Sequence[Any]], wrong: Mapping[str, Built] | None = None,
    slope: bool = True,
) -> Verdict:  # fmt: skip
    """Compare a function with the one that it should be, on several cases.

    Args:
        mine: the reader's; one that returns `...` has not been written yet.
        right: gives what should come out.
        cases: the arguments of each call. The slope is taken by the first one, which is a tensor.
        wrong: sentence to a function that makes the mistake of which the sentence tells.
        slope: whether the slopes are compared, too; a metric that counts has none.
    """
    try:
        if mine(*cases[0]) is Ellipsis:
            return check(..., 0)
        ours = [_outcome(mine, case, slope) for case in cases]
    except Exception as error:  # whatever a reader may write
        return Verdict(False, f"Yours stops with {type(error).__name__}: {error}")
    true = [_outcome(right, case, slope) for case in cases]
    values, slopes = _alike(ours, true, 0), _alike(ours, true, 1)
    if values and slopes:
        return Verdict(True, f"Exact: {'value and slope agree' if slope else 'values agree'} in {len(cases)} cases.")
    for sentence, mistake in (wrong or {}).items():
        theirs = [_outcome(mistake, case, slope) for case in cases]
        if _alike(ours, theirs, 0) and _alike(ours, theirs, 1):
            return Verdict(False, sentence)
    if values:
        flat = all(not one.any() for _, one in ours)
        told = (
            "it is zero everywhere, so nothing can be learnt from it" if flat else "it is not the slope of this value"
        )
        return Verdict(False, f"The values are right, and the slope is wrong: {told}.")
    given = np.concatenate([value.ravel() for value, _ in ours])
    if given.size > 1 and len(np.unique(given)) == 1:
        return Verdict(False, "Yours gives the same whatever it is given: a constant.")
    found = (check(a, b) for (a, _), (b, _) in zip(ours, true, strict=True))
    return next(verdict for verdict in found if not verdict)


def _outcome(function: Built, case: Sequence[Any], slope: bool) -> tuple[np.ndarray, np.ndarray]:
    """Value, and its slope by the first argument: zeros where no gradient leads back to it."""
    first = case[0].detach().clone().requires_grad_(slope)
    value = torch.as_tensor(function(first, *case[1:]), dtype=torch.float64)
    by_first = torch.zeros_like(first)
    if slope and value.requires_grad:
        by_first = torch.autograd.grad(value.sum(), first, allow_unused=True)[0]
        by_first = torch.zeros_like(first) if by_first is None else by_first
    return value.detach().numpy(), by_first.detach().numpy()


def _alike(ours: list[tuple[np.ndarray, np.ndarray]], theirs: list[tuple[np.ndarray, np.ndarray]], part: int) -> bool:
    """Whether all values (part 0) or all slopes (1) agree as far as rounding allows."""
    pairs = [(a[part], b[part]) for a, b in zip(ours, theirs, strict=True)]
    return all(a.shape == b.shape and np.allclose(a, b, rtol=CLOSE, atol=1e-9) for a, b in pairs)
