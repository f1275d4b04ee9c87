"""The benchmark's own parts; that every section runs is held by its quick sizes."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from lab import bench, losses
from lab.bench import _naive
from lab.bench._measure import Row
from lab.bench.losses import batch, exponent
from lab.surrogates import Sigmoid

ROWS = [Row("losses", "a", "n=4", 0.5, "x", "bare step", 0.75), Row("search", "b", "n=5", 3.0, "us")]


def test_the_naive_loss_is_the_loss():
    rows, labels = batch(24, 8, 4, "half-trained")
    naive = _naive.smooth_ap(rows.double(), labels, Sigmoid(0.01))
    torch.testing.assert_close(naive, losses.create("smooth_ap", include_self=False)(rows.double(), labels))


def test_exponents_are_those_of_a_power():
    sizes = (256, 512, 2048)
    assert exponent(sizes, [3 * n**2.0 for n in sizes]) == pytest.approx(2)


def test_table_and_json_hold_every_row():
    about = {"cores": 2}
    table = bench.as_table(ROWS, about)
    assert "cores 2." in table and "## Losses" in table and "| a | n=4 | 0.5 x | bare step | 0.75 x |" in table
    read = json.loads(bench.as_json(ROWS, about))
    assert [Row(**row) for row in read["rows"]] == ROWS and read["machine"] == about


def test_the_plot_shows_ratios_and_goals():
    dots, goals = bench.plot(ROWS).data
    assert list(dots.x) == [0.5] and list(goals.x) == [0.75]


def test_an_unknown_section_is_refused():
    with pytest.raises(ValueError, match="losses, metrics, search"):
        list(bench.measure(("lossses",)))


def test_losses_run_at_quick_sizes():
    rows = list(bench.measure(("losses",), quick=True))
    assert {row.unit for row in rows} == {"s", "x", "power", "MB"}
    assert all(np.isfinite(row.value) for row in rows) and all(row.value > 0 for row in rows if row.unit in ("s", "x"))
