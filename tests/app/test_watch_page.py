"""The Watch page and the journal under it: finished, failed, running and damaged runs."""

from __future__ import annotations

import json
import math
import shutil

import pytest

import lab.runs
from app.shared import charts
from lab.core import files
from lab.core.files import read_json, write_json
from lab.runs.folder import RUNNING
from lab.runs.writer import Writer

PARTS = ("Progress", "Similarities", "Decomposability", "Log")


@pytest.mark.parametrize("part", PARTS[2:])
def test_every_part_of_a_finished_run(runs, open_page, part):
    page = open_page("watch", watched="recall", part=part)
    assert page.calm, page.words()
    assert page.test.radio(key="watched part").value == part
    assert page.test.query_params == {"watched": "recall", "part": part}


def test_every_part_of_a_run_that_has_not_begun(no_runs, open_page):
    lab.runs.create(lab.runs.RunConfig.of(), no_runs, "waiting")
    page = open_page("watch")
    for part in PARTS:
        page.test.radio(key="watched part").set_value(part).run()
        assert page.calm, page.words()


def test_pinned_queries_are_ranked_at_each_validation(runs, open_page):
    records = lab.runs.open(runs / "recall").metrics("validated")
    page = open_page("watch", watched="recall")
    sections = page.gallery("film")["sections"]
    assert [s["title"] for s in sections[1:]] == [f"After step {r['step']}" for r in records]
    second = sections[0]["cards"][1]["id"]
    page.pick("film", "pinned", second)
    strip = next(s for s in records[-1]["pinned"] if s["query"] == second)
    assert [c["id"] for c in page.gallery("film")["sections"][-1]["cards"]] == strip["neighbours"]
    labels = lab.runs.open(runs / "recall").dataset().labels
    for card in page.gallery("film")["sections"][-1]["cards"]:
        assert card["right"] == bool(labels[card["id"]] == labels[second])


def test_the_moment_and_the_pinned_query_are_in_the_address(runs, open_page):
    steps = [record["step"] for record in lab.runs.open(runs / "recall").metrics("validated")]
    page = open_page("watch", watched="recall", part="Similarities")
    slider = page.test.select_slider(key="after")
    assert slider.value == steps[-1] and "after" not in page.test.query_params
    slider.set_value(steps[0]).run()
    assert page.again().test.select_slider(key="after").value == steps[0]
    page.test.radio(key="watched part").set_value("Progress").run()
    page.pick("film", "pinned", page.section("film", "pinned")["cards"][2]["id"])
    assert set(page.test.query_params) == {"watched", "pinned"}
    assert page.again().gallery("film") == page.gallery("film")


def test_a_failed_run_says_why_and_shows_its_log(runs, open_page):
    run = lab.runs.open(runs / "recall")
    Writer(run).status(
        "failed", sentence="Out of memory: set --training.chunk to <b>fewer</b> images."
    )
    Writer(run).log("Traceback of the *worker*")
    page = open_page("watch", watched="recall")
    assert not page.test.exception
    assert "Out of memory" in page.test.error[0].value
    assert "Traceback of the *worker*" in page.test.code[0].value
    assert any(b.label == "Resume" for b in page.test.button)


def test_a_running_run_can_be_asked_to_stop(runs, open_page, monkeypatch):
    asked = []
    monkeypatch.setattr("app.shared.queueing.stop", asked.append)
    writer = Writer(lab.runs.open(runs / "recall"))
    writer.claim()
    writer.status(RUNNING, phase="training", step=3, steps=10, eta_seconds=200.0)
    page = open_page("watch", watched="recall")
    assert page.calm, page.words()
    next(b for b in page.test.button if b.label == "Stop").click().run()
    assert asked == ["recall"]


def test_a_guest_who_presses_stop_reads_a_sentence(runs, open_page, monkeypatch):
    writer = Writer(lab.runs.open(runs / "recall"))
    writer.claim()
    writer.status(RUNNING, phase="training", step=3, steps=10, eta_seconds=200.0)
    monkeypatch.setattr(files, "guest", lambda: True)
    page = open_page("watch", watched="recall")
    next(b for b in page.test.button if b.label == "Stop").click().run()
    assert page.calm and "Guests may look" in page.test.toast[0].value
    assert not any(b.label == "Kill now" for b in page.test.button), "nothing was stopped"


