"""An exercise's verdict says exact, close, or how far off and where."""

import numpy as np
import pytest
import torch

from lab.widgets import built, check


@pytest.mark.parametrize(
    "mine, expected, right, words",
    [
        (0.5, 0.5, True, "Exact"),
        (0.5 + 1e-9, 0.5, True, "Close"),
        (
            [1.0, 2.0, 3.5],
            [1, 2, 3],
            False,
            "1 of 3 differ; worst is at [2]: yours, 3.5, is too large",
        ),
        (torch.ones(2, 2), np.ones((2, 2)), True, "Exact"),
        ([1, 2], [1, 2, 3], False, "shape should be [3], yours is [2]"),
        (..., 1.0, False, "replace the ..."),
        (None, 1.0, False, "replace the ..."),
        ([1.0, float("nan")], [1.0, 2.0], False, "NaN or infinite at [1]"),
        ("one", 1.0, False, "needs numbers"),
        (1e-9, 0.0, True, "Close"),
        (1e-3, 0.0, False, "Not yet"),
        (0.7, 0.5, False, "yours, 0.7, is too large"),
        (0.4, 0.5, False, "is too small"),
    ],
)
def test_verdicts(mine, expected, right, words):
    verdict = check(mine, expected)
    assert bool(verdict) is right
    assert words in repr(verdict)
    sign = "✓" if right else "✗" if verdict.begun else "○"
    assert sign in verdict._repr_html_()


def test_a_wrong_answer_does_not_tell_the_right_one():
    assert "0.123" not in repr(check(0.5, 0.123)) and "0.377" not in repr(check(0.5, 0.123))


def test_tolerance_is_relative_to_the_largest():
    assert check([1000.001, 0.0], [1000.0, 0.0], tolerance=1e-5)
    assert not check([1000.1, 0.0], [1000.0, 0.0], tolerance=1e-5)


@pytest.mark.parametrize(
    ("mine", "says"),
    [
        (lambda x: x @ x, "✓ Exact: value and slope agree in 1 cases."),
        (
            lambda x: x.detach() @ x.detach(),
            "✗ The values are right, and the slope is wrong: it is zero everywhere",
        ),
        (
            lambda x: x.detach() @ x,
            "✗ The values are right, and the slope is wrong: it is not the slope",
        ),
        (lambda x: 2 * x @ x, "✗ Not yet: yours, 2.5, is too large."),
        (lambda x: x.nonsense, "✗ Yours stops with AttributeError"),
    ],
)
def test_a_function_is_right_in_value_and_slope(mine, says):
    """What else is said of one, tests/notebooks hear from each check of the lessons."""
    assert repr(built(mine, lambda x: (x**2).sum(), [(torch.tensor([0.5, -1.0]),)])).startswith(
        says
    )
