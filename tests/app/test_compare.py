"""Two answers side by side: another run, a re-ranking, two-stage search; and the queries that changed most."""

from __future__ import annotations

import numpy as np
import pytest

import lab.reranking
import lab.runs
import lab.search
from lab.core.results import EmbeddingSet, Evidence
from lab.evaluation.collection import Collection, Places, per_query
from lab.evaluation.comparison import OtherRanking, changes, only, ranks, reranked, searched, two_stage
from lab.evaluation.two_stage import Anchors, InvertedGallery


def sections(page) -> dict:
    return {section["id"]: section for section in page.gallery("results")["sections"]}


def test_two_runs_stand_side_by_side_with_true_moves(runs, open_page):
    item = int(lab.runs.open(runs / "recall").embeddings("test").items[5])
    page = open_page(run="recall", split="test", query=str(item), rival="run:smooth")
    assert page.calm, page.words()
    found = sections(page)
    assert page.gallery("results")["columns"] is True
    ours, theirs = found["neighbours recall"]["cards"], found["neighbours smooth"]["cards"]
    alone = open_page(run="smooth", split="test", query=str(item)).section("results", "neighbours")["cards"]
    assert [card["id"] for card in theirs] == [card["id"] for card in alone]
    before = {card["id"]: card["rank"] for card in ours}
    seen = set()
    for card in theirs:
        if card["id"] in before:
            by = before[card["id"]] - card["rank"]
            expected = ("up", f"▲ {by}") if by > 0 else ("down", f"▼ {-by}") if by < 0 else ("same", "=")
            assert (card["move"]["way"], card["move"]["text"]) == expected
            seen.add(expected[0])
    assert seen - {"same"}, "the two models should not agree on everything"
    assert all(card["move"] is None for card in ours)
    assert page.test.query_params["rival"] == "run:smooth"


@pytest.mark.parametrize("source", ["improved", "broken"])
def test_changed_queries_are_the_ones_that_changed(runs, open_page, source):
    run, other = (lab.runs.open(runs / name) for name in ("recall", "smooth"))
    items = run.embeddings("test").items
    column = "MAP@R" if source in ("improved", "regressed") else "r@1"
    change = other.per_query("test")[column] - run.per_query("test")[column]
    page = open_page(run="recall", split="test", rival="run:smooth")
    page.test.radio(key="source").set_value(source).run()
    if column == "MAP@R":
        page.test.selectbox(key="by").set_value(column).run()
    assert page.calm, page.words()
    shown = [card["id"] for card in page.section("candidates", "candidates")["cards"]]
    sign = 1 if source in ("improved", "fixed") else -1
    by_item = dict(zip(items.tolist(), (sign * change).tolist(), strict=True))
    told = [by_item[item] for item in shown]
    assert told and all(value > 0 for value in told)
    assert told == sorted(told, reverse=True)
    assert told[0] == max(by_item.values())
    assert (
        f"{sum(value > 0 for value in by_item.values()):,} of {len(items):,}"
        in page.gallery("candidates")["sections"][0]["note"]
    )


@pytest.mark.parametrize("method", ["contextual"])
def test_re_ranking_shows_what_it_changed(runs, open_page, method):
    embedded = lab.runs.open(runs / "recall").embeddings("test")
    page = open_page(run="recall", split="test", query=str(embedded.items[0]), rival=f"rerank:{method}")
    assert page.calm, page.words()
    ranking = lab.search.create("exact", k=len(embedded)).build(embedded).rank(embedded, same_source=True)
    again = lab.reranking.create(method).rerank(ranking, embedded, embedded)
    expected = embedded.items[again.neighbours[0][:24]].tolist()
    shown = next(s for name, s in sections(page).items() if name.startswith("neighbours re-ranked"))
    assert [card["id"] for card in shown["cards"]] == expected


