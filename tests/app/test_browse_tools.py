"""The tools of the Browse page: k, why this rank, filters, files; and what a click in a large split asks for."""

from __future__ import annotations

import numpy as np
import pytest

import lab.inspect
import lab.losses
import lab.runs


def test_k_moves_the_metrics_and_the_line(runs, open_page):
    embedded = lab.runs.open(runs / "recall").embeddings("test")
    page = open_page(run="recall", split="test", query=str(embedded.items[4]), k="3")
    assert page.calm, page.words()
    for k in (3, 10):
        page.test.slider(key="k").set_value(k).run()
        cards = page.section("results", "neighbours")["cards"]
        assert [card["rank"] for card in cards if card["cut"]] == [k]
        facts = {name: value for name, value, _ in page.gallery("results")["query"]["facts"]}
        right = sum(card["right"] for card in cards[:k])
        total = int((embedded.labels == embedded.labels[4]).sum()) - 1
        assert facts[f"P@{k}"] == f"{right / k:.3f}"
        assert facts[f"recall@{k}"] == f"{right / total:.3f}"
        assert facts[f"r@{k}"] == f"{float(right > 0):.3f}"
    assert page.test.query_params["k"] == "10"


def test_why_shows_the_pull_of_the_loss_on_every_card(runs, open_page):
    embedded = lab.runs.open(runs / "recall").embeddings("test")
    item = int(embedded.items[9])
    page = open_page(run="recall", split="test", query=str(item), why="smooth_ap")
    assert page.calm, page.words()
    tau = page.test.select_slider(key="why.smooth_ap.tau")
    for value in (0.01, 0.1):
        tau.set_value(value).run()
        vectors = embedded.vectors.astype(np.float64)
        others = embedded.items != item
        cosines = (vectors @ vectors[9])[others]
        found = lab.inspect.list_gradients(
            lab.losses.create("smooth_ap", tau=value), cosines, (embedded.labels == embedded.labels[9])[others]
        )
        weight = dict(zip(embedded.items[others].tolist(), (found.gradients / found.scale).tolist(), strict=True))
        cards = page.section("results", "neighbours")["cards"]
        for card in cards:
            if abs(weight[card["id"]]) < 0.0005:
                assert card["bar"]["text"] == "not moved"
                continue
            assert card["bar"]["share"] == pytest.approx(abs(weight[card["id"]]), abs=1e-3)
            assert ("pulled" in card["bar"]["text"]) == (weight[card["id"]] < 0)
            assert card["bar"]["wrong"] == ((weight[card["id"]] > 0) == card["right"])
        assert max(card["bar"]["share"] for card in cards) > 0
    assert "Smooth-AP = " in page.words()
    page.test.selectbox(key="why").set_value("").run()
    assert all(card["bar"] is None for card in page.section("results", "neighbours")["cards"])


def test_filters_keep_true_ranks_and_offer_fitting_queries(runs, open_page):
    run = lab.runs.open(runs / "recall")
    embedded, images = run.embeddings("test"), run.dataset()
    vendor = np.asarray(images.attributes["vendor"])
    item, wanted = int(embedded.items[2]), str(vendor[embedded.items[2]])
    page = open_page(run="recall", split="test", query=str(item))
    page.test.multiselect(key="filter by").set_value(["vendor"]).run()
    page.test.multiselect(key="filter vendor").set_value([wanted]).run()
    assert page.calm, page.words()
    assert {vendor[card["id"]] for card in page.section("candidates", "candidates")["cards"]} == {wanted}
    scores = embedded.vectors.astype(np.float64) @ embedded.vectors[2].astype(np.float64)
    order = [int(embedded.items[row]) for row in np.argsort(-scores, kind="stable") if row != 2]
    expected = [rank for rank, one in enumerate(order, start=1) if vendor[one] == wanted][:24]
    assert [card["rank"] for card in page.section("results", "neighbours")["cards"]] == expected
    page.test.session_state["filter side"] = "queries"
    page.run()
    assert [card["rank"] for card in page.section("results", "neighbours")["cards"]] == list(range(1, 25))
    page.test.session_state["filter side"] = "both"
    page.test.multiselect(key="filter by").set_value(["vendor", "class"]).run()
    other = str(images.class_names[embedded.labels[embedded.labels != embedded.labels[2]][0]])
    page.test.multiselect(key="filter class").set_value([other]).run()
    shown = page.section("results", "neighbours")
    assert {card["title"] for card in shown["cards"]} <= {other}
    assert "ranks are those without the filter" in shown["note"]


def test_a_click_in_a_large_split_ranks_one_query(runs, open_page, count_calls, monkeypatch):
    """What makes a large split quick: its files are read once, and all pairs are never compared, since the run's
    evaluation has kept a value of every query."""
    monkeypatch.setattr("lab.evaluation.collection.AT_ONCE", 0)
    for name in ("recall", "smooth"):
        (runs / name / "embeddings" / "test.safetensors").touch()  # nothing is known of it yet
    size = len(lab.runs.open(runs / "recall").embeddings("test"))
    calls = count_calls("lab.runs.Run.embeddings", "lab.search.exact.Exact.rank", "lab.search.exact.Exact.neighbours")
    page = open_page(run="recall", split="test", query="worst", queries="worst")
    assert page.calm and f"{size:,} queries in {size:,} images" in page.words()
    reads = []
    for what in ("neighbour", "candidate", "why", "filter", "rival"):
        if what == "why":
            page.test.selectbox(key="why").set_value("smooth_ap").run()
        if what == "filter":
            page.test.multiselect(key="filter by").set_value(["vendor"]).run()
            page.test.multiselect(key="filter vendor").set_value(["twemoji"]).run()
        if what == "rival":
            page.test.selectbox(key="rival").set_value("run:smooth").run()
        assert page.calm, page.words()
        reads += [call for call in calls if call[0].endswith("embeddings")]
        calls.clear()
        where = {"rival": ("results", "neighbours recall"), "candidate": ("candidates", "candidates")}
        where = where.get(what, ("results", "neighbours"))
        for at in range(3):
            before = page.test.query_params["query"]
            page.pick(*where, page.section(*where)["cards"][at + 1]["id"])
            assert page.calm and page.test.query_params["query"] != before, page.words()
        assert {name for name, *_ in calls} == {"lab.search.exact.Exact.rank"}
        assert {len(query) for _, _, query, *_ in calls} == {1}
        calls.clear()
    assert [path.name for _, run, *_ in reads for path in [run.path]] == ["recall"] * 2 + ["smooth"] * 2
