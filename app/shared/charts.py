"""Figures of the dashboard's own: numbers in, plotly Figure out. The papers' figures live in `lab.figures`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from lab.core import style

if TYPE_CHECKING:
    import numpy as np
    import plotly.graph_objects as go

CLEAR = "rgba(0,0,0,0)"
FONT = '"Source Sans", sans-serif'
"""That of the pages around the figures."""
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7A7A7A", "#F0E442")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
"""With the palette: forty curves that differ in more than colour."""

MEANING = {"positive pairs": ("#0072B2", "solid"), "negative pairs": ("#D55E00", "dash")}
"""Colour and dash of curves that mean right or wrong wherever they stand."""

Curve = tuple[Sequence[int], Sequence[float | None]]


TITLE = 28
"""Pixels above a chart for what it shows."""
ROW, LINE, SAMPLE = 22, 64, 7
"""Pixels of a row of a legend; characters on it in the narrowest page, of which a line's sample takes some."""

FEW = 40
"""Points up to which each is marked, and from which on a curve is smoothed."""


PATTERNS = ("/", "\\", "-", "|", "x", "+", ".")
"""Hatches of bands, so that they too differ in more than colour."""


def curves(named: Mapping[str, Curve], y: str, *, smoothing: float = 0.0, **look: Any) -> go.Figure:
    """One line a name, over training steps unless `x` says otherwise; few points are marked, too.

    smoothing: see `smooth`; what was measured stands faintly behind. look: what `_dressed` takes.
    """
    import plotly.graph_objects as go

    behind, lines = [], []
    for at, (name, (steps, values)) in enumerate(named.items()):
        smoothed = smooth(values, smoothing)
        lines.append(_line(at, name, steps, smoothed))
        if smoothed is not values:
            faint = go.Scatter(x=steps, y=values, mode="lines", opacity=0.3, showlegend=False, hoverinfo="skip")
            behind.append(faint.update(line={"color": lines[-1].line.color, "width": 1}))
    figure = _dressed([*behind, *lines], lines, y, len(named) > 1, **look)
    if len({step for steps, _ in named.values() for step in steps}) == 1:  # around one point alone there are half steps
        figure.update_xaxes(rangemode="tozero").update_yaxes(rangemode="tozero")
    return figure


def bands(named: Mapping[str, Sequence[Curve]], y: str, *, smoothing: float = 0.0, **look: Any) -> go.Figure:
    """One line a name: the mean of its curves, in a hatched band of one deviation of a sample (n - 1) to each side.

    A curve that is alone has no band. smoothing: what is averaged are the smoothed curves, as `curves` draws them.
    look: what `_dressed` takes.
    """
    import numpy as np
    import plotly.graph_objects as go

    behind, lines = [], []
    for at, (name, several) in enumerate(named.items()):
        steps, mean, deviation = over_seeds([(steps, smooth(values, smoothing)) for steps, values in several])
        hover = "%{y:.4g} ± %{customdata:.2g}" if len(several) > 1 else "%{y:.4g}"
        lines.append(_line(at, name, steps, mean).update(customdata=deviation, hovertemplate=hover, legendgroup=name))
        if len(several) > 1:
            colour, known = lines[-1].line.color, np.isfinite(mean)
            hatch = {"shape": PATTERNS[at % len(PATTERNS)], "fgcolor": colour, "fgopacity": 0.45, "size": 6}
            along, upper, lower = steps[known], (mean + deviation)[known], (mean - deviation)[known]
            band = go.Scatter(
                x=[*along, *along[::-1]],
                y=[*upper, *lower[::-1]],
                mode="lines",
                line={"color": colour, "width": 0.7},
                fill="toself",
                fillcolor=f"{colour}22",
                fillpattern={**hatch, "fillmode": "overlay"},
                name=f"{name}, band",
                showlegend=False,
                hoverinfo="skip",
                legendgroup=name,
            )
            behind.append(band)
    return _dressed([*behind, *lines], [*behind, *lines], y, **look)


def _line(at: int, name: str, steps: Any, values: Any) -> go.Scatter:
    import plotly.graph_objects as go

    colour, dash = MEANING.get(name, (PALETTE[at % len(PALETTE)], DASHES[at % len(DASHES)]))
    mode = "lines+markers" if len(steps) < FEW else "lines"
    line = {"color": colour, "dash": dash, "width": 2}
    return go.Scatter(x=steps, y=values, name=name, mode=mode, line=line, connectgaps=False)


def not_negative(values: Sequence[float | None]) -> bool:
    """Whether no value is below 0, so that a logarithmic axis hides none but zeros."""
    return not any(value is not None and value < 0 for value in values)


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


