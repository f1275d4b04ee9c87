"""What is wrong with a run, on Watch and on Runs, from records alone."""

from __future__ import annotations

import pytest

import lab.runs
from lab.runs.writer import Writer

STEEP = {"out_of_reach": 0.9, "behind": 0.8, "woken": 0.0}


def record(run, *changes: dict) -> None:
    with Writer(run) as writer:
        for at, values in enumerate(changes):
            writer.append({"kind": "checkup", "step": 4**at, "about": "batch", "values": values})


@pytest.mark.parametrize(
    ("page", "address"), [("watch", {"watched": "live"}), ("runs", {"runs": "live"})]
)
def test_the_cause_stands_on_the_page_with_its_place_and_its_knob(
    page, address, no_runs, open_page
):
    config = lab.runs.RunConfig.of({"loss": {"name": "smooth_ap", "tau": 1e-4}})
    record(lab.runs.create(config, no_runs, "live"), STEEP, STEEP)
    shown = open_page(page, **address)
    assert shown.calm, shown.words()
    assert "Verdict: out of the temperature's reach." in shown.words() and "90%" in shown.words()
    next(one for one in shown.test.button if "loss.tau" in one.label)


def test_a_run_in_which_nothing_is_wrong_says_so_and_one_without_checkups_nothing(
    no_runs, open_page
):
    run = lab.runs.create(lab.runs.RunConfig.of(), no_runs, "live")
    assert "Verdict" not in open_page("watch").words()
    record(run, {"with_positive": 1.0})
    assert "Verdict: nothing wrong was found." in open_page("watch").words()


def test_several_findings_are_behind_a_fold_and_the_fold_is_in_the_address(no_runs, open_page):
    run = lab.runs.create(lab.runs.RunConfig.of({"loss": {"name": "smooth_ap"}}), no_runs, "live")
    record(run, *[{**STEEP, "moved": 0.5}] * 3)
    page = open_page("watch")
    assert page.calm and "Verdict, also: out of the temperature's reach" in [
        one.label for one in page.test.expander
    ]
