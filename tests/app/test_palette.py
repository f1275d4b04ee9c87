"""The palette of every page: what it finds, where it leads, and the letters of the shortcuts."""

from __future__ import annotations

from urllib.parse import parse_qsl

import lab.runs
from app.results import filters


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
    filters.texts_of.clear()  # another test may have had a run of this name
    page = open_page("browse", run="smooth")
    assert page.gallery("keys")["words"] is None, "nothing is searched until somebody asks"
    first = offered(page, "")
    assert (
        "Browse" in first["page"]
        and set(first["run"]) == {"recall", "smooth"}
        and "class" not in first
    )
    assert offered(page, "recall") == {"run": ["recall"]}
    images, split = (
        lab.runs.open("smooth", runs).dataset(),
        lab.runs.open("smooth", runs).embeddings("test"),
    )
    item = int(split.items[5])
    name = str(images.class_names[images.labels[item]])
    assert offered(page, name.upper())["class"][0] == name
    assert offered(page, str(images.keys[item])) == {"image": [str(images.keys[item])]}
    assert offered(page, str(item))["image"][0] == str(images.keys[item]), "a number is an image's"
    assert offered(page, "no such thing") == {}


def test_each_place_has_an_address(runs, open_page):
    run = lab.runs.open("smooth", runs)
    images, item, label = (
        run.dataset(),
        int(run.embeddings("test").items[7]),
        int(run.embeddings("test").labels[7]),
    )

    def follow(page, words: str, kind: str):
        page.tell("keys", "asked", {"words": words})
        place = next(one for one in page.gallery("keys")["places"] if one["kind"] == kind)
        name, _, query = place["address"].partition("?")
        opened = open_page(name, **dict(parse_qsl(query)))
        assert opened.calm
        return opened.test

    page = open_page("browse", run="smooth")
    assert follow(page, str(item), "image").query_params["query"] == str(item)
    test = follow(page, str(images.class_names[label]), "class")
    assert test.query_params["class"] == str(images.class_names[label])
    assert (
        test.session_state["query"]
        in run.embeddings("test").items[run.embeddings("test").labels == label]
    )
    assert follow(page, "map", "page").header[0].value == "Map"
    assert follow(open_page("figures"), "smooth", "run").header[0].value == "Browse"
    test = follow(open_page("map", run="smooth"), "recall", "run")
    assert test.header[0].value == "Map" and test.session_state["run"] == "recall"
