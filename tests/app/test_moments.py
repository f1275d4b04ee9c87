"""One moment of a training on Browse, Map and Check: chosen once, checked by brute force, live while a run trains."""

from __future__ import annotations

import shutil

import pytest
from test_map_page import true_neighbours as nearest

import lab.runs
from app.results import cache, run_choice
from lab.runs.building.batches import frame


def shown(page, section: str = "neighbours") -> list[int]:
    return [card["id"] for card in page.section("results", section)["cards"]]


def test_every_moment_is_searched_in_its_own_space(runs, open_page):
    run = lab.runs.open(runs / "recall")
    spaces = {step: frame(path) for step, path in run.frames().items()} | {
        None: run.embeddings("validation")
    }
    item = int(spaces[None].items[7])
    page = open_page("browse", run="recall", split="validation", query=str(item))
    assert page.calm and "step" not in page.test.query_params, (
        "the end is where the slider stands by itself"
    )
    for step in (5, 10, None):
        page.test.select_slider(key="step").set_value(
            run_choice.FINAL if step is None else step
        ).run()
        assert page.calm, page.words()
        expected = nearest(spaces[step], item, 24)
        assert shown(page) == expected[: len(shown(page))], step
        assert page.test.query_params.get("step") == (str(step) if step else None)
    page.test.select_slider(key="step").set_value(5).run()
    for name in ("map", "check"):  # the same moment, by the address
        other = open_page(name, **page.test.query_params)
        assert other.calm and "after step 5" in other.words(), other.words()
    assert "upload" not in page.test.radio(key="source").options, (
        "the encoder of an earlier step is not kept"
    )


def test_two_runs_are_compared_after_the_same_step(runs, open_page):
    other = lab.runs.open(runs / "smooth")
    item = int(other.embeddings("validation").items[3])
    page = open_page(
        "browse", run="recall", split="validation", step="5", rival="run:smooth", query=str(item)
    )
    assert page.calm and page.words().count("after step 5") == 2, page.words()
    right = next(one for one in page.gallery("results")["sections"] if "smooth" in one["title"])
    expected = nearest(frame(other.frames()[5]), item, 24)
    assert [card["id"] for card in right["cards"]] == expected[: len(right["cards"])]


def test_a_run_at_work_shows_its_newest_moment_until_the_slider_is_moved(
    runs, open_page, monkeypatch
):
    shutil.rmtree(runs / "smooth")
    run = lab.runs.open(runs / "recall")
    shutil.rmtree(run.path / "embeddings")
    frames = run.frames()
    aside = frames[10].rename(run.path / "later")
    monkeypatch.setattr(run_choice, "state_of", lambda _: lab.runs.folder.RUNNING)
    for name in ("map", "check"):
        assert open_page(name).calm
    page = open_page("browse")
    assert page.calm and "after step 5" in page.words(), page.words()
    shutil.copy(aside, frames[10])
    assert "after step 10" in page.run().words()
    page.test.select_slider(key="step").set_value(5).run()
    shutil.copy(aside, run.path / "frames" / "step_00000015.safetensors")
    assert "after step 5" in page.run().words() and page.calm
    assert "No runs yet" not in page.words()
    for name in ("inspect", "two_stage"):  # these are about evaluated runs
        assert "none with embeddings yet" in open_page(name).words()


@pytest.mark.parametrize("name", ["browse", "map", "check"])
def test_a_moment_that_the_training_has_removed_meanwhile_is_said(
    runs, open_page, monkeypatch, name
):
    """A training thins its moments out while it goes on, at times between a look at the folder and the reading."""
    run, view = lab.runs.open(runs / "recall"), run_choice.view
    before = view(run)
    run.frames()[5].unlink()
    cache.collection.clear()
    monkeypatch.setattr(
        run_choice, "view", lambda one: before if one.name == "recall" else view(one)
    )
    page = open_page(name, run="recall", split="validation", step="5")
    assert not page.test.exception and "unexpected error" not in page.words()
    assert "step 5" in page.words() and "hoose another step" in page.words(), page.words()


def test_what_was_learnt_last_and_forgotten_again_can_be_asked(runs, open_page):
    run = lab.runs.open(runs / "recall")
    labels, seen = run.dataset().labels, {}
    for step, path in run.frames().items():
        moment = frame(path)
        seen[step] = [
            bool(labels[nearest(moment, item, 1)[0]] == labels[item])
            for item in moment.items.tolist()
        ]
    first, middle, last = seen.values()
    steps = list(seen)
    learnt = [
        steps[2 if not b else 1]
        for a, b, c in zip(first, middle, last, strict=True)
        if c and not (a and b)
    ]
    forgotten = [
        steps[2 if b else 1]
        for a, b, c in zip(first, middle, last, strict=True)
        if not c and (a or b)
    ]
    for source, expected in (("learnt", learnt), ("forgotten", forgotten)):
        page = open_page("browse", run="recall", split="validation", queries=source)
        assert page.calm, page.words()
        offered = page.section("candidates", "candidates")
        assert offered["note"].startswith(f"{len(expected)} of 239 queries")
        told = [f"step {step}" for step in sorted(expected, reverse=True)]
        assert [card["value"] for card in offered["cards"]] == told[: len(offered["cards"])]
    assert (
        "learnt"
        not in open_page("browse", run="recall", split="test").test.radio(key="source").options
    )
