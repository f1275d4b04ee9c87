"""Pages of figures that train at every stop: trained beforehand, shared stops once, with the same numbers as Python."""

import base64
import gzip
import itertools
import json

import pytest

import lab.figures
from lab.core.knobs import describe
from lab.figures import _toy, live_page
from tests.figures.test_live_page import rebuilt

TINY = {
    "steps": 6,
    "seeds": 1,
    "snapshot": 6,
    "every": 2,
    "classes": 3,
    "per_class": 4,
    "lam": (0.4,),
}
TRAINS = [
    n
    for n in lab.figures.names()
    if lab.figures.get(n).stops and lab.figures.create(n).training_steps()
]


@pytest.fixture
def tiny(monkeypatch):
    """A figure with a page of two by two pictures, each trained for a few steps."""

    def made(name):
        kind = lab.figures.get(name)
        there = {knob.name: knob for knob in describe(kind.Knobs)}
        small = {
            k: v if k == "lam" else max(v, there[k].ge or v) for k, v in TINY.items() if k in there
        }
        ends = {k: (0, 6) if k == "steps" else (v[0], v[-1]) for k, v in kind.stops.items()}
        monkeypatch.setattr(kind, "stops", ends)
        return kind(**small | {k: v[0] for k, v in ends.items()})

    return made


def body_of(figure):
    packed, kinds = live_page.packed_pictures(figure)
    assert kinds <= live_page.TRACES
    return json.loads(gzip.decompress(base64.b64decode(packed)))


SHARED = {
    "anchor_ablation": 2
    + 4
    + 4
    + 8,  # base or random, without and with the minimum norm, each with repeller or not
    "gap_in_training": 2,
    "train_test_paths": 2 * 3,
}
"""Trainings of a page of two stops for each knob, of figures whose stops share some."""


@pytest.mark.parametrize("name", TRAINS)
def test_the_last_stop_shows_what_python_trains_there_and_what_stops_share_is_trained_once(
    name, tiny
):
    figure, taken = tiny(name), []
    token = _toy.on_step.set(lambda: taken.append(1))
    try:
        body = body_of(figure)
        names = [slider["name"] for slider in body["sliders"]]
        stops = list(itertools.product(*(slider["stops"] for slider in body["sliders"])))
        assert names == list(figure.stops)
        if name in SHARED:
            assert len(taken) == SHARED[name] * figure.knobs.steps
        taken.clear()
        wanted = type(figure)(**{**dict(figure.knobs), **dict(zip(names, stops[-1], strict=True))})
        drawn = json.loads(wanted.figure().to_json())
        assert len(taken) == wanted.training_steps(), "kept for a page, not for good"
    finally:
        _toy.on_step.reset(token)
    pictures = rebuilt(body)
    assert len(pictures) == len(stops) >= 2
    assert (pictures[-1]["data"], pictures[-1]["layout"]) == (drawn["data"], drawn["layout"])


def test_the_page_says_what_was_trained_and_where_the_rest_is():
    assert lab.figures.get("vector_lengths").origin() == "Of this lab, after no paper"
    beforehand = "It trains a small network. These stops were trained beforehand; other settings are trained where"
    for name in TRAINS:
        assert live_page.trained_words(lab.figures.create(name)).startswith(beforehand), name
    for name in ("embeddings_2d", "distance_histogram"):
        untrained = lab.figures.create(name, steps=0)
        assert live_page.trained_words(untrained).startswith(beforehand), (
            "its other stops are trained"
        )
    assert live_page.trained_words(lab.figures.create("embeddings_2d", steps=0), ["m"]) == ""
    assert live_page.trained_words(lab.figures.create("h_minus")) == ""
