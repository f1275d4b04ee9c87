"""Figures: the papers' figures, live: what a formula does while its knobs move."""

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

BEAT = 0.3  # seconds between two steps of a figure that plays


@dataclass(frozen=True)
class Scene:
    """What the page shows: a figure, by its name. Its knobs live in the session's state below `root`."""

    name: str

    @property
    def kind(self) -> type[Figure]:
        return lab.figures.get(self.name)

    @property
    def knobs(self) -> tuple[Knob, ...]:
        return describe(self.kind.Knobs)

    @property
    def in_page(self) -> bool:
        """Whether the browser computes the figure by itself."""
        return live_page.has_form(self.kind)

    @property
    def slid(self) -> list[Knob]:
        """The knobs whose controls the browser does not draw by itself, with others or to be dragged."""
        return [knob for knob in self.knobs if not self.in_page and knob.name not in self.kind.drag]

    @property
    def root(self) -> str:
        return f"figure.{self.name}"

    @property
    def stops(self) -> tuple[str, range]:
        """The knob that plays, as it stands in the session's state, and what it can be."""
        knob = next(k for k in self.knobs if k.name == self.kind.plays)
        return f"{self.root}.{self.kind.plays}", range(int(knob.le or 0) + 1)

    def legal(self, values: dict[str, Any]) -> dict[str, Any]:
        """Values of some knobs, as they take them; a ValueError where they do not."""
        knobs = self.kind.Knobs(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})
        return {k: getattr(knobs, k) for k in values}

    def places(self, values: dict[str, Any]) -> tuple:
        """x, y and classes of the points that the figure draws with some knobs."""
        figure: Any = self.kind(**values)  # figures with points to drag have this method
        points, labels = figure.points()
        return tuple(points[:, 0].round(4).tolist()), tuple(points[:, 1].round(4).tolist()), "".join(letters(labels))


@page_frame.page(
    "Figures",
    "The papers' figures, interactive: change a setting and the figure is redrawn. The notebooks use the same figures.",
)
def figures() -> None:
    topics = figure_topics.topics()
    topic_of = {name: topic for topic, names in topics.items() for name in names}
    address.load("figure", str, topic_of)
    titles = {one: lab.figures.get(one).title for one in topic_of}
    page_frame.need("figure", titles, f"There is no figure {address.missing('figure')}. Choose another.")
    state = st.session_state
    chosen = state.get("figure", "")
    if topic_of.get(chosen) not in (None, state.get("topic")) and state.get("drawn") != chosen:
        state["topic"] = topic_of[chosen]  # a new address brings its topic
    with st.sidebar:
        topic = page_frame.select("Topic", list(topics), key="topic")
        name = page_frame.select("Figure", {one: titles[one] for one in topics[topic]}, key="figure")
        st.divider()
        scene = Scene(name)
        _adopt_knobs(scene)
        if scene.kind.plays:
            autoplay.advance(*scene.stops)
        st.button("Reset", icon=":material/undo:", width="stretch", on_click=_reset, args=(scene,))
        values = _settings(scene)
    state["drawn"] = name
    st.markdown(f"**{page_frame.as_text(scene.kind.question)}**")
    if scene.kind.plays and not scene.in_page:
        autoplay.button(*scene.stops, BEAT)
    _show(scene, values)


def _settings(scene: Scene) -> dict[str, Any]:
    """The sliders of the knobs that do something as the others stand: four at once, the others below a fold. None where
    the browser draws them."""
    if scene.in_page:
        return {}
    plain = {knob.name: st.session_state.get(f"{scene.root}.{knob.name}") for knob in scene.slid if not knob.many}
    try:
        figure = scene.kind(**{name: value for name, value in plain.items() if value is not None})
    except ValueError:  # the page says why below
        figure = scene.kind()
    idle = figure.idle()
    shown, folded = ([knob for knob in knobs if knob.name not in idle] for knobs in figure.controls())
    values = sliders.panel(shown, scene.root)
    if folded:
        with page_frame.expander("More settings", link="more"):
            values |= sliders.panel(folded, scene.root)
    return values


