"""What is said of a function that a reader built."""

import torch

from lab.widgets import built

CASES = [(torch.tensor([0.5, -1.0], dtype=torch.float64),), (torch.tensor([2.0, 3.0], dtype=torch.float64),)]


def right(x):
    return (x**2).sum()


def said(mine, **knobs):
    verdict = built(mine, right, CASES, {"You forgot to square.": lambda x: x.sum()}, **knobs)
    return bool(verdict), repr(verdict)


def test_value_and_slope_have_to_agree():
    assert said(lambda x: x @ x) == (True, "✓ Exact: value and slope agree in 2 cases.")
    assert said(lambda x: (x.detach() ** 2).sum(), slope=False) == (True, "✓ Exact: values agree in 2 cases.")
    assert "it is zero everywhere" in said(lambda x: (x.detach() ** 2).sum())[1]
    assert "not the slope of this value" in said(lambda x: (x.detach() * x).sum())[1]


def test_a_known_mistake_is_called_by_its_name():
    assert said(lambda x: x[0] + x[1]) == (False, "✗ You forgot to square.")
    assert "a constant" in said(lambda x: x.sum() * 0 + 5)[1]
    assert "too large" in said(lambda x: 2 * x @ x)[1] and "shape" in said(lambda x: x**2)[1]


def test_what_is_not_written_yet_or_stops_is_no_answer():
    assert said(lambda x: ...)[1].startswith("○ Nothing to check yet")
    assert said(lambda x: x.nonsense)[1].startswith("✗ Yours stops with AttributeError")
    assert said(lambda x: "five")[1].startswith("✗ Yours stops with TypeError")
