"""Charts of the dashboard: functions from numbers to Plotly figures. Figures of papers are in `lab.figures`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from lab.core import style

if TYPE_CHECKING:
    import plotly.graph_objects as go

CLEAR = "rgba(0,0,0,0)"
FONT = '"Source Sans", sans-serif'
"""The font of the pages around the figures."""
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7A7A7A", "#F0E442")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
"""Line styles. With the palette they tell forty curves apart."""

MEANING = {"positive pairs": ("#0072B2", "solid"), "negative pairs": ("#D55E00", "dash")}
"""Colour and line style of curves with a fixed meaning."""

LOG = {"type": "log", "tickformat": "~g"}

Curve = tuple[Sequence[int], Sequence[float | None]]
"""Steps and values."""

TITLE_HEIGHT = 28
"""Pixels above a chart for its title."""

TOOLBAR_WIDTH = 30
"""Pixels at the right of a chart for Plotly's tools."""

LEGEND_ROW_HEIGHT = 22
"""Pixels of a row of the legend."""

LEGEND_ROW_LENGTH = 64
"""Characters on a row of the legend on the narrowest page."""

LEGEND_SAMPLE = 7
"""Width in characters of the line sample before a name in the legend."""

FEW = 40
"""Below this number of points, a curve has markers and is not smoothed."""


def curves(
    named: Mapping[str, Curve], y: str, *, smoothing: float = 0.0, **kwargs: Any
) -> go.Figure:
    """Draw one line per name, by default over training steps.

    Args:
        smoothing: weight, see `smooth`. The unsmoothed values are drawn faintly behind the line.
        kwargs: further arguments of `_figure`.
    """
    import plotly.graph_objects as go

    # Each name has its own colour and line style.
    faint_lines = []
    lines = []
    all_steps: set[int] = set()
    for index, (name, (steps, values)) in enumerate(named.items()):
        all_steps.update(steps)
        smoothed = smooth(values, smoothing)
        own_style = (PALETTE[index % len(PALETTE)], DASHES[index % len(DASHES)])
        colour, dash = MEANING.get(name, own_style)
        mode = "lines+markers" if len(steps) < FEW else "lines"
        line = {"color": colour, "dash": dash, "width": 2}
        lines.append(
            go.Scatter(x=steps, y=smoothed, name=name, mode=mode, line=line, connectgaps=False)
        )
        if smoothed is not values:
            faint = go.Scatter(
                x=steps, y=values, mode="lines", opacity=0.3, showlegend=False, hoverinfo="skip"
            )
            faint_lines.append(faint.update(line={"color": colour, "width": 1}))
    figure = _figure([*faint_lines, *lines], lines, y, len(named) > 1, **kwargs)
    if len(all_steps) == 1:  # Plotly would label half steps around a single point
        figure.update_xaxes(rangemode="tozero").update_yaxes(rangemode="tozero")
    return figure


def smooth(values: Sequence[float | None], weight: float) -> Sequence[float | None]:
    """Return the exponential moving average that TensorBoard draws, corrected for the bias towards 0 at the start.

    Curves of few points are returned unchanged.

    Args:
        weight: weight of the previous average, from 0 (no smoothing) to below 1.
    """
    if weight <= 0 or len(values) < FEW:
        return values
    import pandas as pd

    measured = pd.Series(values, dtype=float)
    smoothed = measured.ewm(alpha=1 - weight, ignore_na=True).mean().where(measured.notna())
    return smoothed.astype(object).where(measured.notna(), None).tolist()


def cosines(counts: Mapping[str, Sequence[int]]) -> go.Figure:
    """Draw the distribution of pairs over their cosine, one outline per name."""
    import plotly.graph_objects as go

    traces = []
    for name, column in counts.items():
        edges = np.linspace(-1, 1, len(column) + 1)
        colour, dash = MEANING.get(f"{name} pairs", (PALETTE[-2], "dot"))
        line = {"color": colour, "dash": dash, "width": 2, "shape": "hvh"}
        centres = (edges[:-1] + edges[1:]) / 2
        total = max(1, sum(column))
        shares = [count / total for count in column]
        outline = go.Scatter(
            x=centres, y=shares, name=f"{name} pairs", mode="lines", fill="tozeroy", opacity=0.85
        )
        traces.append(outline.update(line=line))
    return _figure(traces, [], "share of pairs", x="cosine", height=340)


