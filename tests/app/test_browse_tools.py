"""The tools of the Browse page: k, filters, files; and what a click in a large split asks for."""

from __future__ import annotations

import numpy as np

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


def test_filters_keep_true_ranks_and_offer_fitting_queries(runs, open_page):
    run = lab.runs.open(runs / "recall")
    embedded, images = run.embeddings("test"), run.dataset()
    vendor = np.asarray(images.attributes["vendor"])
    item, wanted = int(embedded.items[2]), str(vendor[embedded.items[2]])
    page = open_page(run="recall", split="test", query=str(item))
    page.test.multiselect(key="filter by").set_value(["vendor"]).run()
    page.test.multiselect(key="filter vendor").set_value([wanted]).run()
    assert page.calm, page.words()
    assert {vendor[card["id"]] for card in page.section("candidates", "candidates")["cards"]} == {
        wanted
    }
    scores = embedded.vectors.astype(np.float64) @ embedded.vectors[2].astype(np.float64)
    order = [int(embedded.items[row]) for row in np.argsort(-scores, kind="stable") if row != 2]
    expected = [rank for rank, one in enumerate(order, start=1) if vendor[one] == wanted][:24]
    assert [card["rank"] for card in page.section("results", "neighbours")["cards"]] == expected
    page.test.session_state["filter side"] = "queries"
    page.run()
    assert [card["rank"] for card in page.section("results", "neighbours")["cards"]] == list(
        range(1, 25)
    )
    page.test.session_state["filter side"] = "both"
    page.test.multiselect(key="filter by").set_value(["vendor", "class"]).run()
    other = str(images.class_names[embedded.labels[embedded.labels != embedded.labels[2]][0]])
    page.test.multiselect(key="filter class").set_value([other]).run()
    shown = page.section("results", "neighbours")
    assert {card["title"] for card in shown["cards"]} <= {other}
    assert "ranks are those without the filter" in shown["note"]
