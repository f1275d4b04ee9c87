"""Figures of the dashboard's own: numbers in, plotly Figure out. The papers' figures live in `lab.figures`."""

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
"""That of the pages around the figures."""
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7A7A7A", "#F0E442")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
"""With the palette: forty curves that differ in more than colour."""

MEANING = {"positive pairs": ("#0072B2", "solid"), "negative pairs": ("#D55E00", "dash")}
"""Colour and dash of curves that mean right or wrong wherever they stand."""

LOG = {"type": "log", "tickformat": "~g"}

Curve = tuple[Sequence[int], Sequence[float | None]]


TITLE, TOOLS = 28, 30
"""Pixels above a chart for what it shows, and at its right for Plotly's tools."""
ROW, LINE, SAMPLE = 22, 64, 7
"""Pixels of a row of a legend; characters on it in the narrowest page, of which a line's sample takes some."""

FEW = 40
"""Points up to which each is marked, and from which on a curve is smoothed."""


def curves(named: Mapping[str, Curve], y: str, *, smoothing: float = 0.0, **look: Any) -> go.Figure:
    """One line a name, over training steps unless `x` says otherwise; few points are marked, too.

    smoothing: see `smooth`; what was measured stands faintly behind. look: what `_dressed` takes.
    """
    import plotly.graph_objects as go

    behind, lines = [], []
    for at, (name, (steps, values)) in enumerate(named.items()):
        smoothed = smooth(values, smoothing)
        colour, dash = MEANING.get(name, (PALETTE[at % len(PALETTE)], DASHES[at % len(DASHES)]))
        mode, look_of = "lines+markers" if len(steps) < FEW else "lines", {"color": colour, "dash": dash, "width": 2}
        lines.append(go.Scatter(x=steps, y=smoothed, name=name, mode=mode, line=look_of, connectgaps=False))
        if smoothed is not values:
            faint = go.Scatter(x=steps, y=values, mode="lines", opacity=0.3, showlegend=False, hoverinfo="skip")
            behind.append(faint.update(line={"color": colour, "width": 1}))
    figure = _dressed([*behind, *lines], lines, y, len(named) > 1, **look)
    if len({step for steps, _ in named.values() for step in steps}) == 1:  # around one point alone there are half steps
        figure.update_xaxes(rangemode="tozero").update_yaxes(rangemode="tozero")
    return figure


def smooth(values: Sequence[float | None], weight: float) -> Sequence[float | None]:
    """The exponential moving average that TensorBoard draws: each point is `weight` times the one before and the rest
    of what was measured, without the pull of the first points towards 0. Curves of few points, and those with
    `weight` 0, come back as they are.

    Args:
        weight: 0 to below 1.
    """
    if weight <= 0 or len(values) < FEW:
        return values
    import pandas as pd

    measured = pd.Series(values, dtype=float)
    smoothed = measured.ewm(alpha=1 - weight, ignore_na=True).mean().where(measured.notna())
    return [None if missing else value for value, missing in zip(smoothed, smoothed.isna(), strict=True)]


def cosines(counts: Mapping[str, Sequence[int]]) -> go.Figure:
    """Shares of pairs over bins of their cosine, one outline a name: right solid blue, wrong dashed vermillion."""
    import plotly.graph_objects as go

    traces = []
    for name, column in counts.items():
        edges = np.linspace(-1, 1, len(column) + 1)
        colour, dash = MEANING.get(f"{name} pairs", (PALETTE[-2], "dot"))
        line = {"color": colour, "dash": dash, "width": 2, "shape": "hvh"}
        middles, shares = (edges[:-1] + edges[1:]) / 2, [c / max(1, sum(column)) for c in column]
        outline = go.Scatter(x=middles, y=shares, name=f"{name} pairs", mode="lines", fill="tozeroy", opacity=0.85)
        traces.append(outline.update(line=line))
    return _dressed(traces, [], "share of pairs", x="cosine", height=340)


def on_page(figure: go.Figure) -> dict[str, Any]:
    """A figure of the lab, which is drawn for white paper, on the page's ground, in the light and in the dark: as
    `st.plotly_chart` takes it with `theme=None`."""
    drawn = figure.to_plotly_json()
    if st.context.theme.type == "dark":
        drawn = style.in_the_dark(drawn)
    layout = drawn["layout"]
    layout |= {"paper_bgcolor": CLEAR, "plot_bgcolor": CLEAR, "font": {**layout.get("font", {}), "family": FONT}}
    for name, axis in layout.items():
        if name[:5] in ("xaxis", "yaxis") and "title" in axis:
            axis["title"] = {"font": {"size": 14}, **axis["title"]}
    return drawn


def mark(figure: go.Figure, at: float, words: str = "") -> go.Figure:
    """A vertical line at a place on the x-axis, and what it stands for: above the axes, where no curve crosses it."""
    figure.add_vline(x=at, line={"color": "#7A7A7A", "width": 2, "dash": "dot"})
    # Plotly takes the place of a line as it is, and that of words by its logarithm where the axis is logarithmic.
    place = math.log10(at) if figure.layout.xaxis.type == "log" and at > 0 else at
    return figure.add_annotation(
        x=place, y=1, yref="paper", yanchor="bottom", xanchor="center", text=words, showarrow=False
    )


def _dressed(
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
    """What is drawn stands above the chart, level, where it can be read; the legend below the chart, in as many rows as
    it takes, so that it never covers the title however narrow the page.

    scaled: traces that an axis must be able to show. log, log_x: logarithmic axes, without zeros; one with values below
    0 stays linear.
    """
    import plotly.graph_objects as go

    log = log and all(value is None or value >= 0 for trace in scaled for value in trace.y)
    log_x = log_x and all(value >= 0 for trace in scaled for value in trace.x)
    named = [trace.name or "" for trace in traces if legend and trace.showlegend is not False]
    rows = -(-sum(len(name) + SAMPLE for name in named) // LINE)
    return go.Figure(traces).update_layout(
        title={"text": y, "x": 0, "xref": "paper", "y": 1, "yanchor": "top", "pad": {"t": 6}},
        title_font={"size": 14, "weight": 600},
        height=height + TITLE + ROW * max(0, rows - 1),  # charts side by side stay as high as each other
        margin={"l": 48, "r": TOOLS, "t": TITLE, "b": 8},
        # Beside the chart, over neither its title nor a mark above it.
        modebar={"orientation": "v", "bgcolor": CLEAR, "color": "#8A8A8A", "activecolor": "#5A5A5A"},
        showlegend=legend,
        legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0, "xanchor": "left"},
        hovermode="x unified" if len(traces) > 1 else "closest",
        uirevision=f"kept {log} {log_x}",  # a zoom of linear axes means nothing on logarithmic ones
        xaxis={"title": {"text": x, "standoff": 6}, "zeroline": False, **(LOG if log_x else {})},
        yaxis={"zeroline": False, **(LOG if log else {})},
    )
