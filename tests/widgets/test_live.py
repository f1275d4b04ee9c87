"""Live figures: a control for every declared knob, redrawn in place, and readable without a kernel."""

import base64
import io
import json
from html import unescape

import ipywidgets
import pytest
from PIL import Image

import lab.figures
import lab.losses
from lab.core.knobs import Knobs, describe, knob
from lab.core.knobs.labels import name_in_words
from lab.core.knobs.sliders import log_steps
from lab.widgets import Live, show
from lab.widgets._controls import control

T0 = ("unit_circle", "contextual_steps", "tricks")
EVERY = [(n, k) for n in lab.figures.names() for k in describe(lab.figures.get(n).Knobs)]


def kind_of(one) -> tuple:
    """What decides which control a knob gets."""
    return one.kind, one.scale, one.many, one.optional, bool(one.choices), bool(one.unit)


KINDS = {kind_of(one): (name, one.name) for name, one in EVERY}
"""A knob of each kind."""


def declared(figure: str, name: str):
    return next(k for k in describe(lab.figures.get(figure).Knobs) if k.name == name)


def other(field):
    """A value that the control does not show at the moment."""
    if isinstance(field, ipywidgets.Checkbox):
        return not field.value
    if isinstance(field, ipywidgets.Dropdown):
        return next((o for o in field.options if o != field.value), field.value)
    if isinstance(field, ipywidgets.SelectionSlider):
        return next(value for _, value in field.options if value != field.value)
    if isinstance(field, ipywidgets.IntSlider | ipywidgets.FloatSlider):
        return (
            field.value + field.step
            if field.value + field.step <= field.max
            else field.value - field.step
        )
    return None


@pytest.mark.parametrize(("figure", "name"), KINDS.values())
def test_every_kind_of_knob_has_a_control_that_reads_back_what_it_was_given(figure, name):
    one = declared(figure, name)
    default = getattr(lab.figures.create(figure).knobs, name)
    made = control(one, default)
    assert made.read() == default and type(made.read()) is type(default)
    assert one.help in made.watched[0].tooltip and name_in_words(one) in made.watched[0].description
    if one.kind in (int, float) and not one.many:
        for end in (one.ge, one.le):
            if end is not None:
                made.write(one.kind(end))
                assert made.read() == end
    made.write(default)
    assert made.read() == default


def test_logarithmic_sliders_stop_evenly_at_legal_round_numbers():
    for figure, one in EVERY:
        if one.scale == "log":
            stops = log_steps(one, one.default)
            assert stops[0] == one.ge and stops[-1] == one.le and one.default in stops, (
                f"{figure}: {one.name}"
            )
            assert all(one.check(stop) is None and stop == float(f"{stop:.5g}") for stop in stops)
            steps = [b / a for a, b in zip(stops, stops[1:], strict=False)]
            assert max(steps) <= (2.6 if one.kind is int else 1.3), f"{figure}: {one.name}"


def test_knobs_without_bounds_and_optional_ones():
    class Own(Knobs):
        free: float = knob("Unbounded.", default=3.0)
        above: float = knob("Above zero.", default=0.5, gt=0, lt=1)
        maybe: float | None = knob("Perhaps.", default=None, ge=0, le=2)
        words: tuple[str, ...] = knob("Words.", default=("a",))

    free, above, maybe, words = describe(Own)
    slider = control(free, 3.0).box
    assert slider.min < 3 < slider.max
    slider = control(above, 0.5).box
    assert slider.min > 0 and slider.max < 1
    made = control(maybe, None)
    assert made.read() is None
    made.write(1.5)
    assert made.read() == 1.5
    made.write(None)
    assert made.read() is None and made.watched[0].disabled
    assert control(words, ("a", "b")).read() == ("a", "b")


def letter(live) -> dict:
    """The newest letter that went to the browser."""
    return json.loads(live._drawing.post.value)


@pytest.mark.parametrize("name", ["contextual_steps", "metric_playground", "tricks"])
def test_moving_any_control_sends_what_a_fresh_figure_would_show(name):
    live = show(name)
    live.widget()
    for knob_name, one in live._panel._controls.items():
        field, before, number = one.watched[-1], live.figure.knobs, letter(live)["number"]
        new = other(field)
        if new is None or new == field.value:
            continue
        field.value = new
        assert live.figure.knobs != before, f"{name}: moving {knob_name} did nothing"
        assert letter(live)["figure"] == json.loads(live.figure.figure().to_json())
        assert letter(live)["number"] == number + 1 and letter(live)["code"] == live.figure.code()
        assert live.alt in unescape(live._words.value)


@pytest.mark.parametrize("name", T0)
def test_a_moved_control_computes_its_figure_once(name, monkeypatch):
    """What makes it quick."""
    live = show(name)
    live.widget()
    fields = [one.watched[-1] for one in live._panel._controls.values()]
    field = next(field for field in fields if other(field) not in (None, field.value))
    kind, calls = lab.figures.get(name), []
    for step in ("numbers", "draw", "alt"):
        true = getattr(kind, step)
        monkeypatch.setattr(
            kind,
            step,
            lambda *a, _true=true, _step=step, **k: calls.append(_step) or _true(*a, **k),
        )
    field.value = other(field)
    assert calls == ["numbers", "draw", "alt"]


