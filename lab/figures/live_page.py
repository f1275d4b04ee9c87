"""Write a figure as a single HTML file whose sliders work without Python.

A figure that has a closed form in scripts/browser/figures/in_page is computed in the page, with all its knobs. For
any other figure, every picture is computed beforehand. The pictures of a grid of two knobs have most of their parts
in common, so each part is stored once. The pictures and plotly.js are compressed in the file, which opens from a disk
or a site and sends no request to any other host.
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
"""Largest size of the packed pictures in bytes: a larger grid loses every other stop, so a page stays below 2 MB."""
STOPS = (21, 9)
"""Approximate number of stops of the first and the second slider."""
TRACES = frozenset({"scatter", "bar", "heatmap", "histogram2dcontour", "table", "waterfall"})
"""Types of traces that scripts/plotly/entry.js includes in `plotly.min.js`, a quarter of all plotly.js."""
HERE = Path(__file__).parent
PLOTLY_JS = HERE / "plotly.min.js"
DRAG_CSS = HERE.parent / "widgets" / "drag.css"


def live_page(
    figure: Figure, slide: Sequence[str] | None = None, runs: Sequence | None = None
) -> str:
    """Return the page of a figure as HTML.

    Args:
        figure: the figure with the initial values of its knobs.
        slide: names of at most two knobs that move. By default those in the figure's `stops`; without `stops`, the
            first two that need no training, of those in `moves` or of all sliders; none if runs are given.
        runs: finished runs, for a figure that reads them.

    Raises:
        ValueError: a knob is unknown or has no slider, or there are more than two.
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
    """Return the script that draws live figures: `rankscopeLive` in a page."""
    return (HERE / "live.js").read_text(encoding="utf-8")


@cache
def forms() -> tuple[str, ...]:
    """Return the names of the figures that a page can compute without Python, at least for some of their knobs."""
    return tuple(json.loads((HERE / "closed_forms.json").read_text(encoding="utf-8")))


def has_form(kind: type[Figure]) -> bool:
    """Whether a page can compute a figure without Python, at least for some values of its knobs."""
    return name_of(kind) in forms()


def computes_in_page(figure: Figure) -> bool:
    """Whether a page can compute the figure with its current knobs."""
    if not has_form(type(figure)):
        return False
    return all(getattr(figure.knobs, name) in values for name, values in figure.in_page.items())


def beyond(figure: Figure) -> dict[str, Any] | None:
    """Return the picture of a figure that its page cannot compute with the current knobs; None if it can."""
    if computes_in_page(figure):
        return None
    picture = _picture(figure, (), (), None)
    picture["idle"] = [*figure.idle()]
    return picture


def form(figure: Figure) -> bytes:
    """Return the data from which `live.js` computes a figure in a notebook, packed, base64."""
    packed, _ = _closed_form(figure, {})
    return packed


def plotly_js(kinds: Collection[str]) -> str:
    """Return plotly.js for these types of traces: ours, or the whole installed one if ours lacks a type."""
    if TRACES.issuperset(kinds):
        return PLOTLY_JS.read_text(encoding="utf-8")
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()


def packed_pictures(
    figure: Figure,
    slide: Sequence[str] | None = None,
    runs: Sequence | None = None,
    most: Sequence[int] = STOPS,
) -> tuple[bytes, set[str]]:
    """Return the data from which `live.js` draws, packed, base64; and the types of traces in it.

    Args:
        figure, slide, runs: see `live_page`.
        most: approximate number of stops of the first and the second slider.

    Raises:
        ValueError: see `live_page`.
    """
    if slide is None and runs is None and computes_in_page(figure):
        return _closed_form(figure, figure.in_page)

    moving = _moving(figure, slide, runs)
    stops = _grid(figure, moving, most)
    with keeping():
        pictures = {
            values: _picture(figure, moving, values, runs) for values in itertools.product(*stops)
        }

    # Drop every other stop of the longest slider until the page is small enough.
    packed = _packed(moving, stops, pictures, figure)
    while len(packed) > LARGEST:
        fewer_stops = _halved(moving, stops, figure)
        if fewer_stops == stops:
            break
        stops = fewer_stops
        packed = _packed(moving, stops, pictures, figure)

    trace_types = set()
    for picture in pictures.values():
        for trace in picture.get("figure", {}).get("data", ()):
            trace_types.add(trace.get("type", "scatter"))
    return packed, trace_types


