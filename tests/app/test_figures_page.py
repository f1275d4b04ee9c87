"""The Figures page: every figure, its knobs, its deep link, what is dragged, and small trainings."""

from __future__ import annotations

import json

import pytest

import lab.figures
from app.shared import address, settings
from app.views.figures import figure_topics
from lab.core import files
from lab.core.knobs import describe
from lab.figures import live_page

OF_EACH_KIND = [
    "surrogates",
    "recall_strip",
    "metric_playground",
    "gradient_parts",
    "roadmap_pipeline",
    "run_curves",
]
"""At once, with scores or points that are dragged, one that plays, one with code behind it, and one of runs."""


def in_page(name: str) -> bool:
    return live_page.has_form(lab.figures.get(name))


def chart(page) -> dict:
    """The plotly figure on the page, as the browser gets it."""
    (found,) = page.test.get("plotly_chart")
    return json.loads(found.proto.spec)


def code(page) -> str:
    return page.test.code[0].value


def report(page, key: str, values: dict, count: int = 1) -> None:
    """Tell the server that something was dragged, as the browser does."""
    page.tell(key, "moved", {"values": values, "count": count})


def test_every_figure_has_a_shelf_and_the_flagship_comes_first():
    topics = figure_topics.topics()
    assert sorted(name for names in topics.values() for name in names) == sorted(
        lab.figures.names()
    )
    first, titles = next(iter(topics.values())), list(topics)
    assert first[0] == "surrogates" and "h_minus" in first
    assert all(title.endswith("?") for title in titles), "a folder of figures asks a question"
    assert max(map(len, titles)) <= 45, "the sidebar would cut it off"


@pytest.fixture(scope="module")
def module_page(tmp_path_factory):
    """One session that walks from figure to figure, as a person does."""
    from tests.app.conftest import Page

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAB_RUNS", str(tmp_path_factory.mktemp("none")))
        yield Page("figures")


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_every_figure_is_that_of_the_notebooks(module_page, name):
    page = module_page
    page.test.query_params.clear()
    page.test.query_params["figure"] = name
    page.run()
    assert page.calm, page.words()
    assert page.test.selectbox(key="figure").value == name
    figure = lab.figures.create(name)
    assert code(page) == figure.code()
    assert page.test.query_params == {"figure": name}
    if in_page(name):
        assert page.gallery(f"live {name}")["values"] == json.loads(json.dumps(dict(figure.knobs)))
        return
    drawn, shown = figure.figure(), chart(page)
    assert [trace["type"] for trace in shown["data"]] == [trace.type for trace in drawn.data]
    if figure.tier == "instant":
        assert drawn.layout.meta["alt"] in page.words()
    for knob in describe(figure.Knobs):
        hidden = knob.name in (*figure.drag, *figure.idle())
        assert hidden or f"figure.{name}.{knob.name}" in page.test.session_state


def test_a_slider_moves_the_figure_and_the_address(no_runs, open_page):
    page = open_page("figures", figure="gradient_by_rank")
    before = chart(page)
    tau = next(s for s in page.test.select_slider if s.key == "figure.gradient_by_rank.tau1")
    tau.set_value(2.0).run()
    assert page.calm, page.words()
    assert code(page) == "lab.figures.create('gradient_by_rank', tau1=2.0).figure()"
    assert chart(page) != before
    assert json.loads(page.test.query_params["knobs"]) == {"tau1": 2.0}
    page.test.button[0].click().run()
    assert code(page) == "lab.figures.create('gradient_by_rank').figure()"
    assert chart(page) == before
    assert "knobs" not in page.test.query_params


@pytest.mark.parametrize("guest", [False, True])
def test_a_file_that_a_figure_names_lies_in_the_folders_of_the_page(
    no_runs, open_page, monkeypatch, tmp_path_factory, guest
):
    """The owner may name files of --data and of the runs; a guest those of the runs alone."""
    monkeypatch.setattr(files, "guest", lambda: guest)
    places = {where: tmp_path_factory.mktemp(where) for where in ("outside", "data")}
    monkeypatch.setenv(settings.DATA, str(places["data"]))
    for where, folder in {**places, "runs": no_runs}.items():
        (folder / "note.json").write_text('{"a secret": 1}')
        knobs = json.dumps({"file": str(folder / "note.json")})
        words = open_page("figures", figure="measured_tricks", knobs=knobs).words()
        allowed = where == "runs" or where == "data" and not guest
        assert ("protocol is missing" in words) == allowed, where
        assert ("outside the folders" in words) != allowed, where


@pytest.mark.parametrize(
    "address",
    [
        {"figure": "h_minus", "knobs": '{"nonsense": 1}'},
        {"figure": "recall_strip", "knobs": '{"scores": [1, 2, "<b>"], "pattern": "<b>"}'},
    ],
)
def test_a_bad_address_falls_back_to_the_defaults(no_runs, open_page, address):
    page = open_page("figures", **address)
    assert page.calm, page.words()
    assert "(" + repr(page.test.selectbox(key="figure").value) + ")" in code(page)
    assert "knobs" in page.test.warning[0].value


def test_a_figure_that_is_not_there_is_said(no_runs, open_page):
    page = open_page("figures", figure="no such figure")
    assert page.calm and "There is no figure no such figure" in page.words()
    page.test.selectbox(key="figure instead").set_value("h_minus").run()
    assert "('h_minus')" in code(page) and page.test.query_params["figure"] == "h_minus"


