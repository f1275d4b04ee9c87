"""Figures: the papers' figures, redrawn while the user changes their parameters."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

import lab.figures
from app import served
from app.components.inputs import drag
from app.forms import sliders
from app.shared import address, autoplay, changes, charts, page_frame, settings
from app.views.figures import figure_topics
from lab.core.knobs import Knob, describe
from lab.figures import Figure, background, live_page
from lab.figures.points import letters

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Seconds between two steps of a figure that plays.
BEAT = 0.3


@dataclass(frozen=True)
class FigureScene:
    """What the Figures page shows: a figure. The session keys of its parameters begin with `root`."""

    name: str

    @property
    def kind(self) -> type[Figure]:
        return lab.figures.get(self.name)

    @property
    def knobs(self) -> tuple[Knob, ...]:
        return describe(self.kind.Knobs)

    @property
    def in_page(self) -> bool:
        """Whether the browser computes the figure."""
        return live_page.has_form(self.kind)

    @property
    def with_widgets(self) -> list[Knob]:
        """The parameters with a widget of this page. The others are dragged, or the browser draws their widgets."""
        return [knob for knob in self.knobs if not self.in_page and knob.name not in self.kind.drag]

    @property
    def root(self) -> str:
        return f"figure.{self.name}"

    @property
    def stops(self) -> tuple[str, range]:
        """The session key and the values of the parameter that plays."""
        knob = next(knob for knob in self.knobs if knob.name == self.kind.plays)
        return f"{self.root}.{self.kind.plays}", range(int(knob.le or 0) + 1)

    def checked(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the values of some parameters, converted to their types.

        Raises:
            ValueError: a value is illegal.
        """
        arguments = {}
        for name, value in values.items():
            arguments[name] = tuple(value) if isinstance(value, list) else value
        knobs = self.kind.Knobs(**arguments)
        return {name: getattr(knobs, name) for name in values}

    def points(self, values: dict[str, Any]) -> tuple:
        """Return x, y and classes of the points that the figure draws with some parameters."""
        figure: Any = self.kind(**values)  # figures with points to drag have a method `points`
        points, labels = figure.points()
        x, y = points.T.round(4).tolist()
        return tuple(x), tuple(y), "".join(letters(labels))


@page_frame.page(
    "Figures",
    "The papers' figures, interactive: change a setting and the figure is redrawn. The notebooks use the same figures.",
)
def figures() -> None:
    topics = figure_topics.topics()
    topic_of = {name: topic for topic, names in topics.items() for name in names}
    address.load("figure", str, topic_of)
    titles = {name: lab.figures.get(name).title for name in topic_of}
    page_frame.need(
        "figure", titles, f"There is no figure {address.missing('figure')}. Choose another figure."
    )
    state = st.session_state
    chosen = state.get("figure", "")
    if topic_of.get(chosen) not in (None, state.get("topic")) and state.get("drawn") != chosen:
        state["topic"] = topic_of[chosen]  # show the topic of a figure from the URL
    with st.sidebar:
        topic = page_frame.select("Topic", list(topics), key="topic")
        name = page_frame.select(
            "Figure", {name: titles[name] for name in topics[topic]}, key="figure"
        )
        st.divider()
        scene = FigureScene(name)
        _load_values(scene)
        if scene.kind.plays:
            autoplay.advance(*scene.stops)
        st.button("Reset", icon=":material/undo:", width="stretch", on_click=_reset, args=(scene,))
        values = _settings(scene)
    state["drawn"] = name
    st.markdown(f"**{page_frame.as_text(scene.kind.question)}**")
    if scene.kind.plays and not scene.in_page:
        autoplay.button(*scene.stops, BEAT)
    _show(scene, values)


