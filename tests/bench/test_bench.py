"""The benchmark's own parts; that every section runs is held by its quick sizes."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
import torch

from lab import bench, losses
from lab.bench import losses as measured
from lab.bench._measure import BenchRow, Medians, exponent, medians
from lab.bench._memory import extra_megabytes
from lab.bench.losses import batch
from lab.surrogates import Sigmoid

ROWS = [BenchRow("losses", "a", "n=4", 0.5, "x", "bare step", 0.75), BenchRow("search", "b", "n=5", 3.0, "us")]


def test_the_naive_loss_is_the_loss():
    rows, labels = batch(24, 8, 4, "half-trained")
    naive = measured.naive_smooth_ap(rows.double(), labels, Sigmoid(0.01))
    torch.testing.assert_close(naive, losses.create("smooth_ap", include_self=False)(rows.double(), labels))


def test_exponents_are_those_of_a_power():
    sizes = (256, 512, 2048)
    assert exponent(sizes, [3 * n**2.0 for n in sizes]) == pytest.approx(2)


def test_table_and_json_hold_every_row():
    about = {"cores": 2}
    table = bench.as_table(ROWS, about)
    assert "cores 2." in table and "## Losses" in table and "| a | n=4 | 0.5 x | bare step | 0.75 x |" in table
    read = json.loads(bench.as_json(ROWS, about))
    assert [BenchRow(**row) for row in read["rows"]] == ROWS and read["machine"] == about


def test_the_plot_shows_ratios_goals_and_growth():
    dots, goals = bench.plot(ROWS).data
    assert list(dots.x) == [0.5] and list(goals.x) == [0.75]
    sizes = {8: 2.0, 16: 8.0}
    bare_step = "quickest bare step"
    rows = [BenchRow("losses", bare_step, f"n={n} untrained", seconds, "s", n=n) for n, seconds in sizes.items()]
    rows += [BenchRow("losses", "a", f"n={n} untrained", 0.5, "x", bare_step, n=n) for n in sizes]
    *_, bare, a = bench.plot(rows).data
    assert list(bare.x) == [8, 16] and list(bare.y) == [2, 8] and list(a.y) == [1, 4]


def test_an_unknown_section_is_refused():
    with pytest.raises(ValueError, match="interaction, large_batches, losses, maps, metrics, pages, search"):
        list(bench.measure(("lossses",)))


def test_losses_run_at_quick_sizes(monkeypatch):
    # A process each is tried below; here the works whose memory is asked for are done in this one.
    monkeypatch.setattr("lab.bench.losses.extra_megabytes", lambda prepare, **sizes: (prepare(**sizes)(), 1.0)[1])
    rows = list(bench.measure(("losses",), quick=True))
    assert {row.unit for row in rows} == {"s", "x", "power", "MB"}
    assert all(np.isfinite(row.value) for row in rows) and all(row.value > 0 for row in rows if row.unit in ("s", "x"))
    at_256 = {row.name: row for row in rows if row.setting == "n=256 d=64 m=4 untrained"}
    bare = {name: row.value for name, row in at_256.items() if name.startswith("bare step by ")}
    assert "bare step by torch" in bare and at_256["quickest bare step"].value == min(bare.values())
    assert at_256["recall_at_k"].against == "quickest bare step"


def test_every_product_of_this_machine_is_the_bare_step(monkeypatch):
    monkeypatch.setattr(measured, "AT_ONCE", 30)
    rows = torch.randn(40, 16)
    expected = (rows @ rows.T) @ rows
    for product in measured.PRODUCTS:
        for gradient in measured.bare_step(rows, product):
            torch.testing.assert_close(torch.cat(gradient), expected, rtol=1e-4, atol=1e-4)


def test_a_ratio_spreads_less_than_the_times_that_a_busy_machine_moves_together():
    taken = Medians({"loss": [1.0, 2.0, 3.0], "bare": [2.0, 4.0, 6.0]})
    assert taken["loss"] == 2 and taken.spread("loss") == 0.5 and taken.spread("loss", "bare") == 0
    assert taken.row("loss", "losses", "a", "n=4", "bare", goal=2) == BenchRow(
        "losses", "a", "n=4", 0.5, "x", "bare", 2, None, 0.0
    )
    assert Medians({"loss": [1.0]}).spread("loss") is None


def test_a_round_warms_up_and_a_long_work_is_run_once_more():
    seconds = {"short": [0.09, 0.05, 0.06, 0.07], "long": [12.0, 10.0], "base": [1.0] * 4}
    now, turns = [0.0], []

    def work(name):
        turns.append(name)
        now[0] += seconds[name].pop(0)

    works = {name: (lambda name=name: work(name)) for name in seconds}
    taken = medians(works, 3, lambda: now[0], ["base"])
    assert {name: round(value, 6) for name, value in taken.items()} == {"short": 0.06, "long": 10.0, "base": 1.0}
    assert not any(seconds.values())  # nothing was run more or less often
    assert turns == ["base", "short", "long"] * 2 + ["base", "short"] * 2
    assert taken.spread("long") is None and taken.spread("short", "base") == pytest.approx(0.01 / 0.06)


def test_large_batches_run_at_quick_sizes(monkeypatch):
    # A process each is tried below; here the three works are done in this one.
    works = []
    measured = lambda prepare, **sizes: works.append(prepare(**sizes)()) or 1.0  # noqa: E731
    monkeypatch.setattr("lab.bench.large_batches.extra_megabytes", measured)
    rows = list(bench.measure(("large_batches",), quick=True))
    ratios = {row.name: row for row in rows if row.unit == "x"}
    assert {name: row.goal for name, row in ratios.items()} == {
        "two passes, all kept": 1.03,
        "two passes, half kept": 1.19,
        "two passes, a quarter kept": 1.27,
        "two passes, none kept": 1.34,
    }
    assert all(row.value > 0 for row in ratios.values())
    peaks = {row.name: row.value for row in rows if row.unit == "MB"}
    assert len(peaks) == 3 == len(works)
    for one in works[1:]:  # the three ways are one step
        torch.testing.assert_close(one.embeddings, works[0].embeddings, atol=1e-4, rtol=0)


def test_interaction_runs_at_quick_sizes():
    rows = {row.name: row for row in bench.measure(("interaction",), quick=True)}
    assert all(row.value > 0 and row.unit == "s" and row.goal for row in rows.values())
    assert rows["lab --help"].goal == 0.5 and rows["a batch of images"].setting == "8 of 32 px"
    assert rows["a figure is drawn"].setting.endswith("the slowest of 2")
    assert {"import lab", "a slider in a notebook moves its figure", "every pair inspected, sup_ap"} <= rows.keys()


def test_pages_run_at_quick_sizes():
    rows = {row.name: row for row in bench.measure(("pages",), quick=True)}
    about = {"browse", "inspect", "map", "figures", "browse, 2,000 images", "runs, 20 runs", "watch, 20 runs"}
    assert rows.keys() == {f"{page}, {what}" for page in about for what in ("first view", "a click")}
    assert all(row.value > 0 and row.goal == (0.3 if "click" in row.name else 2) for row in rows.values())


def test_memory_is_what_the_work_takes_and_failures_are_told():
    for megabytes in (64, 32, 64):  # what one work held stays out of the next
        assert extra_megabytes(prepared_block, megabytes=megabytes) == pytest.approx(megabytes, abs=4)
    with pytest.raises(RuntimeError, match=r"prepared_block\(.*0.*\) failed: index 0 is out of bounds"):
        extra_megabytes(prepared_block, megabytes=0)
    with pytest.raises(RuntimeError, match="terminated abruptly"):
        extra_megabytes(killed_at_work)


def killed_at_work():
    os.kill(os.getpid(), signal.SIGKILL)


def prepared_block(megabytes):
    first = np.ones(20_000_000)  # stands before the work and does not count
    return lambda: (first, np.ones(megabytes * 125_000))[1][0]


def test_losses_are_held_to_the_goals_that_the_page_states_and_no_others():
    page = (Path(__file__).parents[2] / "docs" / "benchmarks.md").read_text()
    rows = [line.split("|")[1:-1] for line in page.partition("### Losses")[2].partition("### Memory")[0].splitlines()
            if line.startswith("| ")]  # fmt: skip
    stated = {cells[0].strip(): [cell.strip() for cell in cells[-2:]] for cells in rows[2:]}
    names = {"recall_at_k with simix": "recall_at_k with SiMix (of the originals' bare step)"}
    for name in (*measured.cases(), measured.PLAIN):
        words = stated.get(names.get(name, name), ["", ""])  # the page tells of those that have a goal, and some others
        for n, goals in zip((1024, 4096), words, strict=True):
            expected = [float(part) for part in goals.split(" / ") if part] or [None]
            assert [measured.goal_of(name, kind, n) for kind in measured.NOISE] == (expected * 2)[:2], (name, n)
