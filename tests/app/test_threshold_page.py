"""The Threshold page: rates at the line, the worst served classes in pictures, and what is kept with the run."""

import numpy as np
import pytest

import lab.runs
import lab.threshold


def drawn(page):
    return page.gallery("threshold")


def rates(page):
    table = page.test.dataframe[0].value
    return dict(zip(table["rate"], table["value"], strict=True))


def test_the_line_moves_the_rates_and_is_kept(runs, open_page):
    page = open_page("threshold", run="recall")
    assert page.calm, page.words()
    pairs = lab.threshold.measure(lab.runs.open(runs / "recall"), "test")
    first = drawn(page)
    assert first["value"] in first["thresholds"] and "at" not in page.test.query_params
    assert rates(page)["false accepts"] <= 0.02
    other = first["thresholds"][len(first["thresholds"]) // 2]
    page.tell("threshold", "moved", {"value": other})
    assert drawn(page)["value"] == pytest.approx(other, abs=1e-3)
    expected = pairs.rates(pairs.column(other))
    assert rates(page) == pytest.approx({name: row.value for name, row in expected.items()})
    assert drawn(page.again())["value"] == pytest.approx(other, abs=1e-3)
    page.tell("threshold", "moved", {"value": 7})
    assert drawn(page)["value"] == pytest.approx(other, abs=1e-3), "what a browser tells is checked"
    next(one for one in page.test.button if one.label == "Keep this threshold").click().run()
    kept = lab.threshold.stored(lab.runs.open(runs / "recall"))
    assert kept.value == pytest.approx(other, abs=1e-3) and "Kept with recall" in page.words()


def test_classes_come_worst_first_with_pictures_and_a_link(runs, open_page):
    page = open_page("threshold", run="recall", at=0.5)
    table = page.test.dataframe[1].value
    assert (np.diff(table["utility"]) >= 0).all()
    worst = page.gallery("threshold pictures")["sections"][0]
    assert worst["title"] == table["class"][0] and worst["cards"]
    of_class = open_page("threshold", run="recall", at=0.5, **{"class": "0"})
    label = np.unique(lab.runs.open(runs / "recall").embeddings("test").labels)[0]
    of_class = open_page("threshold", run="recall", at=0.5, **{"class": str(label)})
    assert of_class.calm and drawn(of_class)["far"] != drawn(page)["far"]


def test_vectors_of_one_class_say_so(runs, open_page, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "own"))
    rows = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    lab.runs.from_embeddings(rows, ["one"] * 6, normalise=True, name="alone", runs=tmp_path / "own")
    page = open_page("threshold", run="alone")
    assert "All images here are of one class" in page.words() and not page.test.exception
