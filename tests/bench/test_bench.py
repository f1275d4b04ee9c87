"""The benchmark's own parts; that every section runs is held by its quick sizes."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from lab import losses
from lab.doctor import bench
from lab.doctor.bench import losses as measured
from lab.doctor.bench._measure import BenchRow
from lab.doctor.bench.losses import batch
from lab.surrogates import Sigmoid

ROWS = [
    BenchRow("losses", "a", "n=4", 0.5, "x", "bare step"),
    BenchRow("search", "b", "n=5", 3.0, "us"),
]


def test_the_naive_loss_is_the_loss():
    rows, labels = batch(24, 8, 4, "half-trained")
    naive = measured.naive_smooth_ap(rows.double(), labels, Sigmoid(0.01))
    torch.testing.assert_close(
        naive, losses.create("smooth_ap", include_self=False)(rows.double(), labels)
    )


def test_table_and_json_hold_every_row():
    about = {"cores": 2}
    table = bench.as_table(ROWS, about)
    assert (
        "cores 2." in table and "## Losses" in table and "| a | n=4 | 0.5 x | bare step |" in table
    )
    read = json.loads(bench.as_json(ROWS, about))
    assert [BenchRow(**row) for row in read["rows"]] == ROWS and read["machine"] == about


def test_an_unknown_section_is_refused():
    with pytest.raises(ValueError, match="label_errors, large_batches, layers, losses"):
        list(bench.measure(("lossses",)))


def test_losses_run_at_quick_sizes(monkeypatch):
    # A process each is tried below; here the works whose memory is asked for are done in this one.
    monkeypatch.setattr(
        "lab.doctor.bench.losses.extra_megabytes",
        lambda prepare, **sizes: (prepare(**sizes)(), 1.0)[1],
    )
    rows = list(bench.measure(("losses",), quick=True))
    assert {row.unit for row in rows} == {"s", "x", "MB"}
    assert all(np.isfinite(row.value) for row in rows) and all(
        row.value > 0 for row in rows if row.unit in ("s", "x")
    )
    at_256 = {row.name: row for row in rows if row.setting == "n=256 d=64 m=4 untrained"}
    bare = {name: row.value for name, row in at_256.items() if name.startswith("bare step by ")}
    assert "bare step by torch" in bare and at_256["recall_at_k"].against == min(
        bare, key=bare.__getitem__
    )


def test_every_product_of_this_machine_is_the_bare_step(monkeypatch):
    monkeypatch.setattr(measured, "AT_ONCE", 30)
    rows = torch.randn(40, 16)
    expected = (rows @ rows.T) @ rows
    for product in measured.PRODUCTS:
        for gradient in measured.bare_step(rows, product):
            torch.testing.assert_close(torch.cat(gradient), expected, rtol=1e-4, atol=1e-4)


def test_large_batches_run_at_quick_sizes(monkeypatch):
    # A process each is tried below; here the three works are done in this one.
    works = []
    measured = lambda prepare, **sizes: works.append(prepare(**sizes)()) or 1.0  # noqa: E731
    monkeypatch.setattr("lab.doctor.bench.large_batches.extra_megabytes", measured)
    rows = list(bench.measure(("large_batches",), quick=True))
    ratios = {row.name: row.value for row in rows if row.unit == "x"}
    assert list(ratios) == [
        f"two passes, {kept} kept" for kept in ("all", "half", "a quarter", "none")
    ]
    assert all(value > 0 for value in ratios.values())
    peaks = {row.name: row.value for row in rows if row.unit == "MB"}
    assert len(peaks) == 3 == len(works)
    for one in works[1:]:  # the three ways are one step
        torch.testing.assert_close(one.embeddings, works[0].embeddings, atol=1e-4, rtol=0)


TRIED_ABOVE = ("losses", "large_batches")
"""Sections that start a process for each figure of memory; above, one process does all of the work."""


@pytest.mark.parametrize("section", [name for name in bench.sections() if name not in TRIED_ABOVE])
def test_a_section_runs_at_quick_size(section):
    rows = list(bench.measure((section,), quick=True))
    assert rows and {row.section for row in rows} == {section}
    assert all(np.isfinite(row.value) for row in rows), [
        row for row in rows if not np.isfinite(row.value)
    ]


def test_every_section_has_a_quick_size():
    assert set(bench.QUICK) == set(bench.sections())
