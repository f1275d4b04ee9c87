"""A figure as one file of HTML whose sliders live without Python.

A figure that has a closed form in scripts/browser/figures/in_page is computed in the page, with all its knobs. Of any
other, every picture is computed beforehand: those of a grid of two knobs have most of their parts in common, so each
part is kept once.
Packed, with plotly.js packed beside them, they open from a disk or a site and ask no other host for anything.
"""

import base64
import gzip
import itertools
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from lab.core import style, web_page
from lab.core.catalog import name_of
from lab.core.knobs import Knob, describe, labels
from lab.core.knobs.sliders import linear_steps, log_steps, tidy
from lab.figures._base import Figure, keeping

LARGEST = 1_200_000
"""Bytes of the pictures, packed: a grid that takes more loses every other stop, and a page stays below 2 MB."""
STOPS = (21, 9)
"""Of the first slider and of the second, about."""
TRACES = frozenset({"scatter", "bar", "heatmap", "histogram2dcontour", "table", "waterfall"})
"""What scripts/plotly/entry.js puts into `plotly.min.js`, a quarter of the whole."""
HERE = Path(__file__).parent
PLOTLY_JS = HERE / "plotly.min.js"
DRAG_CSS = HERE.parent / "widgets" / "drag.css"


def live_page(figure: Figure, slide: Sequence[str] | None = None, runs: Sequence | None = None) -> str:
    """The page of a figure.

    Args:
        figure: where the knobs start.
        slide: names of at most two knobs that move; by default those for which the figure says its `stops`, or else the
            first two that need no training, of those that it names in `moves` or of all with a slider; none where
            runs are given.
        runs: finished runs, for a figure that reads them.

    Raises:
        ValueError: an unknown knob, one without a slider, or more than two.
    """
    packed, kinds = packed_pictures(figure, slide, runs)
    blanks = {
        "TITLE": escape(type(figure).title),
        "QUESTION": escape(type(figure).question),
        "SOURCE": escape(type(figure).origin()),
        "TRAINED": trained_words(figure, slide, runs),
        "LIVE": _pressed(script()).decode(),
        "STYLE": DRAG_CSS.read_text(encoding="utf-8"),
        "PICTURES": packed.decode(),
        "PLOTLY": _pressed(plotly_js(kinds)).decode(),
    }
    return web_page.filled(HERE / "live_page.html", blanks)


@cache
def script() -> str:
    """What draws a live figure: `rankscopeLive` in a page."""
    return (HERE / "live.js").read_text(encoding="utf-8")


@cache
def forms() -> tuple[str, ...]:
    """Names of the figures that a page can compute by itself, at least where it knows the values."""
    return tuple(json.loads((HERE / "closed_forms.json").read_text(encoding="utf-8")))


def has_form(kind: type[Figure]) -> bool:
    """Whether a page can compute a figure by itself, at least where it knows the values."""
    return name_of(kind) in forms()


def computes_in_page(figure: Figure) -> bool:
    """Whether it can, starting where the figure's knobs are."""
    limits = figure.in_page.items()
    return has_form(type(figure)) and all(getattr(figure.knobs, name) in said for name, said in limits)


def beyond(figure: Figure) -> dict[str, Any] | None:
    """The picture of a figure with a closed form that Python has to draw; None where the page does."""
    return None if computes_in_page(figure) else {**_picture(figure, (), (), None), "idle": [*figure.idle()]}


def form(figure: Figure) -> bytes:
    """What `live.js` computes from where Python stands by to draw what it does not know, packed, base64."""
    return _closed_form(figure, {})[0]


def plotly_js(kinds: Collection[str]) -> str:
    """plotly.js for these kinds of traces: ours, or the installed package's whole one where ours lacks any."""
    if TRACES.issuperset(kinds):
        return PLOTLY_JS.read_text(encoding="utf-8")
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()


