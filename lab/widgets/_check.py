"""Check the answer to an exercise: exact, close, or where it is too large or too small, without revealing the answer.

A function that a reader wrote is checked by value and by slope, and known mistakes are explained.
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
    """The result of `check`: true in a condition if the answer is right, and a sentence when displayed."""

    right: bool
    sentence: str
    begun: bool = True

    def __bool__(self) -> bool:
        return self.right

    @property
    def _sign_and_colour(self) -> tuple[str, str]:
        if not self.begun:
            return OPEN, GREY
        if self.right:
            return RIGHT, BLUE
        return WRONG, VERMILLION

    def __repr__(self) -> str:
        sign, _ = self._sign_and_colour
        return f"{sign} {self.sentence}"

    def _repr_html_(self) -> str:
        _, colour = self._sign_and_colour
        return f"<p style='color:{colour}'><b>{escape(repr(self))}</b></p>"


def check(mine: Any, expected: Any, tolerance: float = CLOSE) -> Verdict:
    """Compare an answer with the expected value.

    Args:
        mine: the answer: a number, a sequence, an array or a tensor; or `...` if there is none yet.
        expected: the same, for instance autograd's gradient or a plain loop's value.
        tolerance: relative to the largest expected magnitude, or absolute if all expected values are zero.
    """
    if mine is Ellipsis or mine is None:
        return Verdict(False, "Nothing to check yet: replace the ... by your answer.", begun=False)
    try:
        answer = _as_numbers(mine)
        expected = _as_numbers(expected)
    except (TypeError, ValueError):
        return Verdict(False, f"This needs numbers, got {type(mine).__name__}.")
    if answer.shape != expected.shape:
        return Verdict(
            False, f"The shape should be {list(expected.shape)}, yours is {list(answer.shape)}."
        )
    if np.array_equal(answer, expected):
        return Verdict(True, "Exact.")
    if not np.isfinite(answer).all():
        first = np.unravel_index(np.isfinite(answer).argmin(), answer.shape)
        return Verdict(False, f"Yours is NaN or infinite{_position(first)}.")

    difference = np.abs(answer - expected)
    worst = np.unravel_index(difference.argmax(), difference.shape)
    scale = np.abs(expected).max() or 1.0
    if difference[worst] <= tolerance * scale:
        return Verdict(True, f"Close: the worst difference is {difference[worst]:.2g}.")

    wrong = difference > tolerance * scale
    count = ""
    if wrong.size > 1:
        count = f"{wrong.sum()} of {wrong.size} differ; worst is {_position(worst).strip()}: "
    direction = "too large" if answer[worst] > expected[worst] else "too small"
    return Verdict(False, f"Not yet: {count}yours, {answer[worst]:.6g}, is {direction}.")


def _as_numbers(values: Any) -> np.ndarray:
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    return np.asarray(values, dtype=np.float64)


def _position(index: tuple) -> str:
    """Return an index as text, such as ` at [0, 2]`; "" for a single number."""
    if not index:
        return ""
    numbers = ", ".join(str(int(i)) for i in index)
    return f" at [{numbers}]"


def built(
    mine: Built,
    right: Built,
    cases: Sequence[Sequence[Any]],
    wrong: Mapping[str, Built] | None = None,
    slope: bool = True,
) -> Verdict:
    """Compare a function with the correct function on several cases.

    Args:
        mine: the reader's function; if it returns `...`, it has not been written yet.
        right: the correct function.
        cases: the arguments of each call. The slope is taken with respect to the first, which is a tensor.
        wrong: functions that make a typical mistake, by the sentence that explains the mistake.
        slope: whether the slopes are compared, too; a metric that counts has no slope.
    """
    try:
        if mine(*cases[0]) is Ellipsis:
            return check(..., 0)
        answers = [_evaluate(mine, case, slope) for case in cases]
    except Exception as error:  # a reader's code may raise anything
        return Verdict(False, f"Yours stops with {type(error).__name__}: {error}")

    expected = [_evaluate(right, case, slope) for case in cases]
    values_agree = _agree([value for value, _ in answers], [value for value, _ in expected])
    slopes_agree = _agree([slopes for _, slopes in answers], [slopes for _, slopes in expected])
    if values_agree and slopes_agree:
        agreement = "value and slope agree" if slope else "values agree"
        return Verdict(True, f"Exact: {agreement} in {len(cases)} cases.")

    for sentence, mistake in (wrong or {}).items():
        mistaken = [_evaluate(mistake, case, slope) for case in cases]
        same_values = _agree([value for value, _ in answers], [value for value, _ in mistaken])
        if same_values and _agree(
            [slopes for _, slopes in answers], [slopes for _, slopes in mistaken]
        ):
            return Verdict(False, sentence)

    if values_agree:
        if all(not slopes.any() for _, slopes in answers):
            reason = "it is zero everywhere, so nothing can be learnt from it"
        else:
            reason = "it is not the slope of this value"
        return Verdict(False, f"The values are right, and the slope is wrong: {reason}.")

    all_values = np.concatenate([value.ravel() for value, _ in answers])
    if all_values.size > 1 and len(np.unique(all_values)) == 1:
        return Verdict(False, "Yours gives the same whatever it is given: a constant.")
    verdicts = (
        check(answer[0], solution[0]) for answer, solution in zip(answers, expected, strict=True)
    )
    return next(verdict for verdict in verdicts if not verdict)


def _evaluate(function: Built, case: Sequence[Any], slope: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the value, and its gradient with respect to the first argument: zeros if there is no gradient path."""
    first = case[0].detach().clone().requires_grad_(slope)
    value = torch.as_tensor(function(first, *case[1:]), dtype=torch.float64)
    gradient = None
    if slope and value.requires_grad:
        (gradient,) = torch.autograd.grad(value.sum(), first, allow_unused=True)
    if gradient is None:
        gradient = torch.zeros_like(first)
    return value.detach().numpy(), gradient.detach().numpy()


def _agree(answers: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> bool:
    """Whether all arrays are equal up to rounding."""
    for answer, solution in zip(answers, expected, strict=True):
        if answer.shape != solution.shape or not np.allclose(
            answer, solution, rtol=CLOSE, atol=1e-9
        ):
            return False
    return True
