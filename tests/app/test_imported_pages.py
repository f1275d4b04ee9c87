"""Every page with runs that were made elsewhere: with pictures, with labels only, with neither."""

import numpy as np
import pytest
import torch
from PIL import Image

import lab
from app.shared.queueing import progress_words

PAGES = ["browse", "grid", "map", "two_stage", "watch", "check", "runs"]


@pytest.fixture
def imported(no_runs, pictures, monkeypatch):
    """Three imported runs of the same 64 vectors: `pictured`, `worded` (no pictures), `bare` (no labels, either)."""
    paths = sorted(pictures.glob("*/*.png"))
    random = np.random.default_rng(0)
    means = random.normal(size=(16, 12))
    vectors = np.repeat(means, 4, axis=0) + 0.6 * random.normal(size=(64, 12))
    labels = [path.parent.name for path in paths]
    given = {
        "normalise": True,
        "runs": no_runs,
        "encoder": "my model",
        "metadata": {"colour": ["red", "green"] * 32},
    }
    monkeypatch.setenv("LAB_DATA", str(pictures))
    lab.runs.from_embeddings(vectors, labels, paths, name="pictured", **given)
    lab.runs.from_embeddings(
        vectors, labels, keys=[p.name + p.parent.name for p in paths], name="worded", **given
    )
    lab.runs.from_embeddings(vectors, name="bare", **given)
    return no_runs


@pytest.fixture
def partly(imported, pictures):
    """A run of the same pictures, of which every third has no class."""
    paths = sorted(pictures.glob("*/*.png"))
    random = np.random.default_rng(0)
    vectors = np.repeat(random.normal(size=(16, 12)), 4, axis=0) + 0.6 * random.normal(
        size=(64, 12)
    )
    labels = [None if row % 3 == 0 else path.parent.name for row, path in enumerate(paths)]
    return lab.runs.from_embeddings(
        vectors, labels, paths, name="partly", normalise=True, runs=imported
    )


@pytest.mark.parametrize("page", [*PAGES, "threshold"])
def test_every_page_takes_images_without_a_class(partly, open_page, page):
    seen = open_page(page, **{"watched" if page == "watch" else "run": "partly"})
    assert seen.calm, seen.words()
    if page in ("browse", "check"):
        assert (
            "22 of 64 gallery images have no class; they are left out of every score."
            in seen.words()
        )


def test_an_image_without_a_class_is_marked_unknown_and_has_no_rank(partly, open_page):
    page = open_page("browse", run="partly", query="4")
    cards = page.section("results", "neighbours")["cards"]
    for card in cards:
        assert (card["right"] == "unknown") == (card["rank"] is None) == (card["id"] % 3 == 0)
    ranked = [card["rank"] for card in cards if card["rank"] is not None]
    assert ranked == list(range(1, len(ranked) + 1))
    page = open_page("browse", run="partly", query="3")
    cards = page.section("results", "neighbours")["cards"]
    assert {card["right"] for card in cards} == {"unknown"} and [card["rank"] for card in cards][
        :3
    ] == [1, 2, 3]
    page = open_page("map", run="partly", item="4")
    assert {card["right"] for card in page.section("map images", "neighbours")["cards"]} <= {
        True,
        False,
        "unknown",
    }


def test_check_confuses_and_doubts_images_with_a_class_alone(partly, open_page):
    ranking = lab.inspect.data_checks.confusion
    page = open_page("check", run="partly", show="pairs")
    whole, embedded = partly.embeddings(), partly.embeddings()
    searched = lab.search.create("exact", k=20).build(whole).rank(embedded, same_source=True)
    assert f"{len(ranking(searched, 5).label):,} pairs of classes are confused" in page.words()
    assert "" not in page.test.dataframe[0].value["class"].tolist()


@pytest.mark.parametrize("page", PAGES)
def test_every_page_takes_an_imported_run(imported, open_page, page):
    seen = open_page(page, **{"watched" if page == "watch" else "run": "bare"})
    assert seen.calm, seen.words()


def test_a_card_without_a_picture_shows_words_and_its_metadata(imported, open_page):
    page = open_page("browse", run="worded", query="3")
    told = page.gallery("results")
    assert told["query"]["src"].startswith("data:image/webp")
    assert "colour: green" in told["query"]["lines"]
    cards = page.section("results", "neighbours")["cards"]
    assert {card["right"] for card in cards} == {True, False}


def test_watch_says_that_nothing_was_trained_and_draws_no_empty_chart(imported, open_page):
    page = open_page("watch", watched="worded")
    assert "Nothing was trained here" in page.words()
    assert progress_words(lab.runs.open("worded").status) == "finished"
    with lab.runs.record("loop", runs=imported) as run:
        for step in (1, 2, 3):
            run.log(step, loss=1 / step)
    page = open_page("watch", watched="loop")
    assert (
        len(page.test.get("plotly_chart")) == 1
        and progress_words(run.run.status) == "finished, step 3"
    )


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


def test_a_page_to_mail_shows_no_pictures_that_the_dashboard_may_not_read(
    imported, open_page, tmp_path, monkeypatch
):
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    page = open_page("runs", runs="pictured")
    for label in ("Make an HTML report", "Make a page to explore"):
        next(b for b in page.test.button if b.label == label).click().run()
        made = page.test.session_state["page to mail"][2]
        assert "lies outside the folders that this dashboard may read" in made
        assert (
            "<img" not in made
            and ".webp" not in made.partition("<script")[2].partition("worker")[0]
        )


@pytest.fixture
def own(no_runs, pictures):
    """A stopped run of a module, pictures and a loss that are all somebody's own."""
    torch.manual_seed(0)
    paths = sorted(pictures.glob("*/*.png"))
    data = [(Image.open(path), path.parent.name) for path in paths]
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 20 * 20, 8))
    heard = []
    lab.train(
        net, data, lambda e, y: ((e @ e.T - (y[:, None] == y).float()) ** 2).mean(), name="own", runs=no_runs, steps=4,
        batch_size=8, training={"device": "cpu", "validate_every": 2, "checkpoint_every": 2}, listen=heard.append,
        stop=lambda: sum(type(one).__name__ == "Stepped" for one in heard) >= 2,
    )  # fmt: skip
    return net


def test_a_training_of_ones_own_is_shown_and_says_how_it_goes_on(own, no_runs, open_page):
    seen = open_page("watch", watched="own")
    assert seen.calm and "lab.resume('own', encoder=..., loss=...)" in seen.words()
    assert "Resume" not in [button.label for button in seen.test.button]
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 20 * 20, 8))
    lab.resume(
        "own", net, lambda e, y: ((e @ e.T - (y[:, None] == y).float()) ** 2).mean(), runs=no_runs
    )
    for page in ("browse", "inspect", "runs"):
        assert open_page(page, run="own").calm, page