def packed_pictures(
    figure: Figure, slide: Sequence[str] | None = None, runs: Sequence | None = None, most: Sequence[int] = STOPS
) -> tuple[bytes, set[str]]:
    """What `live.js` draws from, packed, base64; and the kinds of traces in it.

    Args:
        figure, slide, runs: as `live_page` takes them.
        most: stops of the first slider and of the second, about.

    Raises:
        ValueError: as `live_page`.
    """
    if slide is None and runs is None and computes_in_page(figure):
        return _closed_form(figure, figure.in_page)
    moving = _moving(figure, slide, runs)
    stops = _grid(figure, moving, most)
    with keeping():
        pictures = {values: _picture(figure, moving, values, runs) for values in itertools.product(*stops)}
    packed = _packed(moving, stops, pictures, figure)
    while len(packed) > LARGEST and (fewer := _halved(moving, stops, figure)) != stops:
        stops, packed = fewer, _packed(moving, fewer, pictures, figure)
    drawn = (picture.get("figure", {}).get("data", ()) for picture in pictures.values())
    return packed, {trace.get("type", "scatter") for traces in drawn for trace in traces}


def _closed_form(figure: Figure, stops: Mapping[str, tuple]) -> tuple[bytes, set[str]]:
    """The same where the page computes: what Python draws at the defaults, and every knob with its stops or these."""
    kind = type(figure)
    defaults, (unfolded, folded) = kind(), figure.controls()
    now, start = dict(figure.knobs), json.loads(defaults.figure().to_json())
    body = {
        "form": name_of(kind), "start": start, "given": figure.given(), "unfolded": len(unfolded),
        "sliders": [_slider(k, stops.get(k.name, _stops(k, now[k.name]))) for k in (*unfolded, *folded)],
        "knobs": now, "defaults": dict(defaults.knobs), "drag": kind.drag, "in_page": figure.in_page,
        "plays": kind.plays,
        "floats": [knob.name for knob in describe(kind.Knobs) if knob.kind is float], "inks": style.IN_THE_DARK,
    }  # fmt: skip
    return _pressed(json.dumps(body)), {trace["type"] for trace in start["data"]}


def _slider(knob: Knob, stops: Sequence) -> dict[str, Any]:
    """What the page makes a control of; free words have no stops."""
    return {"name": knob.name, "label": labels.label(knob), "help": knob.help, "stops": stops}


def _pressed(text: str) -> bytes:
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0))


def trains(figure: Figure, slide: Sequence[str] | None = None, runs: Sequence | None = None) -> bool:
    """Whether any picture of its page takes a training; arguments and errors are those of `live_page`."""
    if type(figure).tier != "toy_training":
        return False
    moving = _moving(figure, slide, runs)
    places = itertools.product(*_grid(figure, moving, STOPS))
    names = [knob.name for knob in moving]
    return any(_with(figure, dict(zip(names, values, strict=True))).training_steps() for values in places)


def trained_words(figure: Figure, slide: Sequence[str] | None = None, runs: Sequence | None = None) -> str:
    """A sentence of HTML for a page that took a training: what was trained, and where the rest is; else "".

    Args:
        figure, slide, runs: as `live_page` takes them.
    """
    if not trains(figure, slide, runs):
        return ""
    where = "other settings are trained where Python runs: in the notebook, and on the page Figures of "
    where += "<code>lab app</code>."
    if type(figure).stops:
        return f"It trains a small network. These stops were trained beforehand; {where}"
    return f"Where it shows the toy, it trains a small network; {where}"


def _moving(figure: Figure, slide: Sequence[str] | None, runs: Sequence | None) -> list[Knob]:
    knobs = {knob.name: knob for knob in describe(type(figure).Knobs) if knob.name not in type(figure).drag}
    able = [name for name, knob in knobs.items() if _offered(figure, knob)]
    if slide is None and runs is not None:
        return []
    if slide is None and type(figure).stops:
        return [knobs[name] for name in type(figure).stops]
    if slide is None:
        candidates = type(figure).moves or [name for name in able if name != "seed"]
        free = [knobs[name] for name in candidates if name in able and _trains_nothing(figure, knobs[name])]
        return free[: len(STOPS)]
    if len(slide) > len(STOPS):
        raise ValueError(f"At most {len(STOPS)} knobs can move in a saved page, got {', '.join(slide)}.")
    for name in slide:
        if name not in able:
            raise ValueError(f"{name!r} cannot move in a saved page; those that can: {', '.join(able) or 'none'}.")
    return [knobs[name] for name in slide]


