"""Every figure, discovered: built headless from its defaults and from the bounds of each of its knobs."""

import re
from functools import cache

import numpy as np
import plotly.graph_objects as go
import pytest

import lab.figures
from lab.core import style
from lab.core.knobs import describe
from lab.figures import Figure

NAMES = lab.figures.names()
QUICK = {"steps": 4, "seeds": 1, "snapshot": 4, "every": 2}
"""Toy trainings run a few steps here: what is tested is that the figure stands, not what the toy learns."""

ALLOWED = {c.lower() for c in (*style.COLOURS, style.BLACK, style.GREY, "white", "#222", "#444", "#ddd")}


def quick(name: str) -> dict:
    knobs = {k.name: k for k in describe(lab.figures.get(name).Knobs)}
    tier = lab.figures.get(name).tier
    small = {}
    for key, value in QUICK.items():
        if tier == "toy_training" and key in knobs:
            small[key] = max(value, knobs[key].ge or value)
    return small


def ends(name: str) -> dict[str, list]:
    """Each knob's end points: both ends of a numeric range, every choice, both truth values."""
    found = {}
    for knob in describe(lab.figures.get(name).Knobs):
        if knob.kind is bool:
            values = [True, False]
        elif knob.choices:
            values = list(knob.choices)
        elif knob.kind in (int, float):
            inside = 1 if knob.kind is int else 1e-6
            values = [v for v in (knob.ge, knob.le) if v is not None]
            values += [knob.gt + inside] if knob.gt is not None else []
            values += [knob.lt - inside] if knob.lt is not None else []
        else:
            continue
        if knob.many:
            default = getattr(lab.figures.get(name).Knobs(), knob.name)
            values = [tuple(knob.kind(v) for _ in default) for v in values]
        found[knob.name] = [v if knob.many or knob.choices else knob.kind(v) for v in values]
    return found


def corners():
    """(figure, knobs): one knob at one of its ends; for figures that train, all knobs at their ends together."""
    for name in NAMES:
        if lab.figures.get(name).tier == "toy_training":
            steady = {k: v for k, v in ends(name).items() if k not in QUICK}
            yield name, {knob: values[0] for knob, values in steady.items()}
            yield name, {knob: values[-1] for knob, values in steady.items()}
            choices = {k: v for k, v in steady.items() if isinstance(v[0], str)}
            yield from ((name, {knob: value}) for knob, values in choices.items() for value in values[1:-1])
        else:
            yield from ((name, {knob: value}) for knob, values in ends(name).items() for value in values)


def build(name: str, runs, **knobs) -> go.Figure:
    figure = lab.figures.create(name, **{**quick(name), **knobs})
    return figure.figure(runs) if figure.reads_runs and figure.tier == "from_runs" else figure.figure()


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
    assert all(a.title.text for a in visible), "every axis of every panel needs a title, once per row or column"
    assert not re.search(r"\d{6}", drawn.layout.title.subtitle.text or ""), "round the numbers in the subtitle"


def axes(drawn: go.Figure) -> list:
    """Outer axes: of a grid of panels the lowest x axis of each column and the first y axis of each row."""
    used_x = {getattr(t, "xaxis", None) or "x" for t in drawn.data if t.type not in ("table", "pie")}
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


@pytest.mark.parametrize(("name", "knobs"), list(corners()))
def test_figure_stands_at_the_bounds_of_its_knobs(name, knobs, runs):
    try:
        drawn = build(name, runs, **knobs)
    except ValueError as error:
        assert re.match(r"^[A-Z]\w+: ", str(error)), f"{name} with {knobs}: {error}"
        assert set(knobs) & set(lab.figures.get(name).bound_together), f"{name} with {knobs} refuses: {error}"
    else:
        drawn.to_json()


@pytest.mark.parametrize("name", [n for n in NAMES if lab.figures.get(n).tier in ("instant", "static")])
def test_t0_figures_train_nothing_and_send_little(name, monkeypatch):
    """What lets them follow a slider; `lab bench interaction` measures how well."""
    trained = []
    monkeypatch.setattr("torch.optim.Optimizer.zero_grad", lambda *_, **__: trained.append(1))
    drawn = lab.figures.create(name).figure()
    assert not trained
    assert len(drawn.to_json()) < 400_000


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
                shapes.add((line.color, line.dash or "solid", line.width or 2, trace.fill, str(marker.symbol)))
    styles = [style[1:] for style in shapes]
    assert len(styles) == len(set(styles)), "two lines differ by colour alone"


@pytest.mark.parametrize("name", NAMES)
def test_code_makes_the_same_figure(name):
    import lab

    figure = lab.figures.create(name)
    assert figure.code() == f"lab.figures.create({name!r}).figure()"
    number = next((k for k in describe(type(figure).Knobs) if k.kind is float and not k.many and k.le), None)
    if number is not None:
        moved = lab.figures.create(name, **{number.name: number.le})
        again = eval(moved.code().removesuffix(".figure()"), {"lab": lab})
        assert again.knobs == moved.knobs


@pytest.mark.parametrize("name", [n for n in NAMES if lab.figures.get(n).tier != "from_runs"])
def test_same_knobs_same_numbers(name):
    def numbers():
        return lab.figures.create(name, **quick(name)).numbers()

    if name == "loss_cost":
        assert lab.figures.create(name).numbers()["seconds"] == {}, "measuring is off by default"
    assert_same(numbers(), numbers(), name)


def assert_same(a, b, where):
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_same(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, list | tuple):
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"{where}[{i}]")
    elif isinstance(a, np.ndarray):
        assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), where
    elif isinstance(a, float):
        assert a == b or (np.isnan(a) and np.isnan(b)), where


def test_unknown_figures_and_knobs_are_named():
    with pytest.raises(ValueError, match="Did you mean 'surrogates'"):
        lab.figures.create("surrogat")
    with pytest.raises(ValueError, match="Surrogates has no knob 'tua'.*did you mean 'tau'"):
        lab.figures.create("surrogates", tua=1)
    with pytest.raises(ValueError, match="0.001 <= tau <= 1"):
        lab.figures.create("surrogates", tau=5)


def test_runs_go_only_where_they_are_read(runs):
    with pytest.raises(ValueError, match="takes no runs"):
        lab.figures.create("surrogates").figure(runs)
    for name in NAMES:
        figure = lab.figures.create(name)
        if figure.tier == "from_runs" and name != "reference_scores":
            with pytest.raises(ValueError, match="shows finished runs"):
                figure.figure([])
