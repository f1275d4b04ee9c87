"""002: what papers report against what one fair protocol measures, on CUB-200-2011."""

from typing import Literal

import numpy as np

from lab.core import style
from lab.figures._base import BESIDE, LEFT, Figure, Numbers, PlotlyFigure, knob, marks

FAIR = {
    "Pretrained": (51.05, None, 24.85, None, 14.21, None, 50.54, None, 25.12, None, 14.53, None),
    "Contrastive": (68.13, 0.31, 37.24, 0.28, 26.53, 0.29, 59.73, 0.40, 31.98, 0.29, 21.18, 0.28),
    "Triplet": (64.24, 0.26, 34.55, 0.24, 23.69, 0.23, 55.76, 0.27, 29.55, 0.16, 18.75, 0.15),
    "NT-Xent": (66.61, 0.29, 35.96, 0.21, 25.09, 0.22, 58.12, 0.23, 30.81, 0.17, 19.87, 0.16),
    "ProxyNCA": (65.69, 0.43, 35.14, 0.26, 24.21, 0.27, 57.88, 0.30, 30.16, 0.22, 19.32, 0.21),
    "Margin": (63.60, 0.48, 33.94, 0.27, 23.09, 0.27, 54.78, 0.30, 28.86, 0.18, 18.11, 0.17),
    "Margin/class": (64.37, 0.18, 34.59, 0.16, 23.71, 0.16, 55.56, 0.16, 29.32, 0.15, 18.51, 0.13),
    "N. Softmax": (65.65, 0.30, 35.99, 0.15, 25.25, 0.13, 58.75, 0.19, 31.75, 0.12, 20.96, 0.11),
    "CosFace": (67.32, 0.32, 37.49, 0.21, 26.70, 0.23, 59.63, 0.36, 31.99, 0.22, 21.21, 0.22),
    "ArcFace": (67.50, 0.25, 37.31, 0.21, 26.45, 0.20, 60.17, 0.32, 32.37, 0.17, 21.49, 0.16),
    "FastAP": (63.17, 0.34, 34.20, 0.20, 23.53, 0.20, 55.58, 0.31, 29.72, 0.16, 19.09, 0.16),
    "SNR": (66.44, 0.56, 36.56, 0.34, 25.75, 0.36, 58.06, 0.39, 31.21, 0.28, 20.43, 0.28),
    "MS": (65.04, 0.28, 35.40, 0.12, 24.70, 0.13, 57.60, 0.24, 30.84, 0.13, 20.15, 0.14),
    "MS+Miner": (67.73, 0.18, 37.37, 0.19, 26.52, 0.18, 59.41, 0.30, 31.93, 0.15, 21.01, 0.14),
    "SoftTriple": (67.27, 0.39, 37.34, 0.19, 26.51, 0.20, 59.94, 0.33, 32.12, 0.14, 21.31, 0.14),
}
"""P@1, R-precision, MAP@R, each with its interval, at 512 dimensions; the same at 128. Musgrave et al. 2020, by 002."""

METRICS = ("P@1", "R-precision", "MAP@R")

REPORTED = {
    "Triplet": (2015, 42.5, "GoogLeNet", 64),
    "ProxyNCA": (2017, 49.2, "BN-Inception", 64),
    "Margin": (2017, 63.6, "ResNet-50", 128),
    "N. Softmax": (2019, 61.3, "ResNet-50", 512),
    "MS": (2019, 65.7, "BN-Inception", 512),
    "SoftTriple": (2019, 65.4, "BN-Inception", 512),
}
"""Year, R@1, backbone and width that the method's own paper reports, as listed in 002."""

LATER = {"Proxy Anchor": (2020, 68.4, "BN-Inception", 512)}
"""A method that was published after the fair protocol; only the view over years shows it."""

YEARS = {
    "Contrastive": 2006, "Triplet": 2006, "NT-Xent": 2016, "ProxyNCA": 2017, "Margin": 2017, "Margin/class": 2017,
    "N. Softmax": 2017, "CosFace": 2018, "ArcFace": 2019, "FastAP": 2019, "SNR": 2019, "MS": 2019, "MS+Miner": 2019,
    "SoftTriple": 2019,
}  # fmt: skip
"""When each method came, by the table of the fair protocol."""


