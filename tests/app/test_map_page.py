"""The Map page, headless: true neighbours against brute force, selections, moments, and maps drawn behind the page."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

import lab.maps
import lab.runs
from app import served
from app.views.map import colouring, scene
from lab.__main__ import main
from lab.core.files import write_json
from lab.core.results import EmbeddingSet
from lab.maps import kept, of_run
from lab.maps.kept import Chart


def drawn(page) -> dict:
    """What the map was given to draw, with the columns that the browser would fetch as lists."""
    sent = page.gallery("map drawn")
    files = {name: served.read(file) for name, file in sent.pop("files").items()}
    ids, places = files["ids"], files["after"].reshape(-1, 2)
    bits = (
        np.unpackbits(files["selected"], count=len(ids))
        if "selected" in files
        else np.zeros(len(ids))
    )
    columns = {name: files[name].tolist() for name in ("names", "categories")}
    of = {
        "ids": ids.tolist(),
        "x": places[:, 0].tolist(),
        "selected": ids[bits.astype(bool)].tolist(),
    }
    return sent | columns | of


def tell(page, event: str, value: dict):
    """Let the map report an event, as the browser does."""
    return page.tell("map drawn", event, value)


def true_neighbours(embedded: EmbeddingSet, item: int, k: int) -> list[int]:
    row = int(np.flatnonzero(embedded.items == item)[0])
    scores = embedded.vectors.astype(np.float64) @ embedded.vectors[row].astype(np.float64)
    order = np.argsort(-scores, kind="stable")
    return embedded.items[order[order != row][:k]].tolist()


def test_a_picked_point_shows_its_neighbours_in_the_full_space(runs, open_page):
    embedded = lab.runs.open(runs / "recall").embeddings("test")
    item = int(embedded.items[31])
    page = open_page("map", run="recall", split="test", item=str(item))
    assert page.calm, page.words()
    expected = true_neighbours(embedded, item, 5)
    assert [line["to"] for line in drawn(page)["lines"]] == expected
    labels = dict(zip(embedded.items.tolist(), embedded.labels.tolist(), strict=True))
    assert [line["right"] for line in drawn(page)["lines"]] == [
        labels[one] == labels[item] for one in expected
    ]
    listed = page.section("map images", "neighbours")["cards"]
    assert [card["id"] for card in listed] == expected
    # From the grid back to the map: a card becomes the picked point, and the address says so.
    page.pick("map images", "neighbours", expected[2])
    assert drawn(page)["picked"] == expected[2]
    assert page.test.query_params["item"] == str(expected[2])


def test_a_lasso_lists_its_images_and_the_legend_counts_them(runs, open_page):
    page = open_page("map", run="recall", split="test")
    shown = drawn(page)
    inside = shown["ids"][10:40]
    tell(page, "lassoed", {"ids": [*inside, 10**9]})
    assert page.calm, page.words()
    assert sorted(drawn(page)["selected"]) == sorted(inside)
    listed = page.section("map images", "selection")
    assert {card["id"] for card in listed["cards"]} == set(inside)
    assert "30 images" in listed["note"]
    tell(page, "picked", {"id": inside[0]})
    assert drawn(page)["picked"] == inside[0]
    assert sorted(drawn(page)["selected"]) == sorted(inside), "a click keeps the lasso"
    tell(page, "lassoed", {"ids": []})
    assert not drawn(page)["selected"]


def test_colours_follow_any_attribute_and_sum_up_what_is_rare(runs, open_page):
    page = open_page("map", run="recall", split="test")
    images = lab.runs.open(runs / "recall").dataset()
    for field in page.test.selectbox(key="colour").options[::3]:
        page.test.selectbox(key="colour").set_value(field).run()
        assert page.calm, page.words()
        shown = drawn(page)
        counts = np.bincount(shown["categories"], minlength=len(shown["legend"]))
        assert counts.tolist() == [line["count"] for line in shown["legend"]], field
        assert len({(line["mark"], line["colour"]) for line in shown["legend"]}) == len(
            shown["legend"]
        )
    page.test.selectbox(key="colour").set_value("vendor").run()
    shown = drawn(page)
    names = [shown["legend"][category]["name"] for category in shown["categories"]]
    assert names == [str(images.attributes["vendor"][item]) for item in shown["ids"]]


def test_many_values_keep_the_marks_for_those_in_the_selection():
    values = np.array([f"class {one:03d}" for one in np.repeat(np.arange(60), 5)])
    selected = np.zeros(300, bool)
    selected[250:255] = selected[297] = True  # all of class 50, one image of class 59
    known, codes = np.unique(values, return_inverse=True)
    lines, line_of = colouring.coded_legend(known.tolist(), codes, selected)
    assert [line.name for line in lines[:2]] == ["class 050", "class 059"]
    assert lines[-1].name == "52 others" and not lines[-1].colour
    assert sum(line.count for line in lines) == 300
    assert (line_of[250:255] == 0).all() and line_of[297] == 1
    looks = []  # a value looks the same in every split
    for counts in ((5, 1, 3), (1, 4, 2)):
        known, codes = np.unique(
            np.repeat(["Food", "Objects", "Smileys"], counts), return_inverse=True
        )
        lines, _ = colouring.coded_legend(known.tolist(), codes, np.zeros(len(codes), bool))
        looks.append({line.name: (line.mark, line.colour) for line in lines})
    assert looks[0] == looks[1]


def test_validations_over_time_are_moments_of_one_map(runs, open_page):
    run = lab.runs.open(runs / "recall")
    page = open_page("map", run="recall", split="validation", step="5")
    assert page.calm, page.words()
    assert page.test.query_params["step"] == "5"
    before = drawn(page)
    page.test.select_slider(key="step").set_value(10).run()
    after = drawn(page)
    assert page.test.query_params["step"] == "10"
    assert (before["of"], before["ids"]) == (after["of"], after["ids"]), (
        "the points stay, their places move"
    )
    assert before["x"] != after["x"]
    whole = of_run.sheet(run, "test")
    assert whole.nearest_right.mean() == pytest.approx(np.nanmean(run.per_query("test")["r@1"]))
    frame = of_run.sheet(run, "validation", 5)
    first = int(frame.whole.items[0])
    assert frame.neighbours(first, 3)[0].tolist() == true_neighbours(frame.whole, first, 3)


def test_a_sampled_map_says_so_and_still_searches_everything(runs, open_page, monkeypatch):
    monkeypatch.setattr(of_run, "MOST", 60)
    scene.sheet.clear()
    scene.pca.clear()
    embedded = lab.runs.open(runs / "recall").embeddings("test")
    try:
        page = open_page("map", run="recall", split="test")
        assert len(drawn(page)["ids"]) == 60
        assert f"60 of {len(embedded):,} images" in page.words()
        item = drawn(page)["ids"][7]
        tell(page, "picked", {"id": item})
        assert [line["to"] for line in drawn(page)["lines"]] == true_neighbours(embedded, item, 5)
    finally:
        scene.sheet.clear()
        scene.pca.clear()


def test_a_slow_map_is_drawn_once_by_a_process_of_its_own_and_kept(runs, open_page):
    run = lab.runs.open(runs / "recall")
    chart = Chart(run, "validation", "tsne")
    page = open_page("map", run="recall", split="validation", map="tsne")
    assert page.calm, page.words()
    assert "computed in the background" in page.words()
    worker = json.loads(chart._job.read_text())["worker"]
    chart.start()  # another tab
    assert json.loads(chart._job.read_text())["worker"] == worker
    deadline = time.monotonic() + 300
    while (
        chart.read() is None
        and chart.progress["state"] == "working"
        and time.monotonic() < deadline
    ):
        time.sleep(0.2)
    found = chart.read()
    assert found is not None, chart.progress
    shown = of_run.sheet(run, "validation").on_map
    measured = lab.maps.quality(shown.vectors, found.flat[0], of_run.NEAREST)
    assert found.at(-1)[1] == pytest.approx(measured)
    page.run()
    assert "background" not in page.words() and page.calm
    # New embeddings make it a map of something else.
    path = run.path / "embeddings" / "validation.safetensors"
    path.write_bytes((run.path / "embeddings" / "test.safetensors").read_bytes())
    assert chart.read() is None


def test_the_page_opens_on_umap_where_that_is_laid_out(runs, open_page):
    run = lab.runs.open(runs / "recall")
    assert drawn(open_page("map", run="recall", split="test"))["alt"].startswith("PCA map")
    chart = Chart(run, "test", "umap")
    chart.keep(kept.pca_map(run, "test"), chart.fingerprint)  # any places will do
    page = open_page("map", run="recall", split="test")
    assert drawn(page)["alt"].startswith("UMAP map") and "map" not in page.test.query_params
    assert drawn(open_page("map", run="recall", split="validation"))["alt"].startswith("PCA map")


def test_one_process_lays_out_every_split_when_a_run_of_the_queue_has_ended(
    no_runs, monkeypatch, train_tiny
):
    started = []
    monkeypatch.setattr(
        Chart, "start", lambda chart, *others: started.append((chart.method, chart.split, *others))
    )
    run = train_tiny(no_runs, "first")
    assert (
        main(["train", "--resume", "first", "--runs", str(no_runs), "--quiet"]) == 0 and not started
    )
    write_json(run.path / "launch.json", {})
    assert main(["train", "--resume", "first", "--runs", str(no_runs), "--quiet"]) == 0
    assert started == [("umap", "test", "validation")]


def test_choices_are_in_the_address(runs, open_page):
    page = open_page("map", run="recall")
    assert page.test.query_params == {"run": "recall"}, "what stands at its default stays out"
    page.test.selectbox(key="colour").set_value("vendor").run()
    page.test.get("button_group")[2].set_value(10).run()
    inside = drawn(page)["ids"][5:90]
    tell(page, "lassoed", {"ids": inside})
    tell(page, "picked", {"id": inside[3]})
    other = page.again()
    assert other.calm and other.test.query_params == page.test.query_params
    assert set(other.test.query_params) == {"run", "colour", "near", "item"}
    shown = drawn(page)
    assert (
        drawn(other) | {"selected": inside, "alt": shown["alt"]} == shown
        and not drawn(other)["selected"]
    )


def test_numbers_are_a_scale_from_low_to_high():
    numbers = np.concatenate([np.linspace(0, 1, 99), [1000.0, np.nan]])
    lines, steps = colouring.scale(numbers)
    assert [line.colour for line in lines[:-1]] == list(colouring.SHADES) and lines[
        -1
    ].name == "no number"
    assert (np.diff(steps[:99]) >= 0).all() and steps[99] == 7 and steps[100] == 8
    assert all(line.count > 5 for line in lines[:-1]), "one strange value does not take all colours"
    assert [line.count for line in lines] == np.bincount(steps).tolist()
    known = [f"{value / 10}" for value in range(30)]
    codes, nobody = np.arange(30), np.zeros(30, bool)
    assert colouring.by_value("weight", known, codes, nobody)[0][0].name.startswith("below ")
    assert colouring.by_value("class", known, codes, nobody)[0][0].name == "0.0", (
        "a class is no quantity"
    )
    assert (
        colouring.by_value("weight", [*known, "heavy"], np.arange(31), np.zeros(31, bool))[0][
            0
        ].name
        == "0.0"
    )