def _grid(figure: Figure, moving: Sequence[Knob], most: Sequence[int]) -> list[list]:
    """Where each of the knobs stops. most: stops of the first slider and of the second, about."""
    counts = (*most, *[2] * len(moving))  # what moves beside two sliders is a tick
    return [_thinned(_offered(figure, knob), getattr(figure.knobs, knob.name), count)
            for knob, count in zip(moving, counts, strict=False)]  # fmt: skip


def _trains_nothing(figure: Figure, knob: Knob) -> bool:
    """Whether no other stop of a knob needs a training."""
    if type(figure).tier != "toy_training":
        return True
    now = getattr(figure.knobs, knob.name)
    others = (stop for stop in _stops(knob, now) if stop != now)
    return all(_with(figure, {knob.name: stop}).training_steps() == 0 for stop in others)


def _with(figure: Figure, values: Mapping[str, Any]) -> Figure:
    """The same figure with other values of some knobs."""
    return type(figure)(**{**dict(figure.knobs), **values})


def _offered(figure: Figure, knob: Knob) -> list:
    """Where a knob of a figure may stop: at what the figure says, or else wherever its control does."""
    value = getattr(figure.knobs, knob.name)
    said = type(figure).stops.get(knob.name)
    if said is None:
        return _stops(knob, value)
    return list(said) if value in said else sorted([*said, value])


def _stops(knob: Knob, value: Any) -> list:
    """All values that a control of the knob would offer; none where it is no slider, choice or tick."""
    if knob.many or knob.optional:
        return []
    if knob.choices:
        return list(knob.choices)
    if knob.kind is bool:
        return [False, True]
    if knob.kind not in (int, float):
        return []
    if knob.scale == "log":
        return log_steps(knob, value)
    low, high, step = linear_steps(knob, value if knob.kind is int else None)
    count = round((high - low) / step)
    return sorted({tidy(knob, knob.kind(low + i * step)) for i in range(count + 1)} | {value})


def _thinned(stops: list, value: Any, most: int) -> list:
    """At most about `most` of the stops, evenly, always with both ends and the value where the knob starts."""
    if len(stops) <= most or isinstance(stops[0], bool | str):
        return stops
    kept = {round(i * (len(stops) - 1) / (most - 1)) for i in range(most)} | {stops.index(value)}
    return [stops[i] for i in sorted(kept)]


def _halved(moving: Sequence[Knob], stops: list[list], figure: Figure) -> list[list]:
    """The same with half as many stops of the slider that has most."""
    longest = max(range(len(stops)), key=lambda i: len(stops[i]), default=0)
    return [
        _thinned(one, getattr(figure.knobs, moving[i].name), max(2, len(one) // 2)) if i == longest else one
        for i, one in enumerate(stops)
    ]


def _picture(figure: Figure, moving: Sequence[Knob], values: Sequence, runs: Sequence | None) -> dict[str, Any]:
    """Figure and code, or a sentence where the knobs contradict each other."""
    try:
        made = _with(figure, {k.name: v for k, v in zip(moving, values, strict=True)})
        return {"figure": json.loads(made.figure(runs).to_json()), "code": made.code()}
    except ValueError as error:
        return {"refused": str(error)}


def _packed(moving: Sequence[Knob], stops: Sequence[list], pictures: dict, figure: Figure) -> bytes:
    """Everything that the page shows: parts, each once, and for each picture the numbers of its parts. base64."""
    numbers: dict[str, int] = {}
    frames = [
        [[path, numbers.setdefault(json.dumps(part), len(numbers))] for path, part in _parts(pictures[values])]
        for values in itertools.product(*stops)
    ]
    body = {
        "inks": style.IN_THE_DARK, "sliders": list(map(_slider, moving, stops)), "frames": frames,
        "knobs": {knob.name: getattr(figure.knobs, knob.name) for knob in moving},
    }  # fmt: skip
    return _pressed(f'{json.dumps(body)[:-1]}, "parts": [{", ".join(numbers)}]}}')


def _parts(picture: dict[str, Any]) -> Iterator[tuple[list, Any]]:
    """The pieces of a picture, each with the path to where it belongs: every property of a trace or of the layout."""
    for name, value in picture.items():
        if name != "figure":
            yield [name], value
    for index, trace in enumerate(picture.get("figure", {}).get("data", ())):
        for name, value in trace.items():
            yield ["figure", "data", index, name], value
    for name, value in picture.get("figure", {}).get("layout", {}).items():
        yield ["figure", "layout", name], value