class RealityCheck(Figure):
    """Methods under one protocol with their confidence intervals, compared with the numbers of their own papers."""

    title = "Paper against reality, CUB-200-2011"
    source = "DML deck, slides on the metric learning reality check (Musgrave et al. 2020)"
    tier = "static"
    question = "Which reported gain survives the same backbone, the same width and the same budget?"
    moves = ("by", "metric")

    metric: Literal["P@1", "R-precision", "MAP@R"] = knob(
        "Metric under the fair protocol.", default="P@1"
    )
    dim: Literal["512", "128"] = knob(
        "Width: four 128-wide models concatenated, or one alone.", default="512"
    )
    by: Literal["year", "method"] = knob(
        "View: two panels over the years, with the trend of each, as on the slide; or one line for each method.",
        default="year",
    )
    reported: bool = knob(
        "Also show what the papers reported (P@1, one line for each method).", default=True
    )

    def idle(self, runs: object = None) -> set[str]:
        if self.knobs.by == "method" and self.knobs.metric == "P@1":
            return set()
        return {"reported"}

    def numbers(self) -> Numbers:
        column = 2 * METRICS.index(self.knobs.metric)
        if self.knobs.dim == "128":
            column += 6
        with_reported = self.knobs.reported and self.knobs.metric == "P@1"
        return {
            "names": list(FAIR),
            "value": np.array([row[column] for row in FAIR.values()]),
            "interval": np.array([row[column + 1] or 0.0 for row in FAIR.values()]),
            "reported": dict(REPORTED) if with_reported else {},
            "years": np.array([YEARS.get(name, 0) for name in FAIR]),
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        if self.knobs.by == "year":
            return self._over_years(numbers)
        return self._by_method(numbers)

    def _over_years(self, numbers: Numbers) -> PlotlyFigure:
        # Year and score of each method, by its own paper and under the fair protocol, and the line through each.
        papers = {name: (row[0], row[1]) for name, row in (REPORTED | LATER).items()}
        fair = {}
        for name, year, value in zip(
            numbers["names"], numbers["years"], numbers["value"], strict=True
        ):
            if year:
                fair[name] = (int(year), float(value))
        trends = []
        for rows in (papers, fair):
            points = np.array(list(rows.values()), float)
            trends.append(np.polyfit(points[:, 0], points[:, 1], 1))

        figure = self.canvas(
            f"by the papers' own numbers r@1 changes by <b>{_signed(trends[0][0])}</b> points a year, under one fair "
            f"protocol {self.knobs.metric} by <b>{_signed(trends[1][0])}</b>",
            panels=("as each paper reports it", f"one fair protocol, {self.knobs.dim}-wide"),
            horizontal_spacing=0.09,
            height=560,
            y=("r@1 (%)",),
            x="year",
        )
        for panel, (rows, trend) in enumerate(zip((papers, fair), trends, strict=True)):
            self._panel(figure, rows, trend, panel)
        metric = self.knobs.metric
        values = [value for _, value in fair.values()]
        if metric == "P@1":
            value_range = [38.0, 74.0]
        else:
            value_range = [min(values) - 4.0, max(values) + 4.0]
        figure.update_yaxes(range=[38, 74], **LEFT)
        figure.update_yaxes(title_text=f"{metric} (%)", range=value_range, **BESIDE)
        figure.update_xaxes(range=[2005, 2023], tickvals=[2006, 2010, 2015, 2020])
        return style.legend_below(figure)

    def _panel(
        self,
        figure: PlotlyFigure,
        rows: dict[str, tuple[int, float]],
        trend: np.ndarray,
        panel: int,
    ) -> None:
        """Draw the methods of one panel over the years, each with its name, and the straight line through them."""
        points = np.array(list(rows.values()), float)
        years = points[:, 0]
        values = points[:, 1]
        slope, start = trend
        ends = np.array([years.min(), years.max()])
        figure.add_scatter(
            x=ends,
            y=start + slope * ends,
            mode="lines",
            name="straight line through them",
            showlegend=panel == 0,
            line={"color": style.GREY, "width": 3, "dash": "dash"},
            hoverinfo="skip",
            row=1,
            col=panel + 1,
        )
        marks(
            figure,
            1 - panel,
            ("own paper", "fair protocol")[panel],
            years,
            values,
            size=11,
            text=list(rows),
            hovertemplate="%{text}, %{x}: %{y:.1f}<extra></extra>",
            row=1,
            col=panel + 1,
        )
        methods = rows if panel == 0 else _outstanding(rows)
        for year in np.unique(years):
            same = {name: value for name, (y, value) in methods.items() if y == year}
            for name, height in _spread(same, 1.7).items():
                figure.add_annotation(
                    x=year,
                    y=height,
                    text=name,
                    showarrow=False,
                    xanchor="left",
                    xshift=10,
                    font={"size": 12},
                    row=1,
                    col=panel + 1,
                )

    def _by_method(self, numbers: Numbers) -> PlotlyFigure:
        if numbers["reported"]:
            subtitle = (
                f"{style.WRONG} reported numbers differ in backbone and width, "
                "so they compare budgets, not losses"
            )
        else:
            subtitle = "one backbone (BN-Inception), one width, one tuning budget; bars are 95 % confidence intervals"
        figure = self.canvas(subtitle, x=f"{self.knobs.metric} (%)", height=640)
        marks(
            figure,
            0,
            f"fair protocol, {self.knobs.dim}-wide",
            numbers["value"],
            numbers["names"],
            size=11,
            error_x={"array": numbers["interval"], "thickness": 2},
        )
        rows = numbers["reported"]
        if rows:
            figure.add_scatter(
                x=[r[1] for r in rows.values()],
                y=list(rows),
                mode="markers+text",
                name="own paper",
                marker=style.marker(1, 11),
                textposition="middle left",
                text=[
                    f"{year}, {backbone}, {width}-wide  "
                    for year, _, backbone, width in rows.values()
                ],
            )
            figure.update_xaxes(range=[24, 71])
        figure.update_yaxes(
            autorange="reversed",
            type="category",
            categoryorder="array",
            categoryarray=numbers["names"],
        )
        return style.legend_below(figure)

    def alt(self, numbers: Numbers) -> str:
        low = numbers["value"][1:].min()
        high = numbers["value"][1:].max()
        return (
            f"{self.knobs.metric} of {len(FAIR) - 1} trained methods under one protocol lies between {low:.1f} and "
            f"{high:.1f} %; "
            f"the papers of {len(numbers['reported'])} of them report numbers of other backbones and widths."
        )


def _signed(value: float) -> str:
    """Return a number with its sign, but 0.0 without a sign."""
    text = f"{value:+.1f}"
    return text if float(text) else "0.0"


def _outstanding(rows: dict[str, tuple[int, float]]) -> dict[str, tuple[int, float]]:
    """Return the methods to name where points are dense: the first, the best of the last year, and the worst of all."""
    years = [year for year, _ in rows.values()]
    first = [name for name, (year, _) in rows.items() if year == min(years)]
    last = [name for name, (year, _) in rows.items() if year == max(years)]
    best_of_last = max(last, key=lambda name: rows[name][1])
    worst = min(rows, key=lambda name: rows[name][1])
    named = {*first, best_of_last, worst}
    return {name: row for name, row in rows.items() if name in named}


def _spread(values: dict[str, float], gap: float) -> dict[str, float]:
    """Return heights for labels of these values, at least `gap` apart and close to the values."""
    if not values:
        return {}
    order = sorted(values, key=values.__getitem__)
    heights = [values[name] for name in order]
    for i in range(1, len(heights)):
        heights[i] = max(heights[i], heights[i - 1] + gap)
    shift = float(np.mean(heights)) - float(np.mean(list(values.values())))
    return {name: height - shift for name, height in zip(order, heights, strict=True)}