def _closed_form(figure: Figure, stops: Mapping[str, tuple]) -> tuple[bytes, set[str]]:
    """Return the data of a figure that the page computes, packed, and the types of traces in it.

    They hold Python's drawing at the defaults, and every knob with its stops in `stops` or else those of its control.
    """
    kind = type(figure)
    defaults = kind()
    unfolded, folded = figure.controls()
    now = dict(figure.knobs)
    sliders = []
    for knob in (*unfolded, *folded):
        sliders.append(_slider(knob, stops.get(knob.name, _stops(knob, now[knob.name]))))
    start = json.loads(defaults.figure().to_json())
    body = {
        "form": name_of(kind),
        "start": start,
        "given": figure.given(),
        "unfolded": len(unfolded),
        "sliders": sliders,
        "knobs": now,
        "defaults": dict(defaults.knobs),
        "drag": kind.drag,
        "in_page": figure.in_page,
        "plays": kind.plays,
        "floats": [knob.name for knob in describe(kind.Knobs) if knob.kind is float],
        "inks": style.IN_THE_DARK,
    }
    return _pressed(json.dumps(body)), {trace["type"] for trace in start["data"]}


def _slider(knob: Knob, stops: Sequence) -> dict[str, Any]:
    """Return the data from which the page makes a control; free words have no stops."""
    return {"name": knob.name, "label": labels.label(knob), "help": knob.help, "stops": stops}


def _pressed(text: str) -> bytes:
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0))


def trains(
    figure: Figure, slide: Sequence[str] | None = None, runs: Sequence | None = None
) -> bool:
    """Whether any picture of a figure's page needs a training; arguments and errors are those of `live_page`."""
    if type(figure).tier != "toy_training":
        return False
    moving = _moving(figure, slide, runs)
    names = [knob.name for knob in moving]
    for values in itertools.product(*_grid(figure, moving, STOPS)):
        if _with(figure, dict(zip(names, values, strict=True))).training_steps():
            return True
    return False


def trained_words(
    figure: Figure, slide: Sequence[str] | None = None, runs: Sequence | None = None
) -> str:
    """Return a sentence of HTML about the trainings of a page: what was trained, and where the rest is; else "".

    Args:
        figure, slide, runs: see `live_page`.
    """
    if not trains(figure, slide, runs):
        return ""
    where = (
        "other settings are trained where Python runs: in the notebook, and on the page Figures of "
    )
    where += "<code>lab app</code>."
    if type(figure).stops:
        return f"It trains a small network. These stops were trained beforehand; {where}"
    return f"Where it shows the toy, it trains a small network; {where}"


def _moving(figure: Figure, slide: Sequence[str] | None, runs: Sequence | None) -> list[Knob]:
    """Return the knobs that move in the page; see `live_page`."""
    knobs = {
        knob.name: knob
        for knob in describe(type(figure).Knobs)
        if knob.name not in type(figure).drag
    }
    with_stops = [name for name, knob in knobs.items() if _offered(figure, knob)]

    if slide is not None:
        if len(slide) > len(STOPS):
            raise ValueError(
                f"At most {len(STOPS)} knobs can move in a saved page, got {', '.join(slide)}."
            )
        for name in slide:
            if name not in with_stops:
                choices = ", ".join(with_stops) or "none"
                raise ValueError(
                    f"{name!r} cannot move in a saved page; those that can: {choices}."
                )
        return [knobs[name] for name in slide]

    if runs is not None:
        return []
    if type(figure).stops:
        return [knobs[name] for name in type(figure).stops]
    moving = []
    candidates = type(figure).moves or [name for name in with_stops if name != "seed"]
    for name in candidates:
        if name in with_stops and _trains_nothing(figure, knobs[name]):
            moving.append(knobs[name])
    return moving[: len(STOPS)]


