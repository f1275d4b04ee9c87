"""The Browse page, headless: every branch, against a brute-force ranking of the stored embeddings."""

from __future__ import annotations

import io
import shutil

import numpy as np
import pytest

import lab.runs
from lab.core.results import EmbeddingSet


def brute_force(embedded: EmbeddingSet, item: int) -> tuple[list[int], np.ndarray]:
    """Items by falling cosine to one of them, itself left out, and their cosines."""
    row = int(np.flatnonzero(embedded.items == item)[0])
    scores = embedded.vectors.astype(np.float64) @ embedded.vectors[row].astype(np.float64)
    order = np.argsort(-scores, kind="stable")
    order = order[order != row]
    return embedded.items[order].tolist(), scores[order]


def label_of(embedded: EmbeddingSet) -> dict[int, int]:
    return dict(zip(embedded.items.tolist(), embedded.labels.tolist(), strict=True))


def test_neighbours_come_from_the_whole_embedding_space(runs, open_page):
    embedded = lab.runs.open(runs / "recall").embeddings("test")
    item = int(embedded.items[17])
    page = open_page(run="recall", split="test", query=str(item))
    assert page.calm, page.words()
    items, scores = brute_force(embedded, item)
    labels = label_of(embedded)

    cards = page.section("results", "neighbours")["cards"]
    assert len(cards) == 24 and page.test.get("pagination")
    for rank, card in enumerate(cards, start=1):
        assert card["rank"] == rank
        assert float(card["value"]) == pytest.approx(scores[rank - 1], abs=6e-4)
        assert labels[card["id"]] == labels[items[rank - 1]] or scores[rank - 1] == pytest.approx(
            scores[rank], abs=1e-6
        )
        assert card["right"] == (labels[card["id"]] == labels[item])
        assert card["src"].startswith("data:image/webp;base64,")
        assert card["alt"]


def test_missed_positives_stand_with_their_ranks(runs, open_page):
    embedded = lab.runs.open(runs / "recall").embeddings("test")
    labels = label_of(embedded)
    for item in embedded.items[:40].tolist():
        items, _ = brute_force(embedded, item)
        late = {i: rank for rank, i in enumerate(items, start=1) if labels[i] == labels[item] and rank > 24}
        if late:
            break
    assert late, "the tiny model should miss something"
    page = open_page(run="recall", split="test", query=str(item))
    missed = page.section("results", "missed")
    assert {card["id"]: card["rank"] for card in missed["cards"]} == late
    assert missed["note"].startswith(f"{len(late)} true match")


def test_a_candidate_is_clicked_and_others_are_drawn(runs, open_page):
    page = open_page()
    before = [card["id"] for card in page.section("candidates", "candidates")["cards"]]
    page.pick("candidates", "candidates", before[3])
    assert page.test.query_params["query"] == str(before[3])
    assert page.section("candidates", "candidates")["current"] == before[3]
    page.test.button(key="draw").click().run()
    after = [card["id"] for card in page.section("candidates", "candidates")["cards"]]
    assert before != after and page.test.query_params["query"] == str(after[0])


def test_worst_queries_come_first(runs, open_page):
    page = open_page(run="recall", split="test")
    page.test.radio(key="source").set_value("worst").run()
    assert page.calm, page.words()
    values = [float(card["value"]) for card in page.section("candidates", "candidates")["cards"]]
    assert values == sorted(values)
    facts = page.gallery("results")["query"]["facts"]
    for column in page.test.selectbox(key="by").options[::3]:
        page.test.selectbox(key="by").set_value(column).run()
        worst = page.section("candidates", "candidates")
        page.pick("candidates", "candidates", worst["cards"][0]["id"])
        facts = {name: value for name, value, _ in page.gallery("results")["query"]["facts"]}
        assert facts[column] == worst["cards"][0]["value"], column


def test_facts_are_the_metrics_of_the_run(runs, open_page):
    run = lab.runs.open(runs / "recall")
    embedded, stored = run.embeddings("test"), run.per_query("test")
    row = int(np.argmax(stored["MAP@R"]))
    page = open_page(run="recall", split="test", query=str(embedded.items[row]))
    facts = {name: value for name, value, _ in page.gallery("results")["query"]["facts"]}
    assert facts["MAP@R"] == f"{stored['MAP@R'][row]:.3f}"
    assert facts["r@1"] == f"{stored['r@1'][row]:.3f}"
    first = next(c["rank"] for c in page.section("results", "neighbours")["cards"] if c["right"])
    assert facts["first match at"] == str(first)


def test_the_split_and_the_run_can_be_changed(runs, open_page):
    page = open_page(run="recall", split="test")
    page.test.get("button_group")[0].set_value("validation").run()
    assert page.calm, page.words()
    validation = lab.runs.open(runs / "recall").embeddings("validation").items
    assert int(page.test.query_params["query"]) in validation
    query = page.test.query_params["query"]
    page.test.selectbox(key="run").set_value("smooth").run()
    assert page.test.query_params == {"run": "smooth", "split": "validation", "query": query}


