"""Every control that a figure shows changes what is plotted, and at most four stand unfolded."""

import json

import pytest

import lab.figures
from lab.core.knobs.sliders import span
from tests.figures.test_catalogue import NAMES, quick

WORDS = ("name", "text", "hovertemplate", "hovertext", "texttemplate", "customdata", "legendgroup", "showlegend", "uid")
"""Of a trace what is read, not seen."""


def plotted(figure, runs) -> str:
    """What a figure plots, as text: numbers, marks, lines, arrows, pictures; no title, label or readout."""
    try:
        drawn = figure.figure(runs if figure.reads_runs and figure.tier == "from_runs" else None)
    except ValueError as error:  # a sentence in the place of the picture
        return str(error)
    whole = json.loads(drawn.to_json())
    traces = [{key: value for key, value in one.items() if key not in WORDS} for one in whole["data"]]
    layout = whole["layout"]
    arrows = [
        {key: one.get(key) for key in ("x", "y", "ax", "ay", "arrowcolor", "arrowwidth")}
        for one in layout.get("annotations", ())
        if one.get("showarrow") is not False and "ax" in one
    ]
    kinds = {key: value.get("type") for key, value in layout.items() if "axis" in key}
    return json.dumps([traces, arrows, layout.get("shapes"), layout.get("images"), kinds], default=str)


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


@pytest.mark.parametrize("name", NAMES)
def test_every_control_that_is_shown_changes_what_is_plotted(name, runs):
    figure = lab.figures.create(name, **quick(name))
    unfolded, folded = figure.controls(runs if figure.tier == "from_runs" else None)
    assert len(unfolded) <= 4
    idle, before, dead = figure.idle(runs if figure.tier == "from_runs" else None), plotted(figure, runs), []
    assert set(idle) <= {one.name for one in (*unfolded, *folded)} | set(figure.drag)
    for knob in (*unfolded, *folded):
        values = moves(knob, getattr(figure.knobs, knob.name))
        if knob.name in idle or not values:
            continue
        others = {k: v for k, v in figure.knobs if k != knob.name}
        if not any(moved(type(figure), {**others, knob.name: value}, runs) != before for value in values):
            dead.append(knob.name)
    assert not dead, f"{name}: moving {', '.join(dead)} changes nothing; hide them where they have no effect"


def moved(kind, values, runs) -> str | None:
    try:
        return plotted(kind(**values), runs)
    except ValueError as error:
        return str(error)
