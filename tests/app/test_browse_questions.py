"""Browse, asked more: why two are alike, and queries that a person changes."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch

import lab
import lab.runs
from app.components.inputs import checked
from app.results import cache


def facts_of(page) -> dict[str, str]:
    return {name: value for name, value, _ in page.gallery("results")["query"]["facts"]}


def ids_of(page, section: str = "neighbours") -> list[int]:
    return [card["id"] for card in page.section("results", section)["cards"]]


def test_a_click_explains_why_two_are_alike(runs, open_page):
    embedded = lab.runs.open(runs / "recall").embeddings("test")
    item = int(embedded.items[4])
    page = open_page(run="recall", split="test", query=str(item), click="why")
    assert page.calm and "Click a result below" in page.words(), page.words()
    other = page.section("results", "neighbours")["cards"][2]
    page.pick("results", "neighbours", other["id"])
    assert page.calm, page.words()
    assert page.test.query_params["query"] == str(item) and page.test.query_params["pair"] == str(
        other["id"]
    )
    drawn = next(e for e in page.test.get("bidi_component") if e.key == "regions")
    assert "most from" in drawn.proto.json and "data:image/webp" in drawn.proto.json
    told = page.gallery("regions")
    assert float(told["title"].rpartition(" ")[2]) == pytest.approx(
        float(other["value"].split()[1]), abs=0.01
    )
    assert "exact sum" in told["how"] and "GeM" in told["how"] and told["matches"]
    assert page.again().gallery("regions") == told, "the address opens the same pair"


def test_like_this_and_not_like_that_moves_the_query(runs, open_page):
    embedded = lab.runs.open(runs / "recall").embeddings("test")
    item = int(embedded.items[4])
    page = open_page(run="recall", split="test", query=str(item), click="like")
    liked, disliked = ids_of(page)[9], ids_of(page)[0]
    page.pick("results", "neighbours", liked)
    page.test.session_state["click"] = "unlike"
    page.run().pick("results", "neighbours", disliked)
    assert page.calm, page.words()
    vectors = embedded.vectors.astype(np.float64)
    row = {int(one): vectors[at] for at, one in enumerate(embedded.items)}
    moved = row[item] + 0.75 * row[liked] - 0.15 * row[disliked]
    expected = np.sort(vectors[embedded.items != item] @ moved / np.linalg.norm(moved))[::-1]
    cards = page.section("results", "neighbours")["cards"]
    np.testing.assert_allclose(
        [float(card["value"].removeprefix("cosine ")) for card in cards], expected[:24], atol=6e-4
    )
    order = np.argsort(-(vectors @ moved), kind="stable")
    hits = (embedded.labels[order] == embedded.labels[4])[order != 4]
    precision = (np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean()
    assert float(facts_of(page)["AP"].split(" → ")[-1]) == pytest.approx(precision, abs=6e-4)
    assert page.again().section("results", "neighbours")["cards"] == cards, "the address holds it"

    page.pick(
        "candidates", "candidates", page.section("candidates", "candidates")["cards"][3]["id"]
    )
    assert page.calm and "like" not in page.test.query_params, "another query begins anew"


def test_a_part_of_the_picture_is_searched_with(runs, open_page):
    run = lab.runs.open(runs / "recall")
    item = int(run.embeddings("test").items[4])
    page = open_page(run="recall", split="test", query=str(item))
    whole = ids_of(page)
    page.test.session_state["part open"] = True
    page.run().tell("crop", "drawn", {"box": [0.0, 0.0, 0.5, 0.5]})
    assert page.calm and page.test.query_params["part"] == "0,0,0.5,0.5", page.words()
    assert ids_of(page) != whole
    picture = run.dataset().load(item)
    corner = picture.crop((0, 0, picture.width // 2, picture.height // 2))
    found = [one.item for one in lab.load(run).search(corner, k=12) if one.item != item]
    assert ids_of(page)[:5] == found[:5] and ids_of(page.again()) == ids_of(page)
    page.test.session_state["part open"] = True
    page.run().tell("crop", "drawn", {"box": [0.0, 0.0, 2, 3]})
    assert page.calm and page.test.query_params["part"] == "0,0,0.5,0.5", (
        "what is no box changes nothing"
    )
    assert checked([0.1, 0.1, 0.11, 0.9]) is None and checked((0, 0, 1, 1)) == (0, 0, 1, 1)


def test_several_uploads_and_words_are_one_search(runs, open_page, monkeypatch):
    run = lab.runs.open(runs / "recall")
    embedded, files = run.embeddings("test"), []
    for item in embedded.items[:2]:
        file = io.BytesIO()
        run.dataset().load(int(item)).save(file, "PNG")
        files.append(("a.png", file.getvalue(), "image/png"))
    page = open_page(run="recall", split="test")
    page.test.radio(key="source").set_value("upload").run()
    assert not [one for one in page.test.text_input if one.key == "words"], (
        "this encoder has no text side"
    )
    page.test.file_uploader(key="upload").set_value(files).run()
    assert page.calm, page.words()
    model = lab.load(run)
    pictures = [model.images.load(int(item)) for item in embedded.items[:2]]
    shown = [
        float(card["value"].removeprefix("cosine "))
        for card in page.section("results", "neighbours")["cards"]
    ]
    expected = [one.score for one in model.search(pictures, k=24, together="mean")]
    np.testing.assert_allclose(shown, expected, atol=6e-4)

    direction = torch.from_numpy(embedded.vectors[7:8].copy())
    side = lambda self, texts: direction.expand(len(texts), -1)  # noqa: E731
    monkeypatch.setattr(lab.encoders.get("small_cnn"), "embed_text", side, raising=False)
    cache.model.cache_clear()
    page = open_page(run="recall", split="test", queries="upload", words="a seventh")
    assert page.calm, page.words()
    assert page.test.text_input(key="words").value == "a seventh"
    assert (
        ids_of(page)[0] == int(embedded.items[7])
        and page.gallery("results")["query"]["title"] == "a seventh"
    )
