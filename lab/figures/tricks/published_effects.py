"""000 to 004: what the papers report of their losses, beside what comes of it here, claim by claim."""

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
    question = "Which published gains show in a small training, and which are too small to be seen in one?"

    paper: Literal["RS@k", "ROADMAP", "CAM", "Contextual"] = knob("The paper whose claims are shown.", default="RS@k")

    def numbers(self) -> Numbers:
        rows = json.loads(trials.EFFECTS.read_text(encoding="utf-8"))
        return {"rows": [row for row in reversed(rows) if row["paper"] == self.knobs.paper]}  # plotly draws from below

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        rows = numbers["rows"]
        figure = self.canvas(
            f"{self.knobs.paper}; ○ published; bars: on emoji, 95 % over seeds and classes; grey: too small to be seen",
            x="first less second, points",
            y="claim",
            height=180 + 52 * len(rows),
        )
        places = {row["study"]: style.wrapped(row["says"], 44) for row in rows}
        blind = [row for row in rows if row["interval"] is None and row["visible"]]
        if blind:
            wide = {"type": "data", "array": [row["visible"] for row in blind], "thickness": 8, "width": 0}
            figure.add_scatter(
                x=[0] * len(blind), y=[places[row["study"]] for row in blind], mode="markers", name="not tried",
                marker={"color": style.GREY, "symbol": "square", "size": 8}, error_x={**wide, "color": "#BBB"},
                hovertemplate="not tried: only effects of ± %{customdata:.2f} points would be seen<extra></extra>",
                customdata=[row["visible"] for row in blind],
            )  # fmt: skip
        for verdict, (colour, symbol) in LOOKS.items():
            mine = [row for row in rows if row["verdict"] == verdict and row["interval"]]
            if mine:
                low, mean, high = zip(*(row["interval"] for row in mine), strict=True)
                above = [h - m for h, m in zip(high, mean, strict=True)]
                below = [m - lo for m, lo in zip(mean, low, strict=True)]
                figure.add_scatter(
                    x=mean, y=[places[row["study"]] for row in mine], mode="markers", name=verdict,
                    marker={"color": colour, "symbol": symbol, "size": 11},
                    error_x={"array": above, "arrayminus": below, "thickness": 4, "width": 0, "color": colour},
                    hovertemplate="%{x:+.2f} points, %{customdata[0]:+.2f} to %{customdata[1]:+.2f}<extra></extra>",
                    customdata=list(zip(low, high, strict=True)),
                )  # fmt: skip
        dots = [(places[row["study"]], points) for row in rows for points in row["published"]]
        figure.add_scatter(
            x=[points for _, points in dots], y=[place for place, _ in dots], mode="markers", name="published",
            marker={"color": style.BLACK, "symbol": "circle-open", "size": 9},
            hovertemplate="published: %{x:+.2f} points<extra></extra>",
        )  # fmt: skip
        figure.update_yaxes(categoryorder="array", categoryarray=list(places.values()), showgrid=False)
        return style.legend_below(figure)

    def alt(self, numbers: Numbers) -> str:
        return " ".join(_told(row) for row in reversed(numbers["rows"]))


def _told(row: dict) -> str:
    low, high = min(row["published"]), max(row["published"])
    published = f"{low:+.1f}" if low == high else f"{low:+.1f} to {high:+.1f}"
    if row["interval"]:
        low, mean, high = row["interval"]
        here = f"here {mean:+.1f} ({low:+.1f} to {high:+.1f}), {row['verdict']}"
    else:
        here = row["verdict"]
    return f"{row['says']} Published {published} points; {here}."