def _grid(figure: Figure, moving: Sequence[Knob], most: Sequence[int]) -> list[list]:
    """Return the stops of each moving knob; `most` is the approximate number for the first and the second slider."""
    counts = (*most, *[2] * len(moving))  # further moving knobs are ticks
    stops = []
    for knob, count in zip(moving, counts, strict=False):
        stops.append(_thinned(_offered(figure, knob), getattr(figure.knobs, knob.name), count))
    return stops


def _trains_nothing(figure: Figure, knob: Knob) -> bool:
    """Whether no other stop of a knob needs a training."""
    if type(figure).tier != "toy_training":
        return True
    now = getattr(figure.knobs, knob.name)
    others = (stop for stop in _stops(knob, now) if stop != now)
    return all(_with(figure, {knob.name: stop}).training_steps() == 0 for stop in others)


def _with(figure: Figure, values: Mapping[str, Any]) -> Figure:
    """Return the figure with other values of some knobs."""
    return type(figure)(**{**dict(figure.knobs), **values})


def _offered(figure: Figure, knob: Knob) -> list:
    """Return the stops of a knob in the page: those of the figure's `stops`, or else those of its control."""
    value = getattr(figure.knobs, knob.name)
    stops = type(figure).stops.get(knob.name)
    if stops is None:
        return _stops(knob, value)
    if value in stops:
        return list(stops)
    return sorted([*stops, value])


def _stops(knob: Knob, value: Any) -> list:
    """Return all values of a knob's control; none if it is not a slider, choice or tick."""
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
    stops = {tidy(knob, knob.kind(low + i * step)) for i in range(count + 1)}
    return sorted(stops | {value})


def _thinned(stops: list, value: Any, most: int) -> list:
    """Return about `most` of the stops, evenly spaced, always with both ends and the initial value."""
    if len(stops) <= most or isinstance(stops[0], bool | str):
        return stops
    indices = {round(i * (len(stops) - 1) / (most - 1)) for i in range(most)}
    indices.add(stops.index(value))
    return [stops[i] for i in sorted(indices)]


def _halved(moving: Sequence[Knob], stops: list[list], figure: Figure) -> list[list]:
    """Return the stops with half as many for the slider that has most."""
    if not stops:
        return stops
    longest = max(range(len(stops)), key=lambda i: len(stops[i]))
    value = getattr(figure.knobs, moving[longest].name)
    halved = list(stops)
    halved[longest] = _thinned(stops[longest], value, max(2, len(stops[longest]) // 2))
    return halved


def _picture(
    figure: Figure, moving: Sequence[Knob], values: Sequence, runs: Sequence | None
) -> dict[str, Any]:
    """Return figure and code for these values, or a sentence if the knobs contradict each other."""
    names = [knob.name for knob in moving]
    try:
        moved = _with(figure, dict(zip(names, values, strict=True)))
        return {"figure": json.loads(moved.figure(runs).to_json()), "code": moved.code()}
    except ValueError as error:
        return {"refused": str(error)}


def _packed(moving: Sequence[Knob], stops: Sequence[list], pictures: dict, figure: Figure) -> bytes:
    """Return the data of the page, base64: all parts, each once, and for each picture the numbers of its parts."""
    number_of: dict[str, int] = {}
    frames = []
    for values in itertools.product(*stops):
        frame = []
        for path, part in _parts(pictures[values]):
            number = number_of.setdefault(json.dumps(part), len(number_of))
            frame.append([path, number])
        frames.append(frame)
    body = {
        "inks": style.IN_THE_DARK,
        "sliders": list(map(_slider, moving, stops)),
        "frames": frames,
        "knobs": {knob.name: getattr(figure.knobs, knob.name) for knob in moving},
    }
    return _pressed(f'{json.dumps(body)[:-1]}, "parts": [{", ".join(number_of)}]}}')


def _parts(picture: dict[str, Any]) -> Iterator[tuple[list, Any]]:
    """Yield the parts of a picture with their paths in it: every property of a trace or of the layout."""
    for name, value in picture.items():
        if name != "figure":
            yield [name], value
    for index, trace in enumerate(picture.get("figure", {}).get("data", ())):
        for name, value in trace.items():
            yield ["figure", "data", index, name], value
    for name, value in picture.get("figure", {}).get("layout", {}).items():
        yield ["figure", "layout", name], value