def test_all_that_is_shown_is_in_the_address(runs, open_page):
    embedded = lab.runs.open(runs / "recall").embeddings("test")
    page = open_page(run="recall", split="test")
    assert set(page.test.query_params) == {"run", "query"}, "what stands at its default stays out"
    page.test.selectbox(key="why").set_value("smooth_ap").run()
    page.test.select_slider(key="why.smooth_ap.tau").set_value(0.02).run()
    page.test.get("button_group")[-1].set_value(48).run()
    page.test.get("pagination")[0].set_value(2).run()
    page.test.multiselect(key="filter by").set_value(["vendor", "class"]).run()
    vendors = page.test.multiselect(key="filter vendor").options[:4]
    page.test.multiselect(key="filter vendor").set_value([one.rpartition(" ")[0] for one in vendors]).run()
    page.test.radio(key="source").set_value("class").run()
    page.test.selectbox(key="class").set_value(int(embedded.labels[-1])).run()
    told = page.test.query_params
    assert set(told) == {"run", "query", "why", "knobs", "shown", "page", "filter", "queries", "class"}
    other = page.again()
    assert other.calm and other.test.query_params == told, other.words()
    assert other.gallery("results") == page.gallery("results")
    assert other.gallery("candidates") == page.gallery("candidates")
    assert "Filter (on)" in [popover.proto.popover.label for popover in other.test.get("popover")]
    page.test.session_state["filter side"] = "queries"
    page.run()
    page.test.radio(key="source").set_value("random").run()
    page.test.button(key="draw").click().run()
    told = page.test.query_params
    assert (told["side"], told["draws"]) == ("queries", "1") and not {"page", "class", "queries"} & set(told)
    assert page.again().gallery("candidates") == page.gallery("candidates")
    page.test.radio(key="source").set_value("worst").run()
    page.test.selectbox(key="by").set_value("MRR").run()
    assert page.test.query_params["by"] == "MRR"
    assert page.again().gallery("candidates") == page.gallery("candidates")


@pytest.mark.parametrize("bad", ['{"vendor":5,"<b>":["a"]}', "{" * 4_000])
def test_bad_choices_in_an_address_are_ignored(runs, open_page, bad):
    names = ("queries", "by", "class", "draws", "filter", "side", "shown", "page", "k", "why", "rival")
    for more in ({"queries": "worst"}, {"queries": "class", "why": "smooth_ap", "knobs": bad}):
        page = open_page(run="recall", **(dict.fromkeys(names, bad) | more))
        assert page.calm, page.words()
        assert set(page.test.query_params) == {"run", "query", *more} - {"knobs"}, page.test.query_params
        assert len(page.section("results", "neighbours")["cards"]) == 24


@pytest.mark.parametrize(
    "address",
    [
        {"run": "recall", "split": "nowhere", "query": str(10**18)},
        {"run": "<script>alert(1)</script>", "query": "'; DROP TABLE runs"},
    ],
)
def test_a_bad_address_falls_back_to_something_legal(runs, open_page, address):
    page = open_page(**address)
    assert page.calm, page.words()
    assert page.test.query_params["run"] in ("recall", "smooth")
    assert page.section("results", "neighbours")["cards"]


def test_a_run_without_embeddings_says_what_to_do(runs, open_page):
    shutil.rmtree(runs / "smooth")
    shutil.rmtree(runs / "recall" / "embeddings")
    page = open_page()
    assert page.calm
    assert "none with embeddings yet" in page.words()


def test_spoilt_embeddings_give_a_sentence_and_the_other_run_still_works(runs, open_page):
    path = runs / "recall" / "embeddings" / "test.safetensors"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    page = open_page(run="recall", split="test")
    assert not page.test.exception
    assert len(page.test.error) == 1 and "Traceback" not in page.words()
    page.test.selectbox(key="run").set_value("smooth").run()
    assert page.calm, page.words()
    assert page.section("results", "neighbours")["cards"]


def test_an_uploaded_picture_finds_itself_first(runs, open_page):
    run = lab.runs.open(runs / "recall")
    item = int(run.embeddings("test").items[3])
    file = io.BytesIO()
    run.dataset().load(item).save(file, "PNG")
    page = open_page(run="recall", split="test")
    page.test.radio(key="source").set_value("upload").run()
    assert "Choose a picture" in page.words()
    page.test.file_uploader(key="upload").set_value(("cat.png", b"not an image at all", "image/png")).run()
    assert not page.test.exception and "not a picture" in page.test.error[0].value
    page.test.file_uploader(key="upload").set_value(("../../evil<b>.png", file.getvalue(), "image/png")).run()
    assert page.calm, page.words()
    first = page.section("results", "neighbours")["cards"][0]
    assert first["id"] == item
    assert float(first["value"]) == pytest.approx(1.0, abs=1e-3)
    assert first["right"] is None
    assert "evil" not in str(page.gallery("results"))
    page.pick("results", "neighbours", item)
    assert page.test.query_params["query"] == str(item)
    assert page.test.radio(key="source").value == "random"


def test_a_single_image_of_a_class_is_excused(runs, open_page):
    """A query without any positive has no metric, and the page says why."""
    from lab.runs.writer import Writer

    run = lab.runs.open(runs / "recall")
    embedded = run.embeddings("test")
    kept = np.concatenate([[0], np.flatnonzero(embedded.labels != embedded.labels[0])])
    arrays = {f"query.{name}": value[kept] for name, value in vars(embedded).items()}
    Writer(run).arrays("embeddings", "test", arrays)
    page = open_page(run="recall", split="test", query=str(embedded.items[0]))
    assert page.calm, page.words()
    facts = {name: value for name, value, _ in page.gallery("results")["query"]["facts"]}
    assert facts["MAP@R"] == "–"
    assert "no other image of its class" in page.section("results", "missed")["empty"]
