"""What is said of a function that a reader built."""

import pytest
import torch

from lab.widgets import built

CASES = [(torch.tensor([0.5, -1.0], dtype=torch.float64),), (torch.tensor([2.0, 3.0], dtype=torch.float64),)]


@pytest.mark.parametrize(
    ("mine", "says"),
    [
        (lambda x: x @ x, "✓ Exact: value and slope agree in 2 cases."),
        (lambda x: (x.detach() ** 2).sum(), "✗ The values are right, and the slope is wrong: it is zero everywhere"),
        (lambda x: (x.detach() * x).sum(), "✗ The values are right, and the slope is wrong: it is not the slope"),
        (lambda x: x[0] + x[1], "✗ You forgot to square."),
        (lambda x: x.sum() * 0 + 5, "✗ Yours gives the same whatever it is given: a constant."),
        (lambda x: 2 * x @ x, "✗ Not yet: yours, 2.5, is too large."),
        (lambda x: x**2, "✗ The shape should be [], yours is [2]."),
        (lambda x: ..., "○ Nothing to check yet"),
        (lambda x: x.nonsense, "✗ Yours stops with AttributeError"),
        (lambda x: "five", "✗ Yours stops with TypeError"),
    ],
)
def test_verdicts(mine, says):
    verdict = built(mine, lambda x: (x**2).sum(), CASES, {"You forgot to square.": torch.sum})
    assert repr(verdict).startswith(says) and bool(verdict) is (says[0] == "✓")


def test_a_metric_has_no_slope():
    assert built(lambda x: (x.detach() ** 2).sum(), lambda x: x @ x, CASES, slope=False)