def test_dragged_scores_are_the_figures(no_runs, open_page):
    page = open_page("figures", figure="recall_strip")
    scores = [0.9, 0.8, 0.7, 0.1]
    report(page, "live recall_strip", {"scores": scores, "pattern": "+-+-"})
    assert page.calm, page.words()
    expected = lab.figures.create("recall_strip", scores=tuple(scores), pattern="+-+-")
    assert code(page) == expected.code()
    sent = page.gallery("live recall_strip")
    assert sent["heard"] == 1 and sent["values"]["scores"] == scores
    for bad in ({"scores": [5.0], "pattern": "+"}, {"scores": "x"}, {"k": 0}):
        report(page, "live recall_strip", bad, 2)
        assert page.calm, page.words()
        assert code(page) == expected.code()
    report(page, "live recall_strip", {**sent["values"], "k": 3}, 3)
    assert json.loads(page.test.query_params["knobs"]) == {
        "scores": scores,
        "pattern": "+-+-",
        "k": 3,
    }
    again = page.again()
    assert again.gallery("live recall_strip")["values"] == {**sent["values"], "k": 3}
    page.test.button[0].click().run()
    assert (
        code(page) == "lab.figures.create('recall_strip').figure()"
        and "knobs" not in page.test.query_params
    )


def test_what_the_browser_cannot_draw_comes_with_its_knobs(no_runs, open_page):
    page = open_page("figures", figure="ap_strip")
    sent = page.gallery("live ap_strip")
    assert sent["picture"] is None
    report(page, "live ap_strip", {**sent["values"], "loss": "fast_ap"})
    sent = page.gallery("live ap_strip")
    assert (
        sent["picture"]["code"]
        == code(page)
        == "lab.figures.create('ap_strip', loss='fast_ap').figure()"
    )


def test_dragged_points_stay_until_the_layout_moves(no_runs, open_page):
    page = open_page("figures", figure="metric_playground")
    own = {"x": [0.0, 1.0, 4.0, 5.0], "y": [0.0, 0.0, 1.0, 1.0], "classes": "AABB", "fixed": False}
    report(page, "points metric_playground", own)
    assert page.calm, page.words()
    assert "classes='AABB'" in code(page)
    page.test.slider(key="figure.metric_playground.k").set_value(3).run()
    assert "classes='AABB'" in code(page), (
        "another number of clusters leaves the points where they are"
    )
    page.test.slider(key="figure.metric_playground.seed").set_value(4).run()
    assert code(page) == lab.figures.create("metric_playground", k=3, seed=4).code()


def test_dragged_points_are_in_the_address_as_long_as_it_can_hold_them(
    no_runs, open_page, monkeypatch
):
    page = open_page("figures", figure="metric_playground")
    own = {
        "x": [0.123456789, 1.0, 4.0, 5.0],
        "y": [0.0, 0.0, 1.0, 1.0],
        "classes": "AABB",
        "fixed": False,
    }
    report(page, "points metric_playground", own)
    other = page.again()
    assert (
        other.calm
        and code(other) == code(page)
        and other.test.query_params == page.test.query_params
    )
    assert json.loads(other.test.query_params["knobs"])["x"][0] == 0.1235
    other.test.query_params.pop("knobs")  # somebody goes back to before the first move
    assert code(other.run()) == "lab.figures.create('metric_playground').figure()"
    monkeypatch.setattr(address, "LONGEST", 20)
    page.run()
    assert "knobs" not in page.test.query_params and "too many points for a link" in page.words()


def test_the_parts_play(no_runs, open_page):
    page = open_page("figures", figure="gradient_parts")
    step = page.test.slider(key="figure.gradient_parts.part").value
    page.test.button(key="figure.gradient_parts.part play button").click().run()
    assert page.test.button(key="figure.gradient_parts.part play button").label == "Pause"
    page.test.session_state["figure.gradient_parts.part due"] = True  # what the beat leaves behind
    page.run()
    assert page.test.slider(key="figure.gradient_parts.part").value == step + 1
    page.test.session_state["figure.gradient_parts.part"] = 3
    page.test.session_state["figure.gradient_parts.part due"] = True
    page.run()
    assert page.test.button(key="figure.gradient_parts.part play button").label == "Play", (
        "it stops at the end"
    )


def test_a_small_training_can_be_stopped_begun_anew_and_is_then_shown(
    no_runs, open_page, monkeypatch
):
    made, drawn = [], lab.figures.create("surrogates").figure()

    class Training:
        over, refused, progress = False, "", 0.5

        def __init__(self, figure):
            made.append(self)

        def stop(self):
            self.over, self.refused = True, "It was stopped."

        def figure(self):
            return drawn

    monkeypatch.setattr("lab.figures.background.FigureTraining", Training)
    page = open_page("figures", figure="distance_histogram")
    assert page.calm and not page.test.get("plotly_chart"), page.words()
    made[0].stop()
    page.run()
    assert "It was stopped" in page.words()
    next(one for one in page.test.button if one.label == "Train again").click()
    page.run()
    assert len(made) == 2
    made[1].over = True
    page.run()
    assert page.calm and chart(page)["layout"]["meta"] == drawn.layout.meta, page.words()
