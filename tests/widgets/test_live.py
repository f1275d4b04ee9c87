"""Live figures: a control for every declared knob, redrawn in place, and readable without a kernel."""

import base64
import gzip
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
from lab.core.knobs.sliders import linear_steps, log_steps
from lab.figures import saving
from lab.widgets import Live, show
from lab.widgets._controls import control

T0 = ("h_minus", "roadmap_pipeline", "tricks")
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
        return field.value + field.step if field.value + field.step <= field.max else field.value - field.step
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
            assert stops[0] == one.ge and stops[-1] == one.le and one.default in stops, f"{figure}: {one.name}"
            assert all(one.check(stop) is None and stop == float(f"{stop:.5g}") for stop in stops)
            steps = [b / a for a, b in zip(stops, stops[1:], strict=False)]
            assert max(steps) <= (2.6 if one.kind is int else 1.3), f"{figure}: {one.name}"


def test_linear_sliders_stop_at_their_default():
    """A browser shows the stop where a slider stands, whatever value it was given."""
    of_losses = [one for name in lab.losses.names() for one in describe(lab.losses.get(name).Knobs)]
    for one in [*(one for _, one in EVERY), *of_losses]:
        if one.kind is float and one.scale == "linear" and not (one.many or one.choices):
            low, high, step = linear_steps(one)
            assert (high - low) / step <= 5000, one.name
            if one.default is not None:
                assert low <= one.default <= high and stands_on_a_stop(one.default, low, step), f"{one.name}: {step}"


def stands_on_a_stop(value: float, low: float, step: float) -> bool:
    return (value - low) / step == pytest.approx(round((value - low) / step), abs=1e-6)


def test_a_linear_slider_gets_finer_for_a_value_between_its_stops():
    one = declared("anchor_typo", "d")
    made = control(one, 2.345)
    assert stands_on_a_stop(2.345, made.box.min, made.box.step) and made.read() == 2.345
    made.write(3.0)
    assert made.box.step == 0.1
    made.write(0.72)
    assert stands_on_a_stop(0.72, made.box.min, made.box.step) and made.read() == 0.72


def test_knobs_without_bounds_and_optional_ones():
    class Own(Knobs):
        free: float = knob(3.0, "Unbounded.")
        above: float = knob(0.5, "Above zero.", gt=0, lt=1)
        maybe: float | None = knob(None, "Perhaps.", ge=0, le=2)
        words: tuple[str, ...] = knob(("a",), "Words.")

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


@pytest.mark.parametrize("name", ["h_minus", "metric_playground", "tricks", "retrieval_protocols"])
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
    """What makes it quick; `lab bench interaction` measures how quick."""
    live = show(name)
    live.widget()
    fields = [one.watched[-1] for one in live._panel._controls.values()]
    field = next(field for field in fields if other(field) not in (None, field.value))
    kind, calls = lab.figures.get(name), []
    for step in ("numbers", "draw", "alt"):
        true = getattr(kind, step)
        monkeypatch.setattr(kind, step, lambda *a, _true=true, _step=step, **k: calls.append(_step) or _true(*a, **k))
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
        self.drawing._heard(None, content, [])


def test_a_slow_browser_gets_one_letter_at_a_time_and_the_last_value():
    live = show("two_sigmoids")
    live.widget()
    browser = Browser(live)
    for value in (2.0, 3.0, 4.0):
        live.set(tau1=value)
    assert "tau1=2.0" in letter(live)["code"]  # the first is still being drawn
    browser.say(drawn=letter(live)["number"])
    assert "tau1=4.0" in letter(live)["code"] and letter(live)["number"] == 4
    browser.say(drawn=4)
    live.set(tau1=5.0)
    assert "tau1=5.0" in letter(live)["code"]


def test_a_lost_letter_is_sent_again():
    live = show("two_sigmoids")
    live.widget()
    browser = Browser(live)
    browser.repeated.clear()
    live.set(tau1=2.0)
    live.set(tau1=3.0)
    browser.say(shown=1)  # letter 2 never came
    assert letter(live)["number"] == 3 and browser.answers == [{"newest": 3}]
    browser.repeated.clear()
    browser.say(shown=1)  # nor did letter 3
    assert browser.repeated == ["value"] and browser.answers[-1] == {"newest": 3}
    browser.repeated.clear()
    browser.say(shown=3)
    assert browser.repeated == []


def test_one_kernel_brings_plotly_once_and_again_if_it_was_closed():
    first, second = show("two_sigmoids"), show("h_minus")
    first.widget(), second.widget()
    assert first._drawing.library is second._drawing.library
    assert b"plotly.js" in gzip.decompress(first._drawing.library.packed)[:200]
    first._drawing.library.close()
    third = show("h_minus")
    third.widget()
    assert third._drawing.library is not first._drawing.library and third._drawing.library.comm is not None