def _settings(scene: FigureScene) -> dict[str, Any]:
    """Draw the parameters that have an effect: the main ones, and the others in an expander. The browser draws those of
    a figure that it computes."""
    if scene.in_page:
        return {}
    current = {}
    for knob in scene.with_widgets:
        value = st.session_state.get(f"{scene.root}.{knob.name}")
        if value is not None and not knob.many:
            current[knob.name] = value
    try:
        figure = scene.kind(**current)
    except ValueError:  # the page reports it below
        figure = scene.kind()

    # Parameters without effect are left out.
    idle = figure.idle()
    main, others = figure.controls()
    values = sliders.panel([knob for knob in main if knob.name not in idle], scene.root)
    others = [knob for knob in others if knob.name not in idle]
    if others:
        with page_frame.expander("More settings", link="more"):
            values |= sliders.panel(others, scene.root)
    return values


def _show(scene: FigureScene, values: dict[str, Any]) -> None:
    """Draw the figure, its source, description and code. values: those of the widgets."""
    kind = scene.kind
    figure = kind(**{**values, **_dragged(scene, values)})
    settings.confine_figure(kind.Knobs, dict(figure.knobs))
    address.store("figure", scene.name)
    defaults = type(figure.knobs)()
    changed = {knob: value for knob, value in figure.knobs if value != getattr(defaults, knob)}
    if not address.store_object("knobs", changed):
        st.caption("There are too many points for a link; the code below contains all of them.")

    # The browser or the server computes the figure.
    words = ""
    if scene.in_page:
        key = f"live {scene.name}"
        drag("live", _live_data(figure), key=key, on_move=lambda moved: _take_dragged(scene, moved))
    else:
        drawn = _draw_figure(scene, figure)
        if drawn is None:
            return
        words = drawn.layout.meta["alt"]
        if kind.shows_code:
            _show_code(drawn)
    if kind.source != figure_topics.MORE:
        page_frame.say(f"After {kind.source}.")
    with page_frame.expander("Description and code" if words else "Code", link="code"):
        if words:
            st.text(words)
        st.code(figure.code(), language="python")


def _draw_figure(scene: FigureScene, figure: Figure) -> go.Figure | None:
    """Draw a figure that the server computes, with its points to drag, and return it, or None while it trains."""
    kind = scene.kind
    figure_column = st.container()
    if kind.drag:
        drag_column, figure_column = st.columns([2, 5])
        x, y, classes = scene.points(dict(figure.knobs))
        model = {"x": list(x), "y": list(y), "classes": classes, "fixed": len(kind.drag) == 2}
        key = f"points {scene.name}"
        with drag_column:
            drag(
                "points",
                {"values": model},
                key=key,
                on_move=lambda moved: _take_dragged(scene, moved),
            )
    drawn = _computed(scene, figure)
    if drawn is not None:
        # on a phone the figure scrolls sideways
        with (
            figure_column,
            st.container(key="figure room"),
        ):
            chart = charts.on_page(drawn)
            config = {"displaylogo": False}
            st.plotly_chart(
                chart,
                key=f"drawn {scene.name}",
                alt=drawn.layout.meta["alt"],
                theme=None,
                config=config,
            )
    return drawn


def _live_data(figure: Figure) -> dict[str, Any]:
    """Return the data from which a browser computes a figure. It downloads the long files once."""
    files = [live_page.script().encode(), live_page.PLOTLY_JS.read_bytes(), _form(type(figure))]
    return {
        "files": [served.offer(np.frombuffer(content, np.uint8)) for content in files],
        "dark": st.context.theme.type == "dark",
        "values": dict(figure.knobs),
        "picture": live_page.beyond(figure),
    }


@cache
def _form(kind: type[Figure]) -> bytes:
    return live_page.form(kind())


def _computed(scene: FigureScene, figure: Figure) -> go.Figure | None:
    """Compute a figure. If it needs a training, draw its progress and return None until it is over."""
    if not background.can_train(figure):
        return figure.figure()
    key = f"{scene.root} training"
    knobs, training = st.session_state.get(key, (None, None))

    # Start the training again when a parameter has changed.
    if training is None or knobs != figure.knobs:
        if training is not None:
            training.stop()
        training = background.FigureTraining(figure)
        st.session_state[key] = (figure.knobs, training)
    if training.over and not training.refused:
        return training.figure()
    _watch(key, training)
    return None


