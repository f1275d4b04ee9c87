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
        assert float(card["value"].removeprefix("cosine ")) == pytest.approx(
            scores[rank - 1], abs=6e-4
        )
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
        late = {
            i: rank
            for rank, i in enumerate(items, start=1)
            if labels[i] == labels[item] and rank > 24
        }
        if late:
            break
    assert late, "the tiny model should miss something"
    page = open_page(run="recall", split="test", query=str(item))
    missed = page.section("results", "missed")
    assert {card["id"]: card["rank"] for card in missed["cards"]} == late
    assert missed["note"].startswith(f"{len(late)} true match")


def test_without_an_address_two_runs_stand_where_they_differ_most(runs, open_page):
    page = open_page()
    known = {name: lab.runs.open(runs / name) for name in ("recall", "smooth")}
    assert page.calm, page.words()
    weaker, better = sorted(known, key=lambda name: known[name].scores("test")["values"]["MAP@R"])
    assert (page.test.query_params["run"], page.test.query_params["rival"]) == (
        weaker,
        f"run:{better}",
    )
    change = np.abs(
        known[better].per_query("test")["MAP@R"] - known[weaker].per_query("test")["MAP@R"]
    )
    items = known["recall"].embeddings("test").items
    assert change[items == int(page.test.query_params["query"])] == change.max() > 0
    assert [len(one["cards"]) for one in page.gallery("results")["sections"][:2]] == [8, 8]
    assert "rival" not in open_page(run="recall").test.query_params


def test_a_candidate_is_clicked_and_others_are_drawn(runs, open_page):
    embedded = lab.runs.open(runs / "recall").embeddings("test")
    page = open_page(run="recall")
    before = [card["id"] for card in page.section("candidates", "candidates")["cards"]]
    page.pick("candidates", "candidates", before[3])
    assert page.test.query_params["query"] == str(before[3])
    assert page.section("candidates", "candidates")["current"] == before[3]
    page.test.button(key="draw").click().run()
    after = [card["id"] for card in page.section("candidates", "candidates")["cards"]]
    assert before != after
    kept = lab.runs.open(runs / "recall").per_query("test")["MAP@R"]
    half = {
        int(item): abs(value - 0.5) for item, value in zip(label_of(embedded), kept, strict=True)
    }
    assert half[int(page.test.query_params["query"])] == min(half[item] for item in after), (
        "right and wrong mixed"
    )


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


def test_all_that_is_shown_is_in_the_address(runs, open_page):
    embedded = lab.runs.open(runs / "recall").embeddings("test")
    page = open_page(run="recall", split="test")
    assert set(page.test.query_params) == {"run", "query"}, "what stands at its default stays out"
    page.test.get("button_group")[-1].set_value(48).run()
    page.test.multiselect(key="filter by").set_value(["vendor", "class"]).run()
    vendors = page.test.multiselect(key="filter vendor").options[:4]
    page.test.multiselect(key="filter vendor").set_value(
        [one.rpartition(" ")[0] for one in vendors]
    ).run()
    page.test.radio(key="source").set_value("class").run()
    last = lab.runs.open(runs / "recall").dataset().class_names[embedded.labels[-1]]
    page.test.selectbox(key="class").set_value(last).run()
    assert page.test.query_params["class"] == last
    page.test.get("pagination")[0].set_value(2).run()
    told = page.test.query_params
    assert set(told) == {"run", "query", "shown", "page", "filter", "queries", "class"}
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
    assert (told["side"], told["draws"]) == ("queries", "1") and not {
        "page",
        "class",
        "queries",
    } & set(told)
    assert page.again().gallery("candidates") == page.gallery("candidates")
    page.test.radio(key="source").set_value("worst").run()
    page.test.selectbox(key="by").set_value("MRR").run()
    assert page.test.query_params["by"] == "MRR"
    assert page.again().gallery("candidates") == page.gallery("candidates")


@pytest.mark.parametrize("bad", ['{"vendor":5,"<b>":["a"]}', "{" * 4_000])
def test_bad_choices_in_an_address_are_said_and_change_nothing(runs, open_page, bad):
    names = ("queries", "by", "class", "draws", "filter", "side", "shown", "page", "k", "rival")
    for more in ({"queries": "worst"}, {"queries": "class"}):
        page = open_page(run="recall", **(dict.fromkeys(names, bad) | more))
        assert page.calm, page.words()
        asked = {name for name in names if name in page.test.query_params} - {"queries"}
        assert asked and all(
            f"{name} " in page.test.warning[0].value for name in asked - {"rival"}
        ), page.words()
        assert len(page.section("results", "neighbours")["cards"]) == 24


def test_a_dead_link_says_what_is_not_there_and_offers_a_choice(runs, open_page):
    asked = {"run": "<script>alert(1)</script>", "split": "nowhere", "query": str(10**18)}
    page = open_page(**asked)
    for name, choice, what in (("run", "smooth", "script"), ("split", "validation", "nowhere")):
        assert page.calm and what in page.test.warning[0].value and "Choose another" in page.words()
        assert page.test.query_params == asked, "it is not rewritten before somebody has chosen"
        assert not any(one.key == "results" for one in page.test.get("bidi_component"))
        page.test.selectbox(key=f"{name} instead").set_value(choice).run()
    assert (
        str(10**18) in page.test.warning[0].value
        and page.test.query_params["query"] == asked["query"]
    )
    assert not any(one.key == "results" for one in page.test.get("bidi_component"))
    first = page.section("candidates", "candidates")["cards"][0]["id"]
    page.pick("candidates", "candidates", first)
    assert page.test.query_params == {"run": "smooth", "split": "validation", "query": str(first)}
    assert not page.test.warning and page.section("results", "neighbours")["cards"]


def test_a_run_without_embeddings_says_what_to_do(runs, open_page):
    shutil.rmtree(runs / "smooth")
    shutil.rmtree(runs / "recall" / "embeddings")
    shutil.rmtree(runs / "recall" / "frames", ignore_errors=True)
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
    page.test.file_uploader(key="upload").set_value(
        ("cat.png", b"not an image at all", "image/png")
    ).run()
    assert not page.test.exception and "not an image" in page.test.error[0].value
    page.test.file_uploader(key="upload").set_value(
        ("../../evil<b>.png", file.getvalue(), "image/png")
    ).run()
    assert page.calm, page.words()
    first = page.section("results", "neighbours")["cards"][0]
    assert first["id"] == item
    assert float(first["value"].removeprefix("cosine ")) == pytest.approx(1.0, abs=1e-3)
    assert first["right"] is None
    assert "evil" not in str(page.gallery("results"))
    page.pick("results", "neighbours", item)
    assert page.test.query_params["query"] == str(item)
    assert page.test.radio(key="source").value == "random"