def test_reset_set_and_code():
    live = show("h_minus", tau=0.02)
    live.widget()
    live.set(rho=50, compare=False)
    assert live.figure.knobs.rho == 50 and live._panel._controls["rho"].watched[0].value == 50
    assert all(part in letter(live)["code"] for part in ("tau=0.02", "rho=50", "compare=False"))
    Browser(live).say(reset=True)
    assert live.figure.knobs == lab.figures.create("h_minus", tau=0.02).knobs
    assert live._panel._controls["compare"].read() is True
    with pytest.raises(ValueError, match="did you mean 'tau'"):
        live.set(tua=1)


def test_dragged_scores_become_knobs():
    live = show("recall_strip")
    live.widget()
    strip = live._panel._grips.widget
    strip.set_state({"scores": [0.9, 0.8, 0.7], "pattern": "+-+"})
    assert live.figure.knobs.scores == (0.9, 0.8, 0.7) and live.figure.knobs.pattern == "+-+"
    live.reset()
    assert tuple(strip.scores) == live.figure.knobs.scores and len(strip.scores) == 8


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


def test_dragged_anchors_are_fixed_in_number_and_play():
    live = show("anchor_sandbox")
    live.widget()
    grips = live._panel._grips.widget
    assert grips.fixed
    grips.x = [5.0, *grips.x[1:]]
    assert live.figure.knobs.anchors_x[0] == 5.0
    live._panel._controls["classes"].write(4)
    assert live.figure.knobs.anchors_x == () and len(grips.x) == 4
    assert isinstance(live._panel._controls["step"].box.children[0], ipywidgets.Play)


def test_it_reads_without_a_kernel(monkeypatch):
    monkeypatch.setenv("LAB_STILLS", "1")
    live = show(lab.figures.create("two_sigmoids", tau1=2.0), tau2=0.02)
    assert isinstance(live, Live) and live.figure.knobs.tau1 == 2 and live.figure.knobs.tau2 == 0.02
    bundle = live._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/plain"].startswith("Two sigmoids, two domains. ") and live.alt in bundle["text/plain"]
    png = Image.open(io.BytesIO(base64.b64decode(bundle["image/png"])))
    assert png.size[0] == 1800 and len(png.convert("RGB").getcolors(1 << 24)) > 20


def test_words_stand_in_for_a_picture_and_no_browser_is_started(monkeypatch):
    monkeypatch.delenv("LAB_STILLS", raising=False)
    monkeypatch.setattr(saving, "picture", lambda *_, **__: pytest.fail("a browser was started for nobody"))
    bundle = show("two_sigmoids")._repr_mimebundle_()
    assert "image/png" not in bundle and "Left, a sigmoid" in bundle["text/html"]


def test_a_clicked_item_reads_its_list_out():
    live = show("retrieval_protocols", k=3)
    live.widget()
    row = letter(live)["figure"]["data"][0]["y"][2]
    Browser(live).say(clicked=[5, row])
    assert (live.figure.knobs.query, live.figure.knobs.k) == (2, 5)
    assert "Query 3 finds" in live.alt


class FakeTraining:
    """A training that waits until a test moves it on."""

    def __init__(self, figure, moved):
        self.progress, self.refused, self.over, self.waiting, self.moved = 0.0, "", False, True, moved

    def stop(self):
        self.over, self.refused = True, "Stopped."
        self.moved(self)


def test_a_training_that_is_stopped_leaves_no_picture_and_can_begin_again(monkeypatch):
    from lab.figures import background
    from lab.widgets import _live

    monkeypatch.setattr(_live, "_in_a_notebook", lambda: True)
    monkeypatch.setattr(background, "FigureTraining", FakeTraining)
    live = show("concentric_circles")
    live.widget()
    box, words = live._progress, live._words
    assert "Waiting for the trainings" in words.value and box.layout.display != "none"
    live._training.waiting, live._training.progress = False, 0.5
    live._training.moved(live._training)
    assert "Training ..." in words.value and box.children[0].value == 0.5
    box.children[1].click()
    assert "Stopped." in words.value and box.children[1].description == "Train again"
    assert "no picture" in live._drawing.post.value and "in training" not in live._drawing.post.value
    box.children[1].click()
    assert "Waiting for the trainings" in words.value and box.children[1].description == "Stop"
    before = live._drawing.post.value
    live.set(noise=0.3)
    assert live._drawing.post.value == before and "Waiting for the trainings" in words.value, "another began at once"
