"""Runs against each other: curves, settings, means over seeds, and what their knobs have to do with their scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from app.components.displays import Meter, meters
from app.forms import curve_options
from app.results.run_choice import data_of, described
from app.shared import background, charts, page_frame
from app.views.runs.management import Row
from lab.core import style
from lab.report import knobs
from lab.report import rows as tables
from lab.report.curves import Journal, journal, scaled, title
from lab.runs import Run, difference

if TYPE_CHECKING:
    import plotly.graph_objects as go

MAX_COMPARED = 12
"""Runs whose curves and settings stand side by side; knobs and seeds are looked at over all that are selected."""
VIEWS = ("Curves", "Configuration", "Seeds", "Knobs")
AXES = 6
"""Knobs that are drawn until somebody chooses: more do not fit beside each other."""
WIDE = 30.0
"""Highest over lowest value from which on an axis is logarithmic."""
LONGEST = 18
"""Characters of a value on an axis."""
SCALE = ((0.0, style.VERMILLION), (0.5, "#9A9A9A"), (1.0, style.BLUE))
"""From low scores to high ones, seen on a light and on a dark page; the last axis says the same."""


def compare(chosen: Sequence[Run], rows: Sequence[Row]) -> None:
    """Draw the runs against each other. rows: of the table, one a run."""
    st.subheader(f"{len(chosen)} runs compared", anchor=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        one, other = chosen[0], chosen[-1]
        if len(chosen) == 2 and data_of(one) == data_of(other) and set(one.splits) & set(other.splits):
            page_frame.link_to("browse", "Browse both", {"run": one.name, "rival": f"run:{other.name}"})
        first, *others = [run.name for run in chosen[:MAX_COMPARED]]  # their charts go on there while these train
        page_frame.link_to("watch", "Watch together", [("watched", first), *(("also", name) for name in others)])
    view = page_frame.choice("What to compare", VIEWS, key="compared", link="compared", **page_frame.BARE)
    if view in ("Curves", "Configuration") and len(chosen) > MAX_COMPARED:
        st.caption(f"The first {MAX_COMPARED} of the {len(chosen)} selected runs.")
        chosen, rows = chosen[:MAX_COMPARED], rows[:MAX_COMPARED]
    {"Curves": _curves, "Configuration": _differences, "Seeds": _seeds, "Knobs": draw_knobs}[view](chosen, rows)


def _curves(chosen: Sequence[Run], rows: Sequence[Row]) -> None:
    journals = {run.name: journal(run.path) for run in chosen}
    names = list(dict.fromkeys(name for one in journals.values() for name in one.names))
    if not names:
        st.info("None of these runs has made a step yet; look again once one has.")
        return
    groups = tables.seed_groups(chosen)
    first = [name for name in ("MAP@R", "loss") if name in names]
    help = "Draws runs that differ only in their seed as one line with a band of one sample deviation (n - 1)"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        picked = page_frame.several("Curves", names, key="curves", initial=first, link="curves", format_func=title)
        seeds = len(groups) < len(chosen)
        together = seeds and page_frame.toggle("Mean over seeds", key="mean", link="mean", help=help)
    options = curve_options.ask()
    columns = st.columns(2)
    for at, name in enumerate(picked):
        if together:
            figure = charts.bands(_by_group(groups, journals, name), title(name), **options.of(name))
            words = "mean and deviation over seeds"
        else:
            named = {run: scaled(one, name) for run, one in journals.items() if name in one.names}
            figure, words = charts.curves(named, title(name), **options.of(name)), "one line per run"
        columns[at % 2].plotly_chart(figure, key=f"curve of {name}", alt=f"{title(name)} over training steps, {words}")


def _by_group(groups: list[list[Run]], journals: dict[str, Journal], name: str) -> dict[str, list[charts.Curve]]:
    """The curves of one name, by what a group of runs that differ only in their seed is called."""
    curves_of: dict[str, list[charts.Curve]] = {}
    for group in groups:
        mine = [journals[run.name] for run in group]
        curves: list[charts.Curve] = [scaled(one, name) for one in mine if name in one.names]
        if curves:
            curves_of[f"{group[0].name}, mean of {len(curves)}" if len(curves) > 1 else group[0].name] = curves
    return curves_of


def _differences(chosen: Sequence[Run], rows: Sequence[Row]) -> None:
    import pandas as pd

    first = chosen[0]
    differences = {run.name: difference(first.config, run.config) for run in chosen[1:]}
    paths = list(dict.fromkeys(path for one in differences.values() for path in one))
    if not paths:
        st.info("These runs have the same configuration.")
        return
    lines = []
    for path in paths:
        base = next(one[path][0] for one in differences.values() if path in one)
        others = {name: _word(one[path][1]) if path in one else _word(base) for name, one in differences.items()}
        lines.append({"knob": path, first.name: _word(base), **others})
    st.caption("Only settings in which at least one run differs from the first")
    st.dataframe(pd.DataFrame(lines), hide_index=True, alt="Settings in which the runs differ")


def _seeds(chosen: Sequence[Run], rows: Sequence[Row]) -> None:
    import pandas as pd

    st.caption("Runs that differ only in their seed share a row: mean and sample standard deviation (n - 1)")
    lines = tables.over_seeds(chosen, rows)
    scores = [name for name in tables.columns(lines) if name not in ("runs", "seeds")]
    numbers = {name: st.column_config.NumberColumn(name, format="%.3f") for name in scores}
    st.dataframe(pd.DataFrame(lines), hide_index=True, column_config=numbers, placeholder="", alt="Means over seeds")


def _word(value: Any) -> str:
    return "not set" if value is None else str(value)


def draw_knobs(chosen: Sequence[Run], rows: Sequence[Row]) -> None:
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
    score = page_frame.select("Score", scores, key="knob_score", initial="MAP@R", link="score")
    values = [row.get(score) for row in rows]
    weighed = _weighed(columns, values)
    order = [name for one in weighed.weights for name in one.knobs] if weighed else []
    known = list(dict.fromkeys([*(name for name in order if name in columns), *columns]))
    words = f"the {min(AXES, len(known))} most important knobs"
    axes = page_frame.several("Axes", known, key="axes", link="axis", placeholder=words) or known[:AXES]
    scored = [at for at, value in enumerate(values) if value is not None]
    if len(scored) < 2:
        st.info("The chart needs two runs with this score.")
    else:
        axis_values = {name: [columns[name][at] for at in scored] for name in axes}
        figure = parallel(axis_values, score, [float(value) for value in values if value is not None])
        words = f"One line for each of {len(scored)} runs over {', '.join(axes)} and {score}"
        with st.container(key="figure-room"):
            st.plotly_chart(figure, key="parallel", alt=words)
        st.caption("Drag along an axis to pick out lines; drag a name to move an axis.")
    if weighed:
        _weights(weighed, score)


def _weighed(columns: Mapping[str, list[Any]], scores: Sequence[float | None]) -> knobs.Importance | None:
    """The weights, worked out behind the page; the sentence that says why there are none."""
    try:
        return background.if_ready(_importance(repr((columns, scores)), columns, scores))
    except ValueError as error:
        page_frame.say(str(error))
        return None


@background.job("Measuring the importance of each knob", keep=32)
def _importance(key: str, _columns: Mapping[str, list[Any]], _scores: Sequence[float | None]) -> knobs.Importance:
    return knobs.importance(_columns, _scores)


def _weights(importance: knobs.Importance, score: str) -> None:
    page_frame.say(knobs.in_words(importance, score))
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
    drawn = go.Parcoords(
        dimensions=[*axes, {"label": score, "values": list(scores)}],
        line={"color": list(scores), "colorscale": SCALE, "showscale": False},
        unselected={"line": {"opacity": 0.06}},
        labelangle=0 if len(axes) < 5 else -12,
        labelfont={"size": 13},
        tickfont={"size": 12},
        rangefont={"size": 1, "color": charts.CLEAR},
    )
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
