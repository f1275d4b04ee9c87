"""Every control that a figure shows changes what is plotted, and at most four stand unfolded."""

import json
import re

import pytest

import lab.figures
from lab.core.knobs.sliders import span
from lab.figures import _toy
from lab.figures._toy_sweep import ToySweep
from lab.widgets import show
from tests.figures.test_catalogue import NAMES, quick

WORDS = (
    "name",
    "text",
    "hovertemplate",
    "hovertext",
    "texttemplate",
    "customdata",
    "legendgroup",
    "showlegend",
    "uid",
)
"""Of a trace what is read, not seen."""


def plotted(figure) -> str:
    """What a figure plots, as text: numbers, marks, lines, arrows, pictures; no title, label or readout."""
    whole = json.loads(figure.figure().to_json())
    traces = [
        {key: unnamed(value) for key, value in one.items() if key not in WORDS}
        for one in whole["data"]
    ]
    layout = whole["layout"]
    arrows = [
        {key: one.get(key) for key in ("x", "y", "ax", "ay", "arrowcolor", "arrowwidth")}
        for one in layout.get("annotations", ())
        if one.get("showarrow") is not False and "ax" in one
    ]
    kinds = {key: value.get("type") for key, value in layout.items() if "axis" in key}
    return json.dumps(
        [traces, arrows, layout.get("shapes"), layout.get("images"), kinds], default=str
    )


def unnamed(value):
    """Without the words at which categories stand: some of them tell numbers."""
    return (
        [None if isinstance(one, str) else one for one in value]
        if isinstance(value, list)
        else value
    )


def moves(knob, value):
    """Other values of a knob, the cheapest first."""
    if knob.kind is bool:
        return [not value] if value is not None else [True, False]
    if knob.choices and not knob.many:
        return [choice for choice in knob.choices if choice != value]
    if knob.many:
        return [value[:1], value[-1:], value[1:], tuple(2 * one for one in value)] if value else []
    if knob.kind in (int, float):
        low, high = span(knob, value)
        between = (low * 3 + high) / 4
        found = [low, between, high] if knob.scale == "linear" else [low, high]
        return [one for one in map(knob.kind, found) if one != value and not knob.check(one)]
    return []


@pytest.fixture
def short(monkeypatch):
    """Trainings of a few steps, and sweeps of two places: whether a control acts is seen at once."""
    train = _toy.train
    monkeypatch.setattr(
        _toy, "train", lambda *a, steps, **more: train(*a, steps=min(steps, 3), **more)
    )
    for name in NAMES:
        kind = lab.figures.get(name)
        if issubclass(kind, ToySweep):
            fewer = {
                k: a._replace(settings=a.settings[:2])
                for k, a in kind.axes.items()
                if type(a.settings) is tuple
            }
            monkeypatch.setattr(kind, "axes", {**kind.axes, **fewer})


@pytest.mark.parametrize("name", NAMES)
def test_every_control_that_is_shown_changes_what_is_plotted(name, short):
    figure = lab.figures.create(name, **quick(name))
    unfolded, folded = figure.controls()
    knobs, idle = [*unfolded, *folded], figure.idle()
    assert len(unfolded) <= 4 and set(idle) <= {one.name for one in knobs}
    before, dead = plotted(figure), []
    for knob in knobs:
        others = {k: v for k, v in figure.knobs if k != knob.name}
        values = moves(knob, getattr(figure.knobs, knob.name)) if knob.name not in idle else []
        shown = (moved(type(figure), {**others, knob.name: value}) != before for value in values)
        # it stands at all of them
        shown = list(shown) if figure.tier in ("instant", "static") else shown
        if values and not any(shown):
            dead.append(knob.name)
    assert not dead, (
        f"{name}: moving {', '.join(dead)} changes nothing; hide them where they have no effect"
    )


def moved(kind, values) -> str:
    """What is plotted with these knobs, or what is said against them."""
    try:
        return plotted(kind(**values))
    except ValueError as error:
        assert re.match(r"^[A-Z]\w+: ", str(error)) or kind.reads_runs, f"{values}: {error}"
        return str(error)


def test_a_control_that_its_data_ignores_is_hidden_and_comes_back(monkeypatch):
    live = show("roadmap_sweep", data="Emoji-7")
    live.widget()
    hidden = {
        name for name, one in live._panel._controls.items() if one.box.layout.display == "none"
    }
    assert hidden == {"classes", "steps", "noise", "seeds"} == set(live.figure.idle())
    assert live._panel._folded.layout.display == "none", "nothing is left below the fold"
    measured = live.figure.numbers()
    monkeypatch.setattr(lab.figures.get("roadmap_sweep"), "numbers", lambda self: measured)
    live._panel._controls["data"].watched[0].value = "toy"
    assert all(one.box.layout.display is None for one in live._panel._controls.values())
