"""Two answers side by side: another run, a re-ranking; and the queries that changed most."""

from __future__ import annotations

import pytest

import lab.reranking
import lab.runs
import lab.search


def sections(page) -> dict:
    return {section["id"]: section for section in page.gallery("results")["sections"]}


def test_two_runs_stand_side_by_side_with_true_moves(runs, open_page):
    item = int(lab.runs.open(runs / "recall").embeddings("test").items[5])
    page = open_page(run="recall", split="test", query=str(item), rival="run:smooth")
    assert page.calm, page.words()
    found = sections(page)
    assert page.gallery("results")["stacked"] is True
    ours, theirs = found["neighbours recall"]["cards"], found["neighbours smooth"]["cards"]
    alone = open_page(run="smooth", split="test", query=str(item)).section("results", "neighbours")[
        "cards"
    ]
    assert [card["id"] for card in theirs] == [card["id"] for card in alone[:8]]
    before = {card["id"]: card["rank"] for card in ours}
    seen = set()
    for card in theirs:
        if card["id"] in before:
            by = before[card["id"]] - card["rank"]
            expected = (
                ("up", f"▲ {by}") if by > 0 else ("down", f"▼ {-by}") if by < 0 else ("same", "=")
            )
            assert (card["move"]["way"], card["move"]["text"]) == expected
            seen.add(expected[0])
    assert seen - {"same"}, "the two models should not agree on everything"
    assert all(card["move"] is None for card in ours)
    assert page.test.query_params["rival"] == "run:smooth"


@pytest.mark.parametrize("source", ["improved", "regressed"])
def test_changed_queries_are_the_ones_that_changed(runs, open_page, source):
    run, other = (lab.runs.open(runs / name) for name in ("recall", "smooth"))
    items = run.embeddings("test").items
    change = other.per_query("test")["MAP@R"] - run.per_query("test")["MAP@R"]
    page = open_page(run="recall", split="test", rival="run:smooth")
    page.test.radio(key="source").set_value(source).run()
    page.test.selectbox(key="by").set_value("MAP@R").run()
    assert page.calm, page.words()
    shown = [card["id"] for card in page.section("candidates", "candidates")["cards"]]
    sign = 1 if source == "improved" else -1
    by_item = dict(zip(items.tolist(), (sign * change).tolist(), strict=True))
    told = [by_item[item] for item in shown]
    assert told and all(value > 0 for value in told)
    assert told == sorted(told, reverse=True)
    assert told[0] == max(by_item.values())
    assert (
        f"{sum(value > 0 for value in by_item.values()):,} of {len(items):,}"
        in page.gallery("candidates")["sections"][0]["note"]
    )


def test_re_ranking_shows_what_it_changed(runs, open_page):
    method = "contextual"
    embedded = lab.runs.open(runs / "recall").embeddings("test")
    page = open_page(
        run="recall", split="test", query=str(embedded.items[0]), rival=f"rerank:{method}"
    )
    assert page.calm, page.words()
    ranking = (
        lab.search.create("exact", k=len(embedded)).build(embedded).rank(embedded, same_source=True)
    )
    again = lab.reranking.create(method).rerank(ranking, embedded, embedded)
    expected = embedded.items[again.neighbours[0][:8]].tolist()
    shown = next(s for name, s in sections(page).items() if name.startswith("neighbours re-ranked"))
    assert [card["id"] for card in shown["cards"]] == expected


def test_a_rival_on_other_images_is_not_offered(runs, open_page, train_tiny):
    train_tiny(runs, "others", data={"split_seed": 7})
    page = open_page(run="recall", rival="run:others")
    assert page.calm, page.words()
    assert "run:others" in page.test.warning[0].value.replace("\\", "")
    assert not any("others" in option for option in page.test.selectbox(key="rival").options)
