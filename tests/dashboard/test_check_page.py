"""The Check page: confused classes, scores of classes, label errors and duplicates, and the marks that are kept."""

from __future__ import annotations

import time

import pytest

import lab.runs
from lab.runs import marks


@pytest.mark.parametrize("part", ["pairs", "classes", "labels", "twice", "marks"])
def test_every_part_is_drawn_and_has_its_address(runs, open_page, part):
    page = open_page("check", show=part)
    assert page.calm, page.words()
    assert page.again().calm
    assert len(page.test.dataframe) == (part in ("pairs", "classes"))


def test_a_label_error_is_marked_kept_and_listed(runs, open_page):
    page = open_page("check", show="labels", run="recall")
    card = page.section("judged", "suspects")["cards"][0]
    assert card["subtitle"].startswith("looks like ") and card["value"].startswith("confidence ")
    page.pick("judged", "suspects", card["id"])
    page.test.button(key="mark wrong label").click().run()
    assert page.calm, page.words()
    run = lab.runs.open("recall", runs)
    assert list(marks.read(run).values()) == ["wrong label"]
    assert page.section("judged", "suspects")["cards"][0]["subtitle"] == "marked: wrong label"
    assert page.again().section("judged", "suspects")["current"] == card["id"], "the address holds the image"
    listed = open_page("check", show="marks", run="recall")
    assert [one["id"] for one in listed.section("marked", "wrong label")["cards"]] == [card["id"]]
    page.test.button(key="mark wrong label").click().run()
    assert marks.read(run) == {}


def test_duplicates_follow_the_least_similarity(runs, open_page):
    page = open_page("check", show="twice", run="recall", least="0.5")
    many = page.section("judged", "twice")
    page.test.slider(key="least").set_value(1.0).run()
    assert page.calm and len(page.section("judged", "twice")["cards"]) < len(many["cards"])


def test_what_was_not_ready_is_there_at_the_next_run_of_the_page(runs, open_page, monkeypatch):
    from lab.dashboard.shared import background

    monkeypatch.setattr(background, "SOON", 0.0)  # a busy machine: the first run of the page never has it
    page = open_page("check", show="pairs", run="recall")
    deadline = time.monotonic() + 240
    while not page.test.dataframe and time.monotonic() < deadline:
        time.sleep(0.1)
        page.test.run()
    assert len(page.test.dataframe) == 1, "every run of the page began to look anew"
