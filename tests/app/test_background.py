"""Long work behind a page: shared, bounded, told in a line, and a sentence when it fails."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

import lab.runs
from app.shared import background
from lab.evaluation import comparison
from lab.evaluation.collection import Collection
from lab.maps.of_run import Sheet

PATIENCE = 300.0
"""Seconds that a busy machine is given."""


@pytest.fixture
def impatient(monkeypatch) -> None:
    """Pages do not wait for what they have begun."""
    monkeypatch.setattr(background, "SOON", 0.0)


def wait_until(done, look=lambda: None) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline, "still not there"
        time.sleep(0.02)
        look()


def test_equal_arguments_share_one_job():
    calls = []

    @background.job("Counting", keep=4)
    def counted(name: str, _whole: list) -> str:
        calls.append(name)
        return name * 2

    first, second = counted("a", [1]), counted("a", [2])
    assert first is second and counted("b", []) is not first
    assert (first.value, counted("b", []).value) == ("aa", "bb")
    assert sorted(calls) == ["a", "b"]


def test_a_page_shows_what_it_has_then_the_result_and_two_sessions_share_it(
    runs, open_page, impatient, monkeypatch
):
    gate, calls, measure = threading.Event(), [], Collection.measure
    (runs / "recall" / "embeddings" / "test.safetensors").touch()  # nothing is known of it yet

    def slow(whole: Collection) -> dict:
        calls.append(whole)
        assert gate.wait(PATIENCE)
        return measure(whole)

    monkeypatch.setattr(Collection, "measure", slow)
    item = str(lab.runs.open(runs / "recall").embeddings("test").items[3])
    address = {"run": "recall", "query": item, "queries": "worst", "by": "MAP@R"}
    pages = [open_page(**address), open_page(**address)]
    for page in pages:
        assert page.calm and "Measuring every query" in page.words(), page.words()
        assert page.section("results", "neighbours")["cards"]
        assert not [e for e in page.test.get("bidi_component") if e.key == "candidates"]
        assert page.test.query_params == address
    gate.set()
    for page in pages:
        wait_until(lambda page=page: "Measuring every query" not in page.words(), page.run)
        assert page.calm, page.words()
        values = [
            float(card["value"]) for card in page.section("candidates", "candidates")["cards"]
        ]
        assert values == sorted(values)
        assert page.test.query_params == address
    assert len(calls) == 1


@pytest.mark.parametrize("name", ["browse", "map"])
def test_a_large_run_says_that_its_index_is_built(runs, open_page, impatient, monkeypatch, name):
    gate = threading.Event()
    (runs / "recall" / "embeddings" / "test.safetensors").touch()
    monkeypatch.setattr("app.results.cache.MANY", 1)
    for of in (Collection, Sheet):
        monkeypatch.setattr(of, "prepare", lambda whole, *_: gate.wait(PATIENCE))
    item = str(lab.runs.open(runs / "recall").embeddings("test").items[3])
    address = {"run": "recall", "item" if name == "map" else "query": item}
    page = open_page(name, **address)
    wait_until(lambda: "Building the index of all images" in page.words(), page.run)
    key, section = ("map images", "neighbours") if name == "map" else ("results", "neighbours")
    assert page.calm and not [e for e in page.test.get("bidi_component") if e.key == key]
    assert page.test.query_params == address, "what is waited for stays in the address"
    gate.set()
    wait_until(lambda: "Building the index" not in page.words(), page.run)
    assert page.calm and page.section(key, section)["cards"]


def test_the_other_answer_joins_when_it_is_ready(runs, open_page, impatient, monkeypatch):
    gate, by = threading.Event(), comparison.reranked
    (runs / "recall" / "embeddings" / "test.safetensors").touch()
    monkeypatch.setattr(
        comparison, "reranked", lambda method, whole: gate.wait(PATIENCE) and by(method, whole)
    )
    page = open_page(run="recall", split="test", rival="rerank:contextual")
    assert page.calm and "Re-ranking every query" in page.words(), page.words()
    assert {section["id"] for section in page.gallery("results")["sections"]} == {
        "neighbours",
        "missed",
    }
    page.pick("results", "neighbours", page.section("results", "neighbours")["cards"][2]["id"])
    assert page.calm and "Re-ranking every query" in page.words(), "a click is answered meanwhile"
    gate.set()
    wait_until(lambda: "…" not in page.words(), page.run)
    assert page.calm and page.gallery("results")["stacked"] is True


def test_no_page_declares_a_job():
    """Streamlit runs page.py anew at each click: a job that is declared there forgets its result and begins again."""
    views = Path(__file__).parents[2] / "app" / "views"
    declaring = [
        str(path)
        for path in views.glob("*/page.py")
        if "@background.job" in path.read_text("utf-8")
    ]
    assert not declaring, "declare it in the page's scene.py"