def _progress(training: background.FigureTraining) -> tuple[str, bool, str]:
    return f"{training.progress:.0%}", training.over, training.refused


@st.fragment
def _watch(key: str, training: background.FigureTraining) -> None:
    """Draw the progress of a training, and a button that stops it."""
    changes.follow(_progress, training, key=f"progress of {key}")
    if not training.over:
        st.progress(training.progress, text=f"Training small networks, {training.progress:.0%}")
        st.button("Stop", icon=":material/stop:", on_click=page_frame.refusing(training.stop))
    elif training.refused:
        st.info(page_frame.as_text(training.refused))
        if st.button("Train again", icon=":material/refresh:"):
            st.session_state.pop(key, None)
            st.rerun()
    else:
        st.rerun()


def _show_code(drawn: go.Figure) -> None:
    """Draw the choice of a box of the figure, and its source code."""
    options = {"": "Choose a box"}
    for trace in drawn.data:
        for name in trace.customdata or ():
            options[name] = name
    name = page_frame.select("Code behind a box", options, key="code of", link="box")
    if name:
        st.code(inspect.getsource(resolve_name(name)), language="python", height=400)


def _reset(scene: FigureScene) -> None:
    """Set all parameters to their defaults."""
    sliders.put(scene.knobs, scene.root, {})
    st.session_state.pop(f"{scene.root} dragged", None)
    st.session_state.pop(f"{scene.root} start", None)
    if scene.kind.plays:
        autoplay.stop(scene.stops[0])


def _load_values(scene: FigureScene) -> None:
    """Set the parameters to the values of a new URL if they are legal."""
    figure_name = scene.name

    def read(text: str) -> tuple[str, dict[str, Any]]:
        return figure_name, scene.checked(address.read_object(text))

    address.load("knobs", read, default=(figure_name, {}))
    loaded_name, values = st.session_state.pop("knobs", None) or ("", {})
    if loaded_name != figure_name:
        return
    _reset(scene)
    sliders.put(scene.with_widgets, scene.root, values)
    widget_names = {knob.name for knob in scene.with_widgets}
    dragged = {name: value for name, value in values.items() if name not in widget_names}
    if dragged:
        st.session_state[f"{scene.root} dragged"] = dragged
        if not scene.in_page:
            others = {name: value for name, value in values.items() if name in widget_names}
            st.session_state[f"{scene.root} start"] = scene.points(others)


def _dragged(scene: FigureScene, values: dict[str, Any]) -> dict[str, Any]:
    """Return the dragged parameters.

    There are none until the user drags a point. When another parameter moves the figure's points, dragged points are
    dropped.
    """
    key = f"{scene.root} dragged"
    start_key = f"{scene.root} start"
    if scene.kind.drag and not scene.in_page:
        start = scene.points(values)
        if st.session_state.get(start_key) != start:
            st.session_state[start_key] = start
            st.session_state.pop(key, None)
    return st.session_state.get(key, {})


def _take_dragged(scene: FigureScene, moved: dict[str, Any]) -> None:
    """Keep dragged values if they are legal."""
    try:
        if not scene.in_page:
            moved = _rounded(scene, moved)
        dragged = scene.checked(moved)
    except (KeyError, TypeError, ValueError):
        return
    st.session_state[f"{scene.root} dragged"] = dragged


def _rounded(scene: FigureScene, moved: dict[str, Any]) -> dict[str, Any]:
    """Return dragged points by the names of the figure's parameters, rounded to four decimals."""
    values = {}
    for knob, reported_name in zip(scene.kind.drag, ("x", "y", "classes"), strict=False):
        value = moved[reported_name]
        if isinstance(value, list):
            value = [round(float(coordinate), 4) for coordinate in value]
        values[knob] = value
    return values


figures()