def over_seeds(several: Sequence[Curve]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Steps [t] at which every curve has a point, with mean and deviation of a sample [t] there; a missing value makes
    both NaN. The deviation of a single curve is 0."""
    import numpy as np

    points = [{step: np.nan if value is None else value for step, value in zip(*one, strict=True)} for one in several]
    steps = sorted(set(points[0]).intersection(*points[1:]))
    values = np.array([[one[step] for step in steps] for one in points], np.float64).reshape(len(points), len(steps))
    spread = values.std(0, ddof=1) if len(points) > 1 else np.zeros(len(steps))
    return np.array(steps, np.int64), values.mean(0), spread


def histogram(counts: Mapping[str, Sequence[int]], x: str, *, height: int = 280) -> go.Figure:
    """Shares over equal bins of [-1, 1], one outline a name: right solid blue, wrong dashed vermillion."""
    import numpy as np
    import plotly.graph_objects as go

    traces = []
    for name, column in counts.items():
        edges = np.linspace(-1, 1, len(column) + 1)
        colour, dash = MEANING.get(f"{name} pairs", (PALETTE[-2], "dot"))
        line = {"color": colour, "dash": dash, "width": 2, "shape": "hvh"}
        middles, shares = (edges[:-1] + edges[1:]) / 2, [c / max(1, sum(column)) for c in column]
        outline = go.Scatter(x=middles, y=shares, name=f"{name} pairs", mode="lines", fill="tozeroy", opacity=0.85)
        traces.append(outline.update(line=line))
    return _dressed(traces, [], "share of pairs", x=x, height=height)


def files(sizes: Sequence[int], matches: Sequence[int], probes: int, names: Sequence[str]) -> go.Figure:
    """Items under each anchor in the order in which a query comes to them; searched ones solid, the others hatched.

    matches: how many of the items are true matches; drawn as diamonds where there are any.
    """
    import plotly.graph_objects as go

    traces: list[Any] = []
    order = list(range(1, len(sizes) + 1))
    for label, part, shape, opacity in (
        ("searched", slice(0, probes), "", 1.0),
        ("not searched", slice(probes, None), "/", 0.45),
    ):
        look = {"color": "#7A7A7A", "opacity": opacity, "pattern": {"shape": shape, "fillmode": "replace"}}
        bars = go.Bar(x=order[part], y=list(sizes[part]), name=label, text=list(names[part]), textposition="none")
        traces.append(bars.update(marker=look, hovertemplate="%{x}. %{text}<br>%{y} images<extra></extra>"))
    with_match = [at for at, count in enumerate(matches) if count]
    diamonds = go.Scatter(
        x=[order[at] for at in with_match],
        y=[sizes[at] for at in with_match],
        mode="markers+text",
        name="true matches inside",
        text=[str(matches[at]) for at in with_match],
        textposition="top center",
        marker={"symbol": "diamond", "size": 9, "color": "#0072B2"},
        cliponaxis=False,
        hovertemplate="%{x}. anchor: %{text} true matches<extra></extra>",
    )
    figure = _dressed([*traces, diamonds], [], "assigned images", x="anchors, nearest first")
    return figure.update_layout(hovermode="closest", bargap=0.15)


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

    figure = go.Figure(traces)
    log, log_x = log and all(not_negative(t.y) for t in scaled), log_x and all(not_negative(t.x) for t in scaled)
    named = [trace.name or "" for trace in traces if legend and trace.showlegend is not False]
    rows = -(-sum(len(name) + SAMPLE for name in named) // LINE)
    return figure.update_layout(
        title={"text": y, "x": 0, "xref": "paper", "y": 1, "yanchor": "top", "pad": {"t": 6}},
        title_font={"size": 14, "weight": 600},
        height=height + TITLE + ROW * max(0, rows - 1),  # charts side by side stay as high as each other
        margin={"l": 48, "r": 8, "t": TITLE, "b": 8},
        showlegend=legend,
        legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0, "xanchor": "left"},
        hovermode="x unified" if len(traces) > 1 else "closest",
        uirevision=f"kept {log} {log_x}",  # a zoom of linear axes means nothing on logarithmic ones
        xaxis={"title": {"text": x, "standoff": 6}, "zeroline": False, **(_log_axis(figure, "x") if log_x else {})},
        yaxis={"zeroline": False, **(_log_axis(figure, "y") if log else {})},
    )


def _log_axis(figure: go.Figure, axis: str) -> dict[str, Any]:
    """A logarithmic axis with marks that can be read: evenly over a narrow span, at 1, 2 and 5 over a few decades, else
    at six powers of ten at most."""
    import numpy as np

    columns = [np.asarray(trace[axis], float) for trace in figure.data if trace[axis] is not None]
    values = np.concatenate([*columns, np.zeros(0)])
    values = values[np.isfinite(values) & (values > 0)]
    decades = float(np.log10(values.max() / values.min())) if len(values) else 0.0
    step: str | int = "D2" if decades < 3 else -(-int(decades) // 6)
    if 0 < decades < math.log10(5):
        rough = float(np.ptp(values)) / 5
        decade = 10 ** math.floor(math.log10(rough))
        step = f"L{next(part * decade for part in (1, 2, 5, 10) if part * decade >= rough):g}"
    return {"type": "log", "dtick": step, "tickformat": "~g"}