def on_page(figure: go.Figure) -> dict[str, Any]:
    """Return a figure of the lab in the page's light or dark theme, for `st.plotly_chart` with `theme=None`."""
    data = figure.to_plotly_json()
    if st.context.theme.type == "dark":
        data = style.in_the_dark(data)
    layout = data["layout"]
    layout["paper_bgcolor"] = CLEAR
    layout["plot_bgcolor"] = CLEAR
    layout["font"] = {**layout.get("font", {}), "family": FONT}
    for name, axis in layout.items():
        if name[:5] in ("xaxis", "yaxis") and "title" in axis:
            axis["title"] = {"font": {"size": 14}, **axis["title"]}
    return data


def mark(figure: go.Figure, at: float, words: str = "") -> go.Figure:
    """Draw a vertical line at x = `at`, with its label above the axes, where no curve crosses it."""
    figure.add_vline(x=at, line={"color": "#7A7A7A", "width": 2, "dash": "dot"})
    x = at
    # Plotly places lines by value, but labels by its logarithm
    if figure.layout.xaxis.type == "log" and at > 0:
        x = math.log10(at)
    return figure.add_annotation(
        x=x, y=1, yref="paper", yanchor="bottom", xanchor="center", text=words, showarrow=False
    )


def _figure(
    traces: Sequence[Any],
    scaled: Sequence[Any],
    y: str,
    legend: bool = True,
    *,
    x: str = "step",
    height: int = 280,
    log: bool = False,
    log_x: bool = False,
) -> go.Figure:
    """Return a figure of some traces. The title is above the chart, and the legend below it in as many rows as needed.

    Args:
        scaled: traces whose values decide whether an axis can be logarithmic.
        y, x: titles of the axes.
        log, log_x: draw the axis logarithmically, unless it has negative values.
    """
    import plotly.graph_objects as go

    for trace in scaled:
        log = log and all(value is None or value >= 0 for value in trace.y)
        log_x = log_x and all(value >= 0 for value in trace.x)

    # Charts side by side stay equally high: only rows of the legend after the first add to the height.
    length = 0
    for trace in traces:
        if legend and trace.showlegend is not False:
            length += len(trace.name or "") + LEGEND_SAMPLE
    more_rows = max(0, math.ceil(length / LEGEND_ROW_LENGTH) - 1)
    return go.Figure(
        traces
    ).update_layout(
        title={"text": y, "x": 0, "xref": "paper", "y": 1, "yanchor": "top", "pad": {"t": 6}},
        title_font={"size": 14, "weight": 600},
        height=height + TITLE_HEIGHT + LEGEND_ROW_HEIGHT * more_rows,
        margin={"l": 48, "r": TOOLBAR_WIDTH, "t": TITLE_HEIGHT, "b": 8},
        # Beside the chart, so that it does not cover the title or the label of a mark.
        modebar={
            "orientation": "v",
            "bgcolor": CLEAR,
            "color": "#8A8A8A",
            "activecolor": "#5A5A5A",
        },
        showlegend=legend,
        legend={
            "orientation": "h",
            "yref": "container",
            "y": 0,
            "yanchor": "bottom",
            "x": 0,
            "xanchor": "left",
        },
        hovermode="x unified" if len(traces) > 1 else "closest",
        uirevision=f"kept {log} {log_x}",  # reset the zoom when an axis changes between linear and logarithmic
        xaxis={"title": {"text": x, "standoff": 6}, "zeroline": False, **(LOG if log_x else {})},
        yaxis={"zeroline": False, **(LOG if log else {})},
    )
