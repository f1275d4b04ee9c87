"""Means and their intervals, against scipy's and by hand."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from lab.core.estimates import Estimate, deviation, paired
from lab.core.formats import finite


def test_an_interval_is_students():
    values = [0.61, 0.64, 0.59, 0.66, 0.62]
    found = Estimate.of(values)
    low, high = stats.t.interval(0.95, 4, loc=np.mean(values), scale=stats.sem(values))
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-12)
    assert found.deviation == pytest.approx(np.std(values, ddof=1)) and found.count == 5
    assert found.half == pytest.approx(high - np.mean(values))
    assert Estimate.of(values, level=0.5).half < found.half < Estimate.of(values, level=0.99).half


def test_two_measurements_by_hand():
    """Mean 2, deviation sqrt 2, t of one degree of freedom 12.7062: half the width is 12.7062."""
    assert Estimate.of([1, 3]).half == pytest.approx(12.7062, abs=1e-4)
    assert str(Estimate.of([0.25])) == "0.2500" and Estimate.of([0.25]).half is None
    assert str(Estimate.of([0.5, 0.5])) == "0.5000 ± 0.0000"


def test_a_deviation_is_the_sample_one_along_any_axis():
    values = np.array([[1.0, 3.0], [2.0, 2.0], [5.0, 8.0]])
    assert deviation(values).tolist() == pytest.approx(
        [Estimate.of(row).deviation for row in values]
    )
    assert deviation(values, axis=0).tolist() == pytest.approx(
        np.std(values, axis=0, ddof=1).tolist()
    )
    assert deviation([0.3]) == 0


def test_gains_are_taken_seed_by_seed():
    before, after = Estimate.of([0.1, 0.5, 0.9]), Estimate.of([0.2, 0.6, 1.0])
    assert paired(after, before).mean == pytest.approx(0.1) and paired(
        after, before
    ).half == pytest.approx(0, abs=1e-12)
    with pytest.raises(ValueError, match="3 and 2 measurements"):
        paired(after, Estimate.of([1, 2]))


def test_an_estimate_survives_json_also_without_a_number():
    for values in ([0.1, 0.2], [0.3]):
        assert Estimate.read(json.loads(json.dumps(Estimate.of(values).as_dict()))) == Estimate.of(
            values
        )
    stored = {"mean": None, "deviation": None, "low": None, "high": None, "values": [None]}
    assert math.isnan(Estimate.read(stored).mean) and math.isnan(Estimate.read(stored).values[0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("values", "mean"),
    [
        ([1, math.inf, 2, 3], math.inf),
        ([1, 2, -math.inf, 3], -math.inf),
        ([math.inf, 1, -math.inf, 2], math.nan),
    ],
)
def test_infinite_values_have_no_interval(values, mean):
    """Infinity less infinity is NaN, so no interval follows, and NumPy does not warn."""
    estimate = Estimate.of(values)
    assert estimate.mean == pytest.approx(mean, nan_ok=True) and math.isnan(estimate.low)
    assert Estimate.read(json.loads(json.dumps(finite(estimate.as_dict())))).deviation is None
