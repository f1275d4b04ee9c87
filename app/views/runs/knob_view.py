"""What the knobs of runs have to do with a score: a line a run over parallel axes, and how much each knob tells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from app.components.meters import Meter, meters
from app.results.run_choice import described
from app.shared import background, page_frame
from app.views.runs import tables
from lab.core import style
from lab.report import knobs
from lab.runs import Run

if TYPE_CHECKING:
    import plotly.graph_objects as go

AXES = 6
"""Knobs that are drawn until somebody chooses: more do not fit beside each other."""
WIDE = 30.0
"""Highest over lowest value from which on an axis is logarithmic."""
LONGEST = 18
"""Characters of a value on an axis."""
NOT_SET = "not set"
SCALE = ((0.0, style.VERMILLION), (0.5, "#9A9A9A"), (1.0, style.BLUE))
"""From low scores to high ones, seen on a light and on a dark page; the last axis says the same."""


def draw(chosen: Sequence[Run], rows: Sequence[dict[str, Any]]) -> None:
    """The chart and the weights. rows: of the table, one a run."""
    scores = tables.columns(rows)
    columns = knobs.varying([described(run) for run in chosen])
    if not scores:
        st.info("None of these runs has a score of this split yet. It has one once it is evaluated; Watch shows when.")
        return
    if not columns:
        st.info("These runs differ in no knob but their seed. A sweep makes runs that do.")
        st.page_link("views/train/page.py", label="Sweep over a setting", icon=":material/tune:")
        return
    score = page_frame.select(
        "Score", scores, key="knob_score", initial="MAP@R" if "MAP@R" in scores else scores[0], link="score"
    )
    values = [row.get(score) for row in rows]
    weighed = _weighed(columns, values)
    order = [name for one in weighed.weights for name in one.knobs] if weighed else []
    known = list(dict.fromkeys([*(name for name in order if name in columns), *columns]))
    page_frame.keep("axes", [], lambda picked: set(picked) <= set(known), link="axis")
    axes = st.multiselect(
        "Axes",
        known,
        key="axes",
        persist_state="session",
        placeholder=f"the {min(AXES, len(known))} most important knobs",
    )
    axes = axes or known[:AXES]
    scored = [at for at, value in enumerate(values) if value is not None]
    if len(scored) < 2:
        st.info("The chart needs two runs with this score.")
    else:
        axis_values = {name: [columns[name][at] for at in scored] for name in axes}
        with st.container(key="figure-room"):
            st.plotly_chart(
                parallel(axis_values, score, [float(value) for value in values if value is not None]), key="parallel",
                alt=f"One line for each of {len(scored)} runs over {', '.join(axes) or 'no knob'} and {score}",
            )  # fmt: skip
        st.caption("Drag along an axis to pick out lines; drag a name to move an axis.")
    if weighed:
        _weights(weighed, score)


def _weighed(columns: Mapping[str, list[Any]], scores: Sequence[float | None]) -> knobs.Importance | None:
    """The weights, worked out behind the page; the sentence that says why there are none."""
    try:
        return background.if_ready(_importance(repr((columns, scores)), columns, scores))
    except ValueError as error:
        st.caption(page_frame.as_text(str(error)))
        return None


@background.job("Measuring the importance of each knob", keep=32)
def _importance(key: str, _columns: Mapping[str, list[Any]], _scores: Sequence[float | None]) -> knobs.Importance:
    return knobs.importance(_columns, _scores)


def _weights(importance: knobs.Importance, score: str) -> None:
    st.caption(page_frame.as_text(knobs.in_words(importance, score)))
    if importance.explained > 0:
        bars = [Meter(", ".join(one.knobs), max(0.0, one.share), _trend(one.trend)) for one in importance.weights]
        meters(bars, key="importance")


def _trend(trend: float | None) -> str:
    """Which way a knob goes with the score, in words."""
    if trend is None:
        return "not a number, so it has no direction"
    if abs(trend) < 0.2:
        return f"no clear direction (rank correlation {trend:+.2f})"
    return f"higher values go with {'higher' if trend > 0 else 'lower'} scores (rank correlation {trend:+.2f})"


def parallel(columns: Mapping[str, Sequence[Any]], score: str, scores: Sequence[float]) -> go.Figure:
    """One line a run over parallel axes, the score on the last, where its colour comes from, too."""
    import plotly.graph_objects as go

    axes = [{"label": name, **axis(values)} for name, values in columns.items()]
    line = {"color": list(scores), "colorscale": SCALE, "showscale": False}
    drawn = go.Parcoords(
        dimensions=[*axes, {"label": score, "values": list(scores)}], line=line, labelangle=0 if len(axes) < 5 else -12,
        unselected={"line": {"opacity": 0.06}}, labelfont={"size": 13}, tickfont={"size": 12},
        rangefont={"size": 1, "color": "rgba(0,0,0,0)"},
    )  # fmt: skip
    return go.Figure(drawn, {"height": 420, "margin": {"l": 70, "r": 60, "t": 70, "b": 24}})


def axis(values: Sequence[Any]) -> dict[str, Any]:
    """Places of values on an axis, with the ticks that name them: numbers to scale, everything else evenly."""
    if not knobs.numbers(values):
        words = sorted({_word(value) for value in values})
        labels = [word if len(word) <= LONGEST else f"{word[: LONGEST - 1]}…" for word in words]
        places = {word: at for at, word in enumerate(words)}
        return {
            "values": [places[_word(one)] for one in values],
            "tickvals": list(range(len(words))),
            "ticktext": labels,
        }
    distinct = sorted(set(values))
    few = {"tickvals": distinct, "ticktext": [f"{one:g}" for one in distinct]} if len(distinct) <= 8 else {}
    if distinct[0] <= 0 or distinct[-1] / distinct[0] < WIDE:
        return {"values": list(values), **few}
    decades = range(math.floor(math.log10(distinct[0])), math.ceil(math.log10(distinct[-1])) + 1)
    ticks = distinct if few else [10.0**decade for decade in decades]
    return {
        "values": [math.log10(one) for one in values],
        "tickvals": [math.log10(one) for one in ticks],
        "ticktext": [f"{one:g}" for one in ticks],
    }


def _word(value: Any) -> str:
    return NOT_SET if value is None else str(value)
