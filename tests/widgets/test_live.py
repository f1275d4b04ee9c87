"""Live figures: a control for every declared knob, redrawn in place, and readable without a kernel."""

import base64
import io
import time

import ipywidgets
import pytest
from PIL import Image

import lab.figures
from lab.core.knobs import Knobs, describe, knob
from lab.figures import saving
from lab.widgets import Live, show
from lab.widgets._controls import control, log_steps
from lab.widgets._drawing import _same

T0 = [n for n in lab.figures.names() if lab.figures.get(n).tier in ("instant", "static")]
EVERY = [(n, k.name) for n in lab.figures.names() for k in describe(lab.figures.get(n).Knobs)]


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


@pytest.mark.parametrize(("figure", "name"), EVERY)
def test_every_knob_has_a_control_that_reads_back_what_it_was_given(figure, name):
    one = declared(figure, name)
    default = getattr(lab.figures.create(figure).knobs, name)
    made = control(one, default)
    assert made.read() == default and type(made.read()) is type(default)
    assert one.help in made.watched[0].tooltip and name in made.watched[0].description
    if one.kind in (int, float) and not one.many:
        for end in (one.ge, one.le):
            if end is not None:
                made.write(one.kind(end))
                assert made.read() == end
    made.write(default)
    assert made.read() == default


@pytest.mark.parametrize(("figure", "name"), [(f, n) for f, n in EVERY if declared(f, n).scale == "log"])
def test_logarithmic_sliders_stop_evenly_at_legal_round_numbers(figure, name):
    one = declared(figure, name)
    stops = log_steps(one, one.default)
    assert stops[0] == one.ge and stops[-1] == one.le and one.default in stops
    assert all(one.check(stop) is None and stop == float(f"{stop:.5g}") for stop in stops)
    steps = [b / a for a, b in zip(stops, stops[1:], strict=False)]
    assert max(steps) <= (2.6 if one.kind is int else 1.3)


def test_a_log_slider_takes_a_value_between_its_stops():
    one = declared("h_minus", "tau")
    made = control(one, 0.0123)
    assert made.read() == 0.0123
    made.write(0.00777)
    assert made.read() == 0.00777
    assert isinstance(made.box, ipywidgets.SelectionSlider)
    stops = [stop for _, stop in made.box.options]
    assert stops == sorted(stops)


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


@pytest.mark.parametrize("name", T0)
def test_moving_any_control_redraws_in_place_what_a_fresh_figure_would_show(name):
    live = show(name)
    live.widget()
    moved = 0
    for knob_name, one in live._panel._controls.items():
        field, before, trace = one.watched[-1], live.figure.knobs, live._drawing.widget.data[0]
        new = other(field)
        if new is None or new == field.value or knob_name == "measure":  # measured times are never the same twice
            continue
        kinds = [t.type for t in live._drawing.widget.data]
        field.value = new
        assert live.figure.knobs != before, f"{name}: moving {knob_name} did nothing"
        fresh = live.figure.figure().to_plotly_json()
        shown = live._drawing.widget.to_dict()
        assert len(shown["data"]) == len(fresh["data"])
        for got, wanted in zip(shown["data"], fresh["data"], strict=True):
            got.pop("uid", None)
            assert _same(got, wanted), f"{name}: {knob_name} left an old trace behind"
        assert shown["layout"]["title"]["text"] == fresh["layout"]["title"]["text"]
        assert len(shown["layout"].get("annotations", ())) == len(fresh["layout"].get("annotations", ()))
        if kinds == [t["type"] for t in fresh["data"]]:
            assert live._drawing.widget.data[0] is trace, f"{name}: {knob_name} replaced the traces"
        assert live.alt in live._words.value.replace("&#x27;", "'").replace("&lt;", "<").replace("&gt;", ">")
        moved += 1
    assert moved or not live._panel._controls


@pytest.mark.parametrize("name", T0)
def test_a_moved_slider_answers_within_a_tenth_of_a_second(name):
    live = show(name)
    live.widget()
    sliders = [
        one.watched[0]
        for one in live._panel._controls.values()
        if isinstance(one.watched[0], ipywidgets.SelectionSlider | ipywidgets.IntSlider | ipywidgets.FloatSlider)
    ]
    if not sliders:
        assert name in ("measured_tricks", "precision_counter", "reality_check", "reference_scores"), (
            f"{name} has no slider to move"
        )
        return
    field, spent = sliders[0], []
    home = field.value
    away = other(field)
    for value in (away, home) * 3:
        start = time.process_time()
        field.value = value
        spent.append(time.process_time() - start)
    assert min(spent) < 0.1


def test_reset_set_and_code():
    live = show("h_minus", tau=0.02)
    live.widget()
    live.set(rho=50, compare=False)
    assert live.figure.knobs.rho == 50 and live._panel._controls["rho"].watched[0].value == 50
    assert "tau=0.02" in live._code.text and "rho=50" in live._code.text and "compare=False" in live._code.text
    live.reset()
    assert live.figure.knobs == lab.figures.create("h_minus", tau=0.02).knobs
    assert live._panel._controls["compare"].read() is True
    with pytest.raises(ValueError, match="did you mean 'tau'"):
        live.set(tua=1)


def test_knobs_that_contradict_each_other_are_refused_in_a_sentence():
    live = show("two_batches")
    live.widget()
    before = live.figure
    live._panel._controls["beta"].watched[0].value = 1.0
    assert live.figure is before
    assert "beta must be below alpha" in live._words.value and "✗" in live._words.value
    live._panel._controls["beta"].watched[0].value = 0.5
    assert live.figure.knobs.beta == 0.5 and "✗" not in live._words.value


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


def test_a_figure_of_runs_needs_runs():
    with pytest.raises(ValueError, match="shows finished runs"):
        show("run_curves", runs=[])
    with pytest.raises(ValueError, match="takes no runs"):
        show("h_minus", runs=[])


def test_it_reads_without_a_kernel():
    live = show(lab.figures.create("two_sigmoids", tau1=2.0), tau2=0.02)
    assert isinstance(live, Live) and live.figure.knobs.tau1 == 2 and live.figure.knobs.tau2 == 0.02
    bundle = live._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/plain"].startswith("Two sigmoids, two domains. ") and live.alt in bundle["text/plain"]
    png = Image.open(io.BytesIO(base64.b64decode(bundle["image/png"])))
    assert png.size[0] == 1800 and len(png.convert("RGB").getcolors(1 << 24)) > 20


def test_words_stand_in_where_there_is_no_browser(monkeypatch):
    def none(*_, **__):
        raise ValueError("A static picture needs a browser.")

    monkeypatch.setattr(saving, "picture", none)
    bundle = show("two_sigmoids")._repr_mimebundle_()
    assert "image/png" not in bundle and "Left, a sigmoid" in bundle["text/html"]


def test_a_clicked_item_reads_its_list_out():
    live = show("retrieval_protocols", k=3)
    live.widget()
    cells = live._drawing.widget.data[0]
    live._drawing.widget._handler_js2py_pointsCallback(
        {
            "new": {
                "event_type": "plotly_click",
                "points": {
                    "trace_indexes": [0], "point_indexes": [[2, 4]], "xs": [5], "ys": [cells.y[2]], "zs": [0],
                },
                "device_state": None,
                "selector": None,
            }
        }
    )  # fmt: skip
    assert (live.figure.knobs.query, live.figure.knobs.k) == (2, 5)
    assert "Query 3 finds" in live.alt
