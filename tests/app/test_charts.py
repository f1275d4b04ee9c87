"""The dashboard's own figures."""

from __future__ import annotations

import pytest

from app.shared import charts


@pytest.mark.parametrize(("high", "step"), [(50.0, "D2"), (1e5, 1), (1e17, 3)])
def test_a_logarithmic_axis_has_marks_that_can_be_read(high, step):
    drawn = charts.curves({"gradient norm": ([1, 2, 3, 4], [1.0, None, 0.0, high])}, "gradient norm", log=True)
    assert drawn.layout.yaxis.dtick == step


def test_a_single_point_stands_on_axes_from_zero():
    """Else the axes would go half a step, and below zero, around it."""
    one = charts.curves({"r@1": ([120], [0.3]), "r@2": ([120], [0.4])}, "validation").layout
    assert one.xaxis.rangemode == one.yaxis.rangemode == "tozero"
    two = charts.curves({"r@1": ([60, 120], [0.3, 0.4])}, "validation").layout
    assert two.xaxis.rangemode is None and two.yaxis.rangemode is None
