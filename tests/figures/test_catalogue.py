"""Every figure, discovered: built headless from its defaults and from the bounds of each of its knobs."""

import json
import re
from functools import cache

import plotly.graph_objects as go
import pytest
from torch.optim import Optimizer

import lab.figures
from lab.core import style
from lab.core.knobs import describe
from lab.figures import Figure, _toy

NAMES = lab.figures.names()
QUICK = {"steps": 4, "seeds": 1, "snapshot": 4, "every": 2, "measured": 32}
"""Toy trainings run a few steps here: what is tested is that the figure stands, not what the toy learns."""

ALLOWED = {
    c.lower() for c in (*style.COLOURS, style.BLACK, style.GREY, "white", "#222", "#444", "#ddd")
}


def quick(name: str) -> dict:
    knobs = {k.name: k for k in describe(lab.figures.get(name).Knobs)}
    tier = lab.figures.get(name).tier
    small = {}
    for key, value in QUICK.items():
        if key in knobs and (tier == "toy_training" or key == "measured"):
            small[key] = max(value, knobs[key].ge or value)
    return small


def build(name: str, runs, **knobs) -> go.Figure:
    figure = lab.figures.create(name, **{**quick(name), **knobs})
    return (
        figure.figure(runs) if figure.reads_runs and figure.tier == "from_runs" else figure.figure()
    )


@pytest.fixture(scope="module")
def default(runs):
    """A figure by its name, with its defaults: drawn once for all tests that look at it."""
    return cache(lambda name: build(name, runs))


@pytest.mark.parametrize("name", NAMES)
def test_default_figure_is_titled_labelled_and_described(name, default):
    kind = lab.figures.get(name)
    assert issubclass(kind, Figure) and kind.__doc__ and kind.question and kind.source
    assert kind.tier in ("instant", "toy_training", "from_runs", "static")
    drawn = default(name)
    assert drawn.layout.title.text == f"<b>{kind.title}</b>"
    alt = drawn.layout.meta["alt"]
    assert len(alt) > 40 and alt.endswith(".") and "nan" not in alt.lower().split()
    assert len(drawn.data) > 0
    visible = [a for a in axes(drawn) if a.visible is not False]
    assert all(a.title.text for a in visible), (
        "every axis of every panel needs a title, once per row or column"
    )
    assert not re.search(r"\d{6}", drawn.layout.title.subtitle.text or ""), (
        "round the numbers in the subtitle"
    )


@pytest.mark.parametrize("name", NAMES)
def test_same_knobs_same_picture_after_the_steps_that_it_says(name, default, runs, monkeypatch):
    """A figure that follows a slider trains nothing and sends little; `lab doctor bench` measures how well."""
    taken, still = [], lab.figures.get(name).tier in ("instant", "static")
    if still:
        monkeypatch.setattr(Optimizer, "zero_grad", lambda *_, **__: pytest.fail("it trains"))
    token = _toy.on_step.set(lambda: taken.append(1))
    try:
        drawn = build(name, runs)
    finally:
        _toy.on_step.reset(token)
    assert json.loads(drawn.to_json()) == json.loads(default(name).to_json())
    assert len(taken) == lab.figures.create(name, **quick(name)).training_steps()
    assert not still or len(drawn.to_json()) < 400_000


def axes(drawn: go.Figure) -> list:
    """Outer axes: of a grid of panels the lowest x axis of each column and the first y axis of each row."""
    used_x = {
        getattr(t, "xaxis", None) or "x" for t in drawn.data if t.type not in ("table", "pie")
    }
    layout = drawn.layout
    xs = [layout["xaxis" + a[1:]] for a in used_x]
    lowest = min((x.domain is not None and layout[_partner(x)].domain or (0, 1))[0] for x in xs)
    bottom = [x for x in xs if ((layout[_partner(x)].domain or (0, 1))[0]) <= lowest + 1e-6]
    ys = [layout[_partner(x)] for x in xs]
    leftmost = min((y_x.domain or (0, 1))[0] for y_x in xs)
    left = [layout[_partner(x)] for x in xs if (x.domain or (0, 1))[0] <= leftmost + 1e-6]
    categorical = [y for y in left if y.type == "category"]
    return [*bottom, *[y for y in left if y not in categorical]] if ys else []


def _partner(x) -> str:
    anchor = x.anchor or "y"
    return "yaxis" + anchor[1:]


@pytest.mark.parametrize("name", NAMES)
def test_colours_come_from_the_palette_and_never_stand_alone(name, default):
    drawn = default(name)
    shapes = set()
    for trace in drawn.data:
        line, marker = getattr(trace, "line", None), getattr(trace, "marker", None)
        if trace.type == "scatter":
            for part in (line, marker):
                colour = part.color if part is not None else None
                if isinstance(colour, str):
                    assert colour.lower() in ALLOWED, f"{colour} is not in the palette"
            if trace.showlegend is not False and "lines" in (trace.mode or "") and line.color:
                shapes.add(
                    (
                        line.color,
                        line.dash or "solid",
                        line.width or 2,
                        trace.fill,
                        str(marker.symbol),
                    )
                )
    styles = [style[1:] for style in shapes]
    assert len(styles) == len(set(styles)), "two lines differ by colour alone"


@pytest.mark.parametrize("name", NAMES)
def test_code_makes_the_same_figure(name):
    import lab

    figure = lab.figures.create(name)
    assert figure.code() == f"lab.figures.create({name!r}).figure()"
    number = next(
        (k for k in describe(type(figure).Knobs) if k.kind is float and not k.many and k.le), None
    )
    if number is not None:
        moved = lab.figures.create(name, **{number.name: number.le})
        again = eval(moved.code().removesuffix(".figure()"), {"lab": lab})
        assert again.knobs == moved.knobs


def test_runs_go_only_where_they_are_read(runs):
    with pytest.raises(ValueError, match="takes no runs"):
        lab.figures.create("surrogates").figure(runs)
    for name in NAMES:
        figure = lab.figures.create(name)
        if figure.tier == "from_runs" and name != "reference_scores":
            with pytest.raises(ValueError, match="shows finished runs"):
                figure.figure([])
