"""Figures: the papers' figures, live: what a formula does while its knobs move."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import streamlit as st

import lab.figures
from app.components.drag import drag
from app.forms import sliders
from app.shared import address, autoplay, page_frame, plot_theme
from app.views.figures import figure_topics
from lab.core.knobs import Knob, describe
from lab.figures import Figure, apart
from lab.figures.points import letters

if TYPE_CHECKING:
    import plotly.graph_objects as go

BEAT = 0.3  # seconds between two steps of a figure that plays
LOOK_EVERY = 0.5  # seconds between two looks at a training


@page_frame.page(
    "Figures",
    "The papers' figures, interactive: change a setting and the figure is redrawn. The notebooks use the same figures.",
)
def losses() -> None:
    topics = figure_topics.topics()
    topic_of = {name: topic for topic, names in topics.items() for name in names}
    address.adopt("figure", str, topic_of)
    wanted = st.session_state.get("figure", "")
    if topic_of.get(wanted) not in (None, st.session_state.get("topic")) and st.session_state.get("drawn") != wanted:
        st.session_state["topic"] = topic_of[wanted]  # a new address brings its own topic
    with st.sidebar:
        topic = page_frame.select("Topic", list(topics), key="topic")
        name = page_frame.select("Figure", topics[topic], key="figure", format=lambda one: lab.figures.get(one).title)
        st.divider()
        kind, knobs = lab.figures.get(name), describe(lab.figures.get(name).Knobs)
        _adopt_knobs(name, knobs)
        if kind.plays:
            autoplay.advance(*_stops(name, kind))
        st.button("Reset", icon=":material/undo:", width="stretch", on_click=_reset, args=(name, knobs))
        values = sliders.panel((k for k in knobs if k.name not in kind.drag), _root(name))
    st.session_state["drawn"] = name
    st.markdown(f"**{page_frame.as_text(kind.question)}**")
    if kind.plays:
        autoplay.button(*_stops(name, kind), BEAT)
    _show(name, kind, values)


def _root(name: str) -> str:
    return f"figure.{name}"


def _show(name: str, kind: type[Figure], values: dict[str, Any]) -> None:
    if kind.drag:
        values |= _grips(name, kind, values)
    points = kind.drag and kind.drag[0] != "scores"
    grips, room = st.columns([2, 5]) if points else (st.container(), st.container())
    figure = kind(**values)
    address.tell("figure", name)
    if not address.tell("knobs", _as_address(figure)):
        st.caption("There are too many points for a link; the code below holds them all.")
    if kind.drag:
        with grips:
            _draw_grips(name, figure)
    drawn = _drawn(name, figure)
    if drawn is None:
        return
    words = drawn.layout.meta["alt"]
    with room, st.container(key="figure room"):  # as wide as a figure needs: on a phone it is pushed sideways
        st.plotly_chart(
            plot_theme.dressed(drawn),
            theme=None,
            key=f"drawn {name}",
            alt=words,
            config={"displaylogo": False},
            on_select=partial(_pick_code, f"drawn {name}") if kind.shows_code else "ignore",
            selection_mode="points",
        )
    if kind.shows_code:
        _show_code(drawn)
    if kind.source != figure_topics.MORE:
        st.caption(page_frame.as_text(f"After {kind.source}."))
    with page_frame.fold("Description and code", link="code"):
        st.text(words)
        st.code(figure.code(), language="python")


def _drawn(name: str, figure: Figure) -> go.Figure | None:
    """The picture; None while it is trained for, in a process of its own, with a bar in its place."""
    if not apart.can_train(figure):
        return figure.figure()
    key = f"{_root(name)} training"
    knobs, training = st.session_state.get(key, (None, None))
    if training is None or knobs != figure.knobs:
        if training is not None:
            training.stop()
        training = apart.Training(figure)
        st.session_state[key] = (figure.knobs, training)
    if training.over and not training.refused:
        return training.figure()
    _watch(key, training)
    return None


@st.fragment(run_every=LOOK_EVERY)
def _watch(key: str, training: apart.Training) -> None:
    """How far a training is, and a button to end it."""
    if not training.over:
        st.progress(training.progress, text=f"Training small networks, {training.progress:.0%}")
        st.button("Stop", icon=":material/stop:", on_click=training.stop)
    elif training.refused:
        st.info(page_frame.as_text(training.refused))
        if st.button("Train again", icon=":material/refresh:"):
            st.session_state.pop(key, None)
            st.rerun()
    else:
        st.rerun()


def _pick_code(chart: str) -> None:
    """Choose the box that was clicked."""
    for point in st.session_state[chart]["selection"]["points"]:
        st.session_state["code of"] = str(point["customdata"])


def _show_code(drawn: go.Figure) -> None:
    """The source behind the box that was clicked, or chosen from a list by those who do not click."""
    names = [name for trace in drawn.data for name in trace.customdata or ()]
    name = page_frame.select(
        "Code behind a box", ["", *names], key="code of", format=lambda one: one or "Choose a box", link="box"
    )
    if name:
        st.code(inspect.getsource(resolve_name(name)), language="python", height=400)


def _reset(name: str, knobs: tuple[Knob, ...]) -> None:
    kind = lab.figures.get(name)
    sliders.put(knobs, _root(name), {})
    for state in ("dragged", "start"):
        st.session_state.pop(f"{_root(name)} {state}", None)
    if kind.plays:
        autoplay.stop(_stops(name, kind)[0])


def _adopt_knobs(name: str, knobs: tuple[Knob, ...]) -> None:
    """Move the knobs to where a new address says, as far as that is legal."""
    address.adopt("knobs", _from_address(name), default=(name, {}))
    address_knobs = st.session_state.pop("knobs", None)
    if address_knobs and address_knobs[0] == name:
        _reset(name, knobs)
        kind, values = lab.figures.get(name), address_knobs[1]
        sliders.put((k for k in knobs if k.name not in kind.drag), _root(name), values)
        dragged = {one: values[one] for one in kind.drag if one in values}
        if dragged:
            st.session_state[f"{_root(name)} dragged"] = dragged
            if kind.drag[0] != "scores":
                st.session_state[f"{_root(name)} start"] = _places(
                    kind, {k: v for k, v in values.items() if k not in dragged}
                )


def _from_address(name: str) -> Callable[[str], tuple[str, dict[str, Any]]]:
    def read(text: str) -> tuple[str, dict[str, Any]]:
        values = json.loads(text)
        if not isinstance(values, dict):
            raise ValueError("knobs must be an object")
        kind = lab.figures.get(name)
        knobs = kind.Knobs(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})
        return name, {k: getattr(knobs, k) for k in values}

    return read


def _as_address(figure: Figure) -> str | None:
    """The knobs that are not at their default."""
    defaults = type(figure.knobs)()
    moved = {name: value for name, value in figure.knobs if value != getattr(defaults, name)}
    return json.dumps(moved, separators=(",", ":")) if moved else None


def _grips(name: str, kind: type[Figure], others: dict[str, Any]) -> dict[str, Any]:
    """The knobs that are dragged. Points follow the figure's own until one is dragged; a knob that moves the figure's
    own points takes the dragged ones back."""
    key = f"{_root(name)} dragged"
    if kind.drag[0] != "scores":
        start = _places(kind, others)
        if st.session_state.get(f"{_root(name)} start") != start:
            st.session_state[f"{_root(name)} start"] = start
            st.session_state.pop(key, None)
    return st.session_state.get(key, {})


def _draw_grips(name: str, figure: Figure) -> None:
    kind = type(figure)
    if kind.drag[0] == "scores":
        model = {"scores": list(figure.knobs.scores), "pattern": figure.knobs.pattern}
        drag("strip", model, key=f"strip {name}", on_move=lambda values: _moved(name, kind, values))
        return
    x, y, classes = _places(kind, dict(figure.knobs))
    model = {"x": list(x), "y": list(y), "classes": classes, "fixed": len(kind.drag) == 2}
    drag("points", model, key=f"points {name}", on_move=lambda values: _moved(name, kind, values))


def _moved(name: str, kind: type[Figure], moved: dict[str, Any]) -> None:
    """Take over what was dragged, when it is legal."""
    names = kind.drag if kind.drag[0] == "scores" else ("x", "y", "classes")[: len(kind.drag)]
    try:
        dragged = {
            knob: tuple(round(float(v), 4) for v in moved[sent]) if isinstance(moved[sent], list) else str(moved[sent])
            for knob, sent in zip(kind.drag, names, strict=True)
        }
        kind.Knobs(**dragged)
    except (KeyError, TypeError, ValueError):
        return
    st.session_state[f"{_root(name)} dragged"] = dragged


def _places(kind: type[Figure], values: dict[str, Any]) -> tuple:
    figure: Any = kind(**values)  # figures with points to drag have this method
    points, labels = figure.points()
    return tuple(points[:, 0].round(4).tolist()), tuple(points[:, 1].round(4).tolist()), "".join(letters(labels))


def _stops(name: str, kind: type[Figure]) -> tuple[str, range]:
    """The knob that plays, as it stands in the session's state, and what it can be."""
    knob = next(k for k in describe(kind.Knobs) if k.name == kind.plays)
    return f"{_root(name)}.{kind.plays}", range(int(knob.le or 0) + 1)


losses()