def test_a_dead_worker_is_interrupted_and_can_resume(runs, open_page, monkeypatch):
    run = lab.runs.open(runs / "recall")
    Writer(run).status(RUNNING, phase="training", step=3)
    Writer(run).describe({"worker": {"host": "vm-that-is-gone", "pid": 1, "create_time": 1.0}})
    status = read_json(run.path / "status.json")
    write_json(run.path / "status.json", {**status, "updated": 0})
    page = open_page("watch", watched="recall")
    assert not page.test.exception
    assert "ended without a word" in page.test.error[0].value


def step(number: int, **values) -> str:
    return (
        json.dumps({"kind": "stepped", "step": number, "loss": 1 / number, "lr": 0.1, **values})
        + "\n"
    )


def drawn(page) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in page.test.get("plotly_chart")]


def titles(page) -> list[str]:
    return [one["layout"]["title"]["text"] for one in drawn(page)]


def test_several_runs_stand_on_one_chart_for_the_quantities_that_were_chosen(runs, open_page):
    page = open_page("watch", watched="recall", also=["smooth", "recall"])
    assert page.calm, page.words()
    assert titles(page) == ["MAP@R", "loss"], "until somebody chooses"
    assert [trace["name"] for trace in drawn(page)[0]["data"]] == ["recall", "smooth"]
    page.test.multiselect(key="quantities").set_value(["memory_bytes", "lr"]).run()
    page.test.slider(key="smoothing").set_value(0.9).run()
    page.test.toggle(key="log_steps").set_value(True).run()
    page.test.toggle(key="log_values").set_value(True).run()
    assert page.calm, page.words()
    assert sorted(titles(page)) == ["learning rate", "memory, GB"]
    memory = drawn(page)[titles(page).index("memory, GB")]
    assert memory["layout"]["xaxis"]["type"] == memory["layout"]["yaxis"]["type"] == "log"
    assert 0.01 < memory["data"][0]["y"][0] < 100, "in the unit of the title"
    other = page.again()
    assert other.calm and drawn(other) == drawn(page)
    assert set(other.test.query_params) == {
        "watched",
        "also",
        "quantity",
        "smooth",
        "logsteps",
        "logvalues",
    }
    shutil.rmtree(runs / "smooth")
    page.run()
    assert page.calm and page.test.query_params["also"] == "smooth", (
        "the address keeps a run that was moved away"
    )
    assert "something that does not exist\\: further runs smooth" in page.words(), page.words()


def test_smoothing_is_tensorboards():
    """Its loop, as TensorBoard's line chart has it, against ours."""
    values = [None if at % 7 == 3 else math.sin(at) + 2 for at in range(60)]
    last, count, expected = 0.0, 0, []
    for value in values:
        if value is not None:
            last, count = last * 0.8 + 0.2 * value, count + 1
        expected.append(None if value is None else pytest.approx(last / (1 - 0.8**count)))
    assert list(charts.smooth(values, 0.8)) == expected
    assert (
        charts.smooth(values, 0) is values and charts.smooth(values[:30], 0.8)[:30] == values[:30]
    )
    raw, line = charts.curves({"loss": (list(range(60)), values)}, "loss", smoothing=0.8).data
    assert list(raw.y) == values and raw.opacity < 0.5 and list(line.y) == expected


def test_a_run_that_waits_is_followed_and_comes_first(runs, open_page):
    """It was drawn once and stayed "Waits in the queue" while it trained."""
    from lab.launchers.background.queue import Queue

    for name in ("first", "second"):
        Queue(runs).add(lab.runs.create(lab.runs.RunConfig.of(), runs, name))
    page = open_page("watch")
    assert page.calm and "Waits in the queue, place 1 of 2" in page.words()
    assert page.test.query_params["watched"] == "first", "the next to start, not the newest"
    shown = page.followed("watched run")
    Queue(runs).remove("second")
    assert not page.changed(shown), "nothing that is shown of the first one"
    Queue(runs).remove("first")
    assert page.changed(shown)


def test_the_best_checkpoint_is_marked_on_the_scores(runs, open_page):
    page = open_page("watch", watched="recall")
    drawn = json.loads(page.test.get("plotly_chart")[0].proto.spec)
    best = lab.runs.open(runs / "recall").origin("test").step
    assert [line["x0"] for line in drawn["layout"]["shapes"]] == [best]
    assert drawn["layout"]["annotations"][0]["text"] == "best checkpoint"