def _show(scene: Scene, values: dict[str, Any]) -> None:
    kind, name = scene.kind, scene.name
    figure = kind(**values | _grips(scene, values))
    settings.confine_figure(kind.Knobs, dict(figure.knobs))
    address.store("figure", name)
    defaults = type(figure.knobs)()
    moved = {knob: value for knob, value in figure.knobs if value != getattr(defaults, knob)}
    if not address.store_object("knobs", moved):
        st.caption("There are too many points for a link; the code below holds them all.")
    words = ""
    if scene.in_page:
        drag("live", _computed(figure), key=f"live {name}", on_move=lambda values: _moved(scene, values))
    else:
        grips, room = st.columns([2, 5]) if kind.drag else (st.container(), st.container())
        if kind.drag:
            x, y, classes = scene.places(dict(figure.knobs))
            model = {"x": list(x), "y": list(y), "classes": classes, "fixed": len(kind.drag) == 2}
            with grips:
                drag("points", {"values": model}, key=f"points {name}", on_move=lambda values: _moved(scene, values))
        drawn = _drawn(scene, figure)
        if drawn is None:
            return
        words = drawn.layout.meta["alt"]
        with room, st.container(key="figure room"):  # as wide as a figure needs: on a phone it is pushed sideways
            look: dict[str, Any] = {"theme": None, "config": {"displaylogo": False}}
            st.plotly_chart(charts.on_page(drawn), key=f"drawn {name}", alt=words, **look)
        if kind.shows_code:
            _show_code(drawn)
    if kind.source != figure_topics.MORE:
        page_frame.say(f"After {kind.source}.")
    with page_frame.expander("Description and code" if words else "Code", link="code"):
        if words:
            st.text(words)
        st.code(figure.code(), language="python")


def _computed(figure: Figure) -> dict[str, Any]:
    """What a browser computes a figure from; what is long is fetched once."""
    long = live_page.script().encode(), live_page.PLOTLY_JS.read_bytes(), _form(type(figure))
    return {
        "files": [served.offer(np.frombuffer(text, np.uint8)) for text in long],
        "dark": st.context.theme.type == "dark",
        "values": dict(figure.knobs),
        "picture": live_page.beyond(figure),
    }


@cache
def _form(kind: type[Figure]) -> bytes:
    return live_page.form(kind())


def _drawn(scene: Scene, figure: Figure) -> go.Figure | None:
    """The picture; None while it is trained for, in a process of its own, with a bar in its place."""
    if not background.can_train(figure):
        return figure.figure()
    key = f"{scene.root} training"
    knobs, training = st.session_state.get(key, (None, None))
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
    """How far a training is, and a button to end it."""
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
    """The source behind the box that is chosen."""
    names = [name for trace in drawn.data for name in trace.customdata or ()]
    options = {"": "Choose a box"} | {name: name for name in names}
    name = page_frame.select("Code behind a box", options, key="code of", link="box")
    if name:
        st.code(inspect.getsource(resolve_name(name)), language="python", height=400)


def _reset(scene: Scene) -> None:
    sliders.put(scene.knobs, scene.root, {})
    for state in ("dragged", "start"):
        st.session_state.pop(f"{scene.root} {state}", None)
    if scene.kind.plays:
        autoplay.stop(scene.stops[0])


def _adopt_knobs(scene: Scene) -> None:
    """Move the knobs to where a new address says, as far as that is legal."""
    name = scene.name

    def read(text: str) -> tuple[str, dict[str, Any]]:
        return name, scene.legal(address.read_object(text))

    address.load("knobs", read, default=(name, {}))
    given = st.session_state.pop("knobs", None)
    if given and given[0] == name:
        _reset(scene)
        values = given[1]
        sliders.put(scene.slid, scene.root, values)
        slid = {knob.name for knob in scene.slid}
        if dragged := {name: value for name, value in values.items() if name not in slid}:
            st.session_state[f"{scene.root} dragged"] = dragged
            if not scene.in_page:
                st.session_state[f"{scene.root} start"] = scene.places({k: values[k] for k in slid & values.keys()})


def _grips(scene: Scene, others: dict[str, Any]) -> dict[str, Any]:
    """The knobs that are dragged. Points follow the figure's own until one is dragged; a knob that moves the figure's
    own points takes the dragged ones back."""
    key = f"{scene.root} dragged"
    if scene.kind.drag and not scene.in_page:
        start = scene.places(others)
        if st.session_state.get(f"{scene.root} start") != start:
            st.session_state[f"{scene.root} start"] = start
            st.session_state.pop(key, None)
    return st.session_state.get(key, {})


def _moved(scene: Scene, moved: dict[str, Any]) -> None:
    """Take over what was dragged, when it is legal."""
    try:
        if not scene.in_page:
            moved = {knob: moved[sent] for knob, sent in zip(scene.kind.drag, ("x", "y", "classes"), strict=False)}
            moved |= {k: [round(float(one), 4) for one in v] for k, v in moved.items() if isinstance(v, list)}
        dragged = scene.legal(moved)
    except (KeyError, TypeError, ValueError):
        return
    st.session_state[f"{scene.root} dragged"] = dragged


figures()
