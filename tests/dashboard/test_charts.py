"""The dashboard's own figures."""

from __future__ import annotations

import pytest

from lab.dashboard.shared import charts


@pytest.mark.parametrize(("high", "step"), [(50.0, "D2"), (1e5, 1), (1e17, 3)])
def test_a_logarithmic_axis_has_marks_that_can_be_read(high, step):
    drawn = charts.curves({"gradient norm": ([1, 2, 3, 4], [1.0, None, 0.0, high])}, "gradient norm", log=True)
    assert drawn.layout.yaxis.dtick == step
