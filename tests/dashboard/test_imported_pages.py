"""Every page with runs that were made elsewhere: with pictures, with labels only, with neither."""

import numpy as np
import pytest

import lab


@pytest.fixture
def imported(no_runs, pictures, monkeypatch):
    """Three imported runs of the same 64 vectors: `pictured`, `worded` (no pictures), `bare` (no labels, either)."""
    paths = sorted(pictures.glob("*/*.png"))
    random = np.random.default_rng(0)
    means = random.normal(size=(16, 12))
    vectors = np.repeat(means, 4, axis=0) + 0.6 * random.normal(size=(64, 12))
    labels = [path.parent.name for path in paths]
    given = {"normalise": True, "runs": no_runs, "encoder": "my model", "metadata": {"colour": ["red", "green"] * 32}}
    monkeypatch.setenv("LAB_DATA", str(pictures))
    lab.runs.from_embeddings(vectors, labels, paths, name="pictured", **given)
    lab.runs.from_embeddings(vectors, labels, keys=[p.name + p.parent.name for p in paths], name="worded", **given)
    lab.runs.from_embeddings(vectors, name="bare", **given)
    return no_runs


@pytest.mark.parametrize("run", ["pictured", "worded", "bare"])
@pytest.mark.parametrize("page", ["browse", "map", "two_stage", "inspect", "watch", "runs", "train"])
def test_every_page_takes_an_imported_run(imported, open_page, page, run):
    seen = open_page(page, **({"watched": run} if page == "watch" else {"run": run}))
    assert seen.calm, seen.words()


def test_a_card_without_a_picture_shows_words_and_its_metadata(imported, open_page):
    page = open_page("browse", run="worded", query="3")
    told = page.gallery("results")
    assert told["query"]["src"].startswith("data:image/webp")
    assert "colour: green" in told["query"]["lines"]
    cards = page.section("results", "neighbours")["cards"]
    assert {card["right"] for card in cards} == {True, False}


def test_without_labels_nothing_is_right_or_wrong(imported, open_page):
    page = open_page("browse", run="bare", query="3")
    section = page.section("results", "neighbours")
    assert {card["right"] for card in section["cards"]} == {None}
    assert "not known" in section["note"] and section["cards"][0]["title"].isdigit()
    assert "need" in open_page("inspect", run="bare").words()


def test_metadata_colours_the_map(imported, open_page):
    page = open_page("map", run="bare", colour="colour")
    assert page.calm and "nearest is right" not in page.test.selectbox(key="colour").options
    legend = page.gallery("map drawn")["legend"]
    assert {line["name"] for line in legend} == {"red", "green"}


def test_a_page_to_mail_shows_no_pictures_that_the_dashboard_may_not_read(imported, open_page, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    page = open_page("runs", runs="pictured")
    next(b for b in page.test.button if b.label == "Make a page to mail").click().run()
    made = page.test.session_state["page to mail"][2]
    assert "lies outside the folders that this dashboard may read" in made and "<img" not in made
