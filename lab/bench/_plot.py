"""The benchmark as pictures: ratios beside their goals, and growth over n on logarithmic axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from lab.bench._measure import BenchRow

BLUE, VERMILLION = "#0072B2", "#D55E00"
LINES = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
SYMBOLS = ("circle", "square", "diamond", "cross", "x", "triangle-up", "triangle-down", "star")


def plot(rows: list[BenchRow]) -> go.Figure:
    """A panel of ratios a section, then a panel a unit for what was measured at several n."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    ratios = [row for row in rows if row.unit == "x"]
    sections = list(dict.fromkeys(row.section for row in ratios))
    grown = {unit: over_n(rows, unit) for unit in ("s", "MB")}
    grown = {unit: lines for unit, lines in grown.items() if lines}
    heights = [60 + 18 * sum(row.section == name for row in ratios) for name in sections] + [500] * len(grown)
    titles = [*sections, *(f"{unit} over n" for unit in grown)]
    canvas = make_subplots(
        rows=max(1, len(heights)), cols=1, subplot_titles=titles, row_heights=heights or None,
        vertical_spacing=60 / max(120, sum(heights)),
    )  # fmt: skip
    for place, section in enumerate(sections, start=1):
        mine = [row for row in ratios if row.section == section]
        where = [f"{row.name}, {row.setting}" for row in mine]
        aims = [(text, row.goal) for text, row in zip(where, mine, strict=True) if row.goal is not None]
        dots = go.Scatter(
            x=[row.value for row in mine], y=where, mode="markers", name="measured", showlegend=place == 1,
            marker=dict(color=BLUE, symbol="circle"),
        )  # fmt: skip
        goals = go.Scatter(
            x=[goal for _, goal in aims], y=[text for text, _ in aims], mode="markers", name="goal",
            showlegend=place == 1, marker=dict(color=VERMILLION, symbol="diamond-open", size=10),
        )  # fmt: skip
        canvas.add_traces([dots, goals], rows=place, cols=1)
        canvas.update_xaxes(type="log", title_text="ratio", row=place, col=1)
    for place, (unit, lines) in enumerate(grown.items(), start=len(sections) + 1):
        for i, (name, points) in enumerate(lines.items()):
            line = go.Scatter(
                x=list(points), y=list(points.values()), mode="lines+markers", name=f"{name} [{unit}]",
                line=dict(color=LINES[i % len(LINES)]), marker=dict(symbol=SYMBOLS[i % len(SYMBOLS)]),
            )  # fmt: skip
            canvas.add_trace(line, row=place, col=1)
        canvas.update_xaxes(type="log", title_text="n", row=place, col=1)
        canvas.update_yaxes(type="log", title_text=unit, row=place, col=1)
    return canvas.update_layout(height=200 + sum(heights), template="plotly_white")


def over_n(rows: list[BenchRow], unit: str) -> dict[str, dict[int, float]]:
    """Values by n of each thing measured in a unit at several n; a ratio counts by what it is a ratio to."""
    base = {(row.name, row.setting): row.value for row in rows if row.unit == unit}
    curves: dict[str, dict[int, float]] = {}
    for row in rows:
        value = row.value if row.unit == unit else row.value * base.get((row.against, row.setting), 0)
        if row.n is not None and value and row.unit in (unit, "x"):
            kind = row.setting.split()[-1]
            curves.setdefault(f"{row.name}, {kind}", {})[row.n] = value
    return {name: points for name, points in curves.items() if len(points) > 1}
