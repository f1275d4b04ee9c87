"""000 to 004: effects that the papers report, compared with effects measured here, claim by claim."""

import json
from typing import Literal

from lab.core import style
from lab.figures import measured as trials
from lab.figures._base import Figure, Numbers, PlotlyFigure, knob

LOOKS = {
    "shows here": (style.BLUE, "diamond"),
    "not seen in a linear head, one split": (style.VERMILLION, "x"),
    "cannot be told": (style.BLACK, "square"),
}
"""Colour and mark of each verdict that has an interval."""


class PublishedEffects(Figure):
    """A forest plot: circles are published differences of two scores, bars those measured here with their intervals.

    Where the design is too weak to find the published effect nothing was run, and a grey bar says how large an effect
    would have to be; see `scripts/studies`.
    """

    title = "Published effects and those measured here"
    source = "More"
    tier = "static"
    question = (
        "Which published gains show in a small training, and which are too small to be seen in one?"
    )

    paper: Literal["RS@k", "ROADMAP", "CAM", "Contextual"] = knob(
        "The paper whose claims are shown.", default="RS@k"
    )

    def numbers(self) -> Numbers:
        rows = json.loads(trials.EFFECTS.read_text(encoding="utf-8"))
        # plotly draws from below
        return {"rows": [row for row in reversed(rows) if row["paper"] == self.knobs.paper]}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        rows = numbers["rows"]
        figure = self.canvas(
            f"{self.knobs.paper}; ○ published; bars: on emoji, 95 % over seeds and classes; grey: too small to be seen",
            x="first less second, points",
            y="claim",
            height=180 + 52 * len(rows),
        )
        claims = {row["study"]: style.wrapped(row["says"], 44) for row in rows}
        _draw_too_weak(figure, rows, claims)
        for verdict in LOOKS:
            measured = [row for row in rows if row["verdict"] == verdict and row["interval"]]
            if measured:
                _draw_measured(figure, measured, claims, verdict)

        published = []
        claims_of_published = []
        for row in rows:
            published += row["published"]
            claims_of_published += [claims[row["study"]]] * len(row["published"])
        figure.add_scatter(
            x=published,
            y=claims_of_published,
            mode="markers",
            name="published",
            marker={"color": style.BLACK, "symbol": "circle-open", "size": 9},
            hovertemplate="published: %{x:+.2f} points<extra></extra>",
        )
        figure.update_yaxes(
            categoryorder="array", categoryarray=list(claims.values()), showgrid=False
        )
        return style.legend_below(figure)

    def alt(self, numbers: Numbers) -> str:
        return " ".join(_in_words(row) for row in reversed(numbers["rows"]))


def _draw_too_weak(figure: PlotlyFigure, rows: list[dict], claims: dict[str, str]) -> None:
    """Draw the claims that were not measured as grey bars, as long as the smallest effect that would be seen."""
    too_weak = [row for row in rows if row["interval"] is None and row["visible"]]
    if not too_weak:
        return
    visible = [row["visible"] for row in too_weak]
    figure.add_scatter(
        x=[0] * len(too_weak),
        y=[claims[row["study"]] for row in too_weak],
        mode="markers",
        name="not tried",
        marker={"color": style.GREY, "symbol": "square", "size": 8},
        error_x={"type": "data", "array": visible, "thickness": 8, "width": 0, "color": "#BBB"},
        hovertemplate="not tried: only effects of ± %{customdata:.2f} points would be seen<extra></extra>",
        customdata=visible,
    )


def _draw_measured(
    figure: PlotlyFigure, rows: list[dict], claims: dict[str, str], verdict: str
) -> None:
    """Draw the measured effects of one verdict with their intervals."""
    colour, symbol = LOOKS[verdict]
    means = []
    above = []
    below = []
    bounds = []
    for row in rows:
        low, mean, high = row["interval"]
        means.append(mean)
        above.append(high - mean)
        below.append(mean - low)
        bounds.append((low, high))
    figure.add_scatter(
        x=means,
        y=[claims[row["study"]] for row in rows],
        mode="markers",
        name=verdict,
        marker={"color": colour, "symbol": symbol, "size": 11},
        error_x={"array": above, "arrayminus": below, "thickness": 4, "width": 0, "color": colour},
        hovertemplate="%{x:+.2f} points, %{customdata[0]:+.2f} to %{customdata[1]:+.2f}<extra></extra>",
        customdata=bounds,
    )


def _in_words(row: dict) -> str:
    low = min(row["published"])
    high = max(row["published"])
    if low == high:
        published = f"{low:+.1f}"
    else:
        published = f"{low:+.1f} to {high:+.1f}"
    if row["interval"]:
        low, mean, high = row["interval"]
        here = f"here {mean:+.1f} ({low:+.1f} to {high:+.1f}), {row['verdict']}"
    else:
        here = row["verdict"]
    return f"{row['says']} Published {published} points; {here}."