def test_two_stage_by_class_means_where_no_anchors_were_learnt(runs, open_page):
    embedded = lab.runs.open(runs / "recall").embeddings("test")
    item = int(embedded.items[6])
    page = open_page(run="recall", split="test", query=str(item), rival="two-stage:1")
    assert page.calm, page.words()
    name, section = next((n, s) for n, s in sections(page).items() if n.startswith("neighbours two-stage"))
    anchors = Anchors.means(embedded)
    assert name == f"neighbours two-stage by class means, 1 of {len(anchors.labels)} probed"
    vectors = anchors.vectors / np.linalg.norm(anchors.vectors, axis=1, keepdims=True)
    file_of = (embedded.vectors @ vectors.T).argmax(1)
    near = np.argsort(-(embedded.vectors @ embedded.vectors[6]), kind="stable")
    opened = (vectors @ embedded.vectors[6]).argmax()
    expected = [int(embedded.items[row]) for row in near if file_of[row] == opened and row != 6][:24]
    assert [card["id"] for card in section["cards"]] == expected
    page.test.radio(key="source").set_value("regressed").run()
    assert page.calm, page.words()
    assert page.section("candidates", "candidates")["cards"]


def test_a_rival_on_other_images_is_not_offered(runs, open_page, train_tiny):
    train_tiny(runs, "others", data={"split_seed": 7})
    page = open_page(run="recall", rival="run:others")
    assert page.calm, page.words()
    assert "run:others" not in page.test.query_params.values()
    assert not any("others" in option for option in page.test.selectbox(key="rival").options)


def collection(seed: int, queries: int = 30) -> Collection:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(queries, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    embedded = EmbeddingSet(vectors, np.arange(queries) % 6, np.arange(queries) * 3)
    return Collection(None, embedded, embedded)


def test_one_query_of_a_ranking_is_that_query():
    whole = collection(0)
    ranking = lab.search.create("exact", k=10).build(whole.gallery).rank(whole.query, same_source=True)
    together = per_query(Evidence(ranking, whole.query, whole.gallery))
    for row in range(len(whole.query)):
        evidence = whole.ask(int(whole.query.items[row]))
        single = Evidence(only(ranking, row), evidence.query, whole.gallery)
        assert np.array_equal(single.ranking.positives(0)[1], ranking.positives(row)[1])
        assert {name: values[0] for name, values in per_query(single).items()} == {
            name: values[row] for name, values in together.items()
        }


def test_known_ranks_are_true():
    whole = collection(1)
    evidence = whole.ask(6)
    scores = whole.gallery.vectors @ evidence.query.vectors[0]
    order = [int(whole.gallery.items[p]) for p in np.argsort(-scores, kind="stable") if whole.gallery.items[p] != 6]
    known = ranks(evidence)
    assert known == {item: rank for rank, item in enumerate(order, start=1)}


def test_changes_leave_out_what_no_metric_counts():
    one, other = collection(2), collection(3)
    labels = one.query.labels.copy()
    labels[4] = 99
    alone = EmbeddingSet(one.query.vectors, labels, one.query.items)
    whole = Collection(None, alone, alone)
    measured = whole.measure()["mAP"]
    items, before, after = changes(whole, other, measured, other.measure()["mAP"])
    assert 12 not in items and len(items) == 29
    assert before == pytest.approx(np.delete(measured, 4))


def test_every_answer_measures_the_columns_that_it_promises():
    whole = collection(5)
    inverted = InvertedGallery(whole, Anchors.means(whole.gallery))
    approximate, by_context = searched("faiss_ivf_pq", whole), reranked("contextual", whole)
    for answer in (whole, OtherRanking("b", whole), by_context, two_stage(inverted), approximate):
        assert list(answer.measure()) == answer.columns
    assert approximate.title.startswith("searched by faiss_ivf_pq, recall@10 against exact search ")
    kept = Collection(None, whole.query, whole.gallery, stored={"mAP": np.zeros(30)})
    assert kept.columns == whole.columns, "few pairs are measured anew"


def test_a_re_ranking_of_too_much_is_refused(monkeypatch):
    monkeypatch.setattr("lab.evaluation.comparison.MOST_PAIRS", 100)
    with pytest.raises(ValueError, match="900 pairs of this split, and more than 100 are too many"):
        reranked("contextual", collection(4))


@pytest.mark.parametrize("items", [[2, 5, 9], [9, 2, 5]])
def test_images_are_found_by_their_numbers(items):
    items = np.array(items)
    places = Places(items)
    assert [places.of(int(item)) for item in items] == [0, 1, 2] == places.of_all(items).tolist()
    assert [places.of(one) for one in (None, "5", 5.0, 1, 7, 10, 10**30, -(10**30), [5])] == [None] * 9
    assert places.of_all(np.array([1, 5, 10])).tolist() == [-1, items.tolist().index(5), -1]
