"""Pages of figures that train at every stop: trained beforehand, shared stops once, with the same numbers as Python."""

import base64
import gzip
import itertools
import json

import pytest

import lab.figures
from lab.core.knobs import describe
from lab.figures import _kept, _toy, live_page, plotly_js
from tests.figures.test_live_page import rebuilt

TINY = {"steps": 6, "seeds": 1, "snapshot": 6, "every": 2, "classes": 3, "per_class": 4, "lam": (0.4,)}
TRAINS = [n for n in lab.figures.names() if lab.figures.get(n).stops and lab.figures.create(n).training_steps()]


@pytest.fixture
def tiny(monkeypatch):
    """A figure with a page of two by two pictures, each trained for a few steps."""

    def made(name):
        kind = lab.figures.get(name)
        there = {knob.name: knob for knob in describe(kind.Knobs)}
        small = {k: v if k == "lam" else max(v, there[k].ge or v) for k, v in TINY.items() if k in there}
        ends = {k: (0, 6) if k == "steps" else (v[0], v[-1]) for k, v in kind.stops.items()}
        monkeypatch.setattr(kind, "stops", ends)
        return kind(**small | {k: v[0] for k, v in ends.items()})

    return made


def body_of(figure):
    packed, kinds = live_page.packed_pictures(figure)
    assert kinds <= plotly_js.TRACES
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_all_nine_are_looked_at():
    assert len(TRAINS) == 9


@pytest.mark.parametrize("name", TRAINS)
def test_every_stop_shows_what_python_trains_there(name, tiny):
    figure = tiny(name)
    body = body_of(figure)
    names = [slider["name"] for slider in body["sliders"]]
    assert names == list(figure.stops)
    stops = list(itertools.product(*(slider["stops"] for slider in body["sliders"])))
    pictures = rebuilt(body)
    assert len(pictures) == len(stops) >= 2
    for at in (len(stops) // 3, len(stops) - 1):
        wanted = type(figure)(**{**dict(figure.knobs), **dict(zip(names, stops[at], strict=True))})
        drawn = json.loads(wanted.figure().to_json())
        assert (pictures[at]["data"], pictures[at]["layout"]) == (drawn["data"], drawn["layout"]), stops[at]


@pytest.mark.parametrize(("name", "trainings"), [("train_test_paths", 2 * 3), ("trick_switchboard", 2**3)])
def test_what_stops_share_is_trained_once(name, trainings, tiny):
    figure, taken = tiny(name), []
    token = _toy.on_step.set(lambda: taken.append(1))
    try:
        body_of(figure)
        assert len(taken) == trainings * figure.knobs.steps
        figure.numbers()
        assert len(taken) == trainings * figure.knobs.steps + figure.training_steps(), "kept for a page, not for good"
    finally:
        _toy.on_step.reset(token)


def test_the_oldest_goes_first(monkeypatch):
    monkeypatch.setattr(_kept, "MOST", 2)
    made = []
    with _kept.keeping():
        for number in (1, 2, 1, 3, 2, 1):
            _kept.once(made.append, number)
    assert made == [1, 2, 3, 1]


def test_the_page_says_what_was_trained_and_where_the_rest_is():
    assert lab.figures.get("vector_lengths").origin() == "Of this lab, after no paper"
    assert "trained beforehand" in live_page.trained_words(lab.figures.create("trick_switchboard"))
    assert live_page.trained_words(lab.figures.create("h_minus")) == ""
    assert live_page.trained_words(lab.figures.create("tau1_sweep", data="Emoji-7")) == ""