class Browser:
    """What a page would do with the letters of a drawing, by hand."""

    def __init__(self, live):
        self.drawing, self.answers = live._drawing, []
        self.drawing.post.send = lambda content: self.answers.append(content)
        self.repeated = []
        self.drawing.post.send_state = lambda key: self.repeated.append(key)
        self.say(drawn=letter(live)["number"])

    def say(self, **content):
        self.drawing._receive(None, content, [])


def test_a_lost_letter_is_sent_again():
    live = show("contextual_steps")
    live.widget()
    browser = Browser(live)
    browser.repeated.clear()
    live.set(eps=0.2)
    live.set(eps=0.3)
    browser.say(shown=1)  # letter 2 never came
    assert letter(live)["number"] == 3 and browser.answers == [{"newest": 3}]
    browser.repeated.clear()
    browser.say(shown=1)  # nor did letter 3
    assert browser.repeated == ["value"] and browser.answers[-1] == {"newest": 3}
    browser.repeated.clear()
    browser.say(shown=3)
    assert browser.repeated == []


def test_reset_set_and_code():
    live = show("contextual_steps", k=5)
    live.widget()
    live.set(alpha=50, complement=False)
    assert live.figure.knobs.alpha == 50 and live._panel._controls["alpha"].watched[0].value == 50
    assert all(part in letter(live)["code"] for part in ("k=5", "alpha=50", "complement=False"))
    Browser(live).say(reset=True)
    assert live.figure.knobs == lab.figures.create("contextual_steps", k=5).knobs
    assert live._panel._controls["complement"].read() is True
    with pytest.raises(ValueError, match="did you mean 'alpha'"):
        live.set(alhpa=1)


def test_what_a_page_computes_is_heard_and_moved_from_here():
    live = show("two_batches", lam=0.5)
    live.widget()
    page = live._computed
    page.set_state({"knobs": {**page.knobs, "lam": 1, "positives": 2}})  # as the browser tells it
    known = lab.figures.create("two_batches", lam=1.0, positives=2)
    assert live.figure.knobs == known.knobs and live.alt == known.figure().layout.meta["alt"]
    live.set(lam=0.2)
    assert json.loads(page.post.value)["knobs"] == page.knobs == dict(live.figure.knobs)
    number = json.loads(page.post.value)["number"]
    page.set_state({"knobs": {**page.knobs, "lam": 0.9}})
    live.set(lam=0.2)
    assert (
        json.loads(page.post.value)["number"] == number + 1
        and json.loads(page.post.value)["knobs"] == page.knobs
    )
    live.reset()
    assert page.knobs["lam"] == 0.5 and page.knobs["positives"] == 3
    with pytest.raises(ValueError, match="beta must be below alpha"):
        live.set(beta=0.95)


def test_what_the_page_does_not_know_the_kernel_draws():
    live = show("ap_strip", loss="fast_ap")
    live.widget()
    page = live._computed

    def letter() -> dict:
        return json.loads(page.post.value)

    assert letter()["picture"]["code"] == live.figure.code() and not letter()["asked"]
    page.set_state({"knobs": {**page.knobs, "scores": [0.9, 0.8, 0.7], "pattern": "+-+"}})
    assert live.figure.knobs.scores == (0.9, 0.8, 0.7) and live.figure.knobs.pattern == "+-+"
    assert (
        letter()["picture"]["figure"] == json.loads(live.figure.figure().to_json())
        and letter()["asked"]
    )
    live.set(loss="sup_ap")
    assert letter()["picture"] is None and not letter()["asked"]


def test_dragged_points_stay_until_a_knob_moves_the_layout():
    live = show("metric_playground", per_class=6)
    live.widget()
    points = live._panel._grips.widget
    assert live.figure.knobs.x == () and len(points.x) == 12 and points.classes == "A" * 6 + "B" * 6
    points.x = [9.0, *points.x[1:]]
    assert live.figure.knobs.x[0] == 9.0 and live.figure.knobs.classes == points.classes
    live._panel._controls["k"].write(3)
    assert live.figure.knobs.x[0] == 9.0
    live._panel._controls["per_class"].write(7)
    assert live.figure.knobs.x == () and len(points.x) == 14
    live.set(x=(0.0, 1.0, 5.0, 6.0), y=(0.0, 0.0, 0.0, 0.0), classes="AABB")
    assert points.x == [0.0, 1.0, 5.0, 6.0]


def test_it_reads_without_a_kernel(monkeypatch):
    monkeypatch.setenv("LAB_STILLS", "1")
    live = show(lab.figures.create("two_sigmoids", tau1=2.0), tau2=0.02)
    assert isinstance(live, Live) and live.figure.knobs.tau1 == 2 and live.figure.knobs.tau2 == 0.02
    bundle = live._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert (
        bundle["text/plain"].startswith("Two sigmoids, two domains. ")
        and live.alt in bundle["text/plain"]
    )
    png = Image.open(io.BytesIO(base64.b64decode(bundle["image/png"])))
    assert png.size[0] == 1800 and len(png.convert("RGB").getcolors(1 << 24)) > 20


def test_a_clicked_cell_chooses_its_pair():
    live = show("contextual_steps")
    live.widget()
    Browser(live).say(clicked=[5, 2])
    assert (live.figure.knobs.row, live.figure.knobs.column) == ("tiger 3", "cat 3")
