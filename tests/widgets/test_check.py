"""An exercise's verdict says exact, close, or how far off and where."""

import numpy as np
import pytest
import torch

from lab.widgets import check


@pytest.mark.parametrize(
    "mine, expected, right, words",
    [
        (0.5, 0.5, True, "Exact"),
        (0.5 + 1e-9, 0.5, True, "Close"),
        ([1.0, 2.0, 3.5], [1, 2, 3], False, "1 of 3 differ, worst at [2] by 0.5 (yours 3.5, expected 3)"),
        (torch.ones(2, 2), np.ones((2, 2)), True, "Exact"),
        ([1, 2], [1, 2, 3], False, "shape should be [3], yours is [2]"),
        (..., 1.0, False, "replace the ..."),
        (None, 1.0, False, "replace the ..."),
        ([1.0, float("nan")], [1.0, 2.0], False, "NaN or infinite at [1]"),
        ("one", 1.0, False, "needs numbers"),
        (1e-9, 0.0, True, "Close"),
        (1e-3, 0.0, False, "Not yet"),
        (0.7, 0.5, False, "worst by 0.2"),
    ],
)
def test_verdicts(mine, expected, right, words):
    verdict = check(mine, expected)
    assert bool(verdict) is right
    assert words in repr(verdict)
    assert ("✓" if right else "✗") in verdict._repr_html_()


def test_tolerance_is_relative_to_the_largest():
    assert check([1000.001, 0.0], [1000.0, 0.0], tolerance=1e-5)
    assert not check([1000.1, 0.0], [1000.0, 0.0], tolerance=1e-5)


def test_a_tensor_with_a_graph_is_fine():
    x = torch.tensor([2.0], requires_grad=True)
    assert check(x * 3, [6.0])
