"""A figure's page: every picture of its grid, the same as from Python, in little room."""

import base64
import gzip
import itertools
import json
import re

import pytest

import lab.figures
from lab.core.knobs import describe
from lab.figures import live_page
from lab.figures.live_page import TRACES
from lab.figures.live_page import live_page as page_of


def read(page: str) -> dict:
    packed = re.search(r'id="pictures" type="text/plain">([^<]*)<', page)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def rebuilt(body: dict) -> list[dict]:
    """The figures of all frames, put together from their parts."""
    made = []
    for frame in body["frames"]:
        figure = {"data": {}, "layout": {}}
        for path, number in frame:
            if path[:2] == ["figure", "data"]:
                figure["data"].setdefault(path[2], {})[path[3]] = body["parts"][number]
            elif path[:2] == ["figure", "layout"]:
                figure["layout"][path[2]] = body["parts"][number]
            else:
                figure[path[0]] = body["parts"][number]
        figure["data"] = [figure["data"][i] for i in sorted(figure["data"])]
        made.append(figure)
    return made


def movable(figure) -> list[str]:
    """Names of the knobs that move in its page by default."""
    return [knob.name for knob in live_page._moving(figure, None, None)]


@pytest.fixture(scope="module")
def page():
    return page_of(lab.figures.create("rank_plus", rank_plus=4), ["rank_plus", "rank_minus"])


def test_every_picture_is_what_python_draws(page):
    body = read(page)
    pictures = rebuilt(body)
    stops = [slider["stops"] for slider in body["sliders"]]
    assert [slider["name"] for slider in body["sliders"]] == ["rank_plus", "rank_minus"]
    assert [slider["label"] for slider in body["sliders"]] == ["rank⁺ (ranks)", "rank⁻ (ranks)"]
    assert len(pictures) == len(stops[0]) * len(stops[1]) and body["knobs"]["rank_plus"] == 4
    for picture, (plus, minus) in list(zip(pictures, itertools.product(*stops), strict=True))[::17]:
        figure = lab.figures.create("rank_plus", rank_plus=plus, rank_minus=minus)
        wanted = json.loads(figure.figure().to_json())
        assert (picture["data"], picture["layout"], picture["code"]) == (
            wanted["data"],
            wanted["layout"],
            figure.code(),
        )


def test_a_grid_that_is_too_large_loses_stops(monkeypatch):
    monkeypatch.setattr(live_page, "LARGEST", 6_000)
    few = read(page_of(lab.figures.create("rank_plus"), ["rank_plus", "rank_minus"]))
    assert few["knobs"] == dict(lab.figures.create("rank_plus").knobs)
    assert 4 <= len(few["frames"]) < 60


def test_what_cannot_move_is_a_sentence():
    with pytest.raises(ValueError, match="'scores' cannot move in a saved page; those that can"):
        page_of(lab.figures.create("recall_strip"), ["scores"])
    with pytest.raises(ValueError, match="At most 2 knobs"):
        page_of(lab.figures.create("h_minus"), ["tau", "rho", "delta"])


@pytest.mark.parametrize("name", lab.figures.names())
def test_what_a_figure_wants_to_move_can_move(name):
    figure = lab.figures.create(name)
    values, declared = dict(figure.knobs), describe(type(figure).Knobs)
    able = {knob.name for knob in declared if live_page._stops(knob, values[knob.name])}
    assert set(figure.moves) <= able - set(figure.drag)
    assert movable(figure), "a figure that stands still in a page without Python"
    said = {knob.name: knob for knob in declared if knob.name in figure.stops}
    assert (
        said.keys() == figure.stops.keys()
        and sum(knob.kind is not bool for knob in said.values()) <= 2
    )
    for knob in said.values():
        assert not [value for value in figure.stops[knob.name] if knob.check(value)]
        assert values[knob.name] in figure.stops[knob.name]


AT_ONCE = [name for name in lab.figures.names() if lab.figures.create(name).training_steps() == 0]


@pytest.mark.parametrize("name", AT_ONCE)
def test_the_last_stop_of_every_figure_shows_what_python_draws(name):
    """On the coarsest grid of its first slider."""
    figure = lab.figures.create(name)
    # named, so that also what a page computes is kept in stops
    chosen = None if figure.stops else movable(figure)[:1]
    packed, kinds = live_page.packed_pictures(figure, chosen, most=(2, 2))
    assert len(packed) <= live_page.LARGEST and kinds <= TRACES
    body = json.loads(gzip.decompress(base64.b64decode(packed)))
    stops = {slider["name"]: slider["stops"][-1] for slider in body["sliders"]}
    pictures = rebuilt(body)
    last = pictures[-1]
    if figure.stops:  # written by hand, and its knobs would take any word
        assert not [picture["refused"] for picture in pictures if "refused" in picture]
    try:
        wanted = lab.figures.create(name, **{**dict(figure.knobs), **stops})
        drawn = json.loads(wanted.figure().to_json())
        assert (last["data"], last["layout"], last["code"]) == (
            drawn["data"],
            drawn["layout"],
            wanted.code(),
        )
    except ValueError as error:
        assert last["refused"] == str(error)


def test_a_page_that_computes_offers_every_knob_and_holds_one_picture():
    for name in live_page.forms():
        figure = lab.figures.create(name)
        body = read(page_of(figure))
        offered = {slider["name"] for slider in body["sliders"]} | set(body["drag"])
        assert offered == set(body["knobs"]) == set(body["defaults"]), name
        assert "frames" not in body and body["unfolded"] <= 4


def test_what_a_page_cannot_compute_keeps_its_stops():
    body = read(page_of(lab.figures.create("ap_strip", loss="fast_ap"), ["tau"]))
    assert live_page.computes_in_page(lab.figures.create("ap_strip"))
    assert not live_page.computes_in_page(lab.figures.create("ap_strip", loss="fast_ap"))
    assert len(body["frames"]) == len(body["sliders"][0]["stops"])
