"""The palette of every page: what it finds, where it leads, and the letters of the shortcuts."""

from __future__ import annotations

import numpy as np

import lab.runs
from app.results import cache, palette, run_choice, text_search


def offered(page, words: str) -> dict[str, list[str]]:
    """Kind to the titles that the palette offers for some words."""
    page.tell("keys", "asked", {"words": words})
    assert page.calm
    kinds: dict[str, list[str]] = {}
    for place in page.gallery("keys")["places"]:
        kinds.setdefault(place["kind"], []).append(place["title"])
    return kinds


def test_every_page_has_a_letter_of_its_own(no_runs, open_page):
    page = open_page("watch")
    letters = [one["letter"] for one in page.gallery("keys")["pages"]]
    assert all(letters) and len(set(letters)) == len(letters) >= 9
    assert set(offered(page, "")) == {"page"} and offered(page, "heart") == {}


def test_it_finds_pages_runs_classes_and_images(runs, open_page):
    page = open_page("browse", run="smooth")
    assert page.gallery("keys")["words"] is None, "nothing is searched until somebody asks"
    first = offered(page, "")
    assert "Browse" in first["page"] and set(first["run"]) == {"recall", "smooth"} and "class" not in first
    assert offered(page, "recall") == {"run": ["recall"]}
    images, split = lab.runs.open("smooth", runs).dataset(), lab.runs.open("smooth", runs).embeddings("test")
    item = int(split.items[5])
    name = str(images.class_names[images.labels[item]])
    assert offered(page, name.upper())["class"][0] == name
    assert offered(page, str(images.keys[item])) == {"image": [str(images.keys[item])]}
    assert offered(page, str(item))["image"][0] == str(images.keys[item]), "a number is an image's"
    assert offered(page, "no such thing") == {}


def test_what_is_chosen_is_opened(runs, open_page):
    run = lab.runs.open("smooth", runs)
    item, label = int(run.embeddings("test").items[7]), int(run.embeddings("test").labels[7])

    def choose(page, kind: str, name: str):
        page.tell("keys", "chosen", {"kind": kind, "name": name})
        return page

    page = choose(open_page("figures"), "run", "smooth")
    assert page.calm and page.test.query_params["run"] == "smooth" and page.test.header[0].value == "Browse"
    page = choose(open_page("browse", run="smooth"), "image", str(item))
    assert page.calm and page.test.query_params["query"] == str(item)
    page = choose(open_page("browse", run="smooth"), "class", str(label))
    assert page.calm and page.test.query_params["class"] == str(label)
    assert page.test.session_state["query"] in run.embeddings("test").items[run.embeddings("test").labels == label]
    page = choose(open_page("browse", run="smooth"), "page", "map")
    assert page.calm and page.test.header[0].value == "Map"
    page = choose(open_page("map", run="smooth"), "run", "recall")
    assert page.calm and page.test.header[0].value == "Map" and page.test.query_params["run"] == "recall"


def test_what_a_browser_makes_up_leads_nowhere_bad(runs, open_page):
    page = open_page("browse", run="smooth")
    for sent in ({}, {"kind": "run", "name": "../recall"}, {"kind": "class", "name": "-"}):
        page.tell("keys", "chosen", sent)
        assert page.calm and page.test.header[0].value == "Browse"


def test_texts_that_begin_with_the_words_come_first():
    known = text_search.known(["red heart", "heart", "black heart suit", "star", "heart on fire"])
    assert text_search.first_rows(known, "Heart", 6) == [1, 4, 0, 2]
    assert text_search.first_rows(known, "suit black", 6) == [2] and text_search.first_rows(known, "hearts", 6) == []


def test_images_without_a_class_are_no_classes(no_runs):
    vectors = np.random.default_rng(0).normal(size=(6, 4))
    run = lab.runs.from_embeddings(vectors, name="bare", normalise=True, runs=no_runs)
    view = run_choice.view(run)
    whole = cache.collection("bare", view.splits[0], view.stamp)
    assert len(palette._class_names("bare", view.splits[0], view.stamp, whole)[0]) == 0
