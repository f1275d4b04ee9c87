"""002: what each trick of the trade was worth, as published."""

import textwrap
from typing import Literal

from lab.core import style
from lab.figures._base import Figure, Numbers, PlotlyFigure, knob

CHAINS = {
    "ProxyNCA++": (
        ("ProxyNCA, 2048-wide", 59.3), ("temperature", 62.9), ("normalised", 65.3),
        ("probabilities, class sampling", 69.1), ("max pooling", 70.3), ("fast proxies", 72.2),
    ),
    "max instead of average pooling": (
        ("untrained, average", 45.0), ("untrained, max", 53.1), ("Margin, average", 63.3), ("Margin, max", 64.3),
        ("Triplet, average", 60.5), ("Triplet, max", 61.6), ("MS, average", 64.9), ("MS, max", 68.5),
        ("MS on Inception, average", 65.1), ("MS on Inception, max", 66.1),
        ("HORDE on Inception, average", 65.1), ("HORDE on Inception, max", 63.1),
    ),
    "temperature": (
        ("ProxyNCA", 59.3), ("ProxyNCA, scaled", 62.9),
        ("class sampling", 54.8), ("class sampling, scaled", 64.0),
        ("probabilities", 59.0), ("probabilities, scaled", 63.4),
        ("normalised", 60.2), ("normalised, scaled", 65.3), ("max pooling", 61.3), ("max pooling, scaled", 65.1),
        ("fast proxies", 56.3), ("fast proxies, scaled", 64.3),
        ("max, fast", 60.3), ("max, fast, scaled", 67.2),
        ("norm, prob, sampling", 60.4), ("norm, prob, sampling, scaled", 69.1),
        ("those and max", 61.2), ("those and max, scaled", 70.3), ("all", 61.4), ("all, scaled", 72.2),
    ),
}  # fmt: skip
"""r@1 (%) on CUB-200-2011 as listed in 002, every pair of its tables. The ProxyNCA++ rows add to one another, each with
temperature; the others stand alone."""

DEVIATIONS = {
    "ProxyNCA++": (0.4, 0.4, 0.7, 0.5, 0.9, 0.8),
    "temperature": (
        0.4, 0.4, 6.2, 0.4, 0.4, 0.6, 0.6, 0.7, 0.7, 0.3, 0.8, 0.8, 0.5, 0.5, 0.7, 0.5, 0.7, 0.9, 0.4, 0.8,
    ),
}  # fmt: skip
"""Printed beside the numbers of these two tables."""

GROUP_LOSS = "Group Loss, at inference"
AT_INFERENCE = ("Group Loss", "β-normalisation", "mixed pooling", "re-ranking")
SCORES = {
    "CUB r@1": (65.5, 66.8, 67.5, 68.3), "CUB NMI": (69.0, 69.0, 69.5, 69.1),
    "Cars196 r@1": (85.6, 87.1, 88.2, 87.4), "Cars196 NMI": (72.7, 72.2, 72.9, 71.8),
    "SOP r@1": (75.1, 75.9, 78.1, 75.7), "SOP NMI": (90.8, 91.3, 91.2, None),
    "In-Shop r@1": (86.8, 87.1, 89.1, 87.8),
}  # fmt: skip
"""The same trained Group Loss, used in four ways; one cell is empty in 002."""


class Tricks(Figure):
    """A waterfall of published numbers; each bar says what the trick added."""

    title = "Published gain of each trick"
    source = "DML deck, slides on tricks to improve performance"
    tier = "static"
    question = (
        "How much of the gain over an older loss could be tricks that the older loss never got?"
    )
    moves = ("upto", "table")

    table: Literal[
        "ProxyNCA++", "Group Loss, at inference", "max instead of average pooling", "temperature"
    ] = knob("Published table to show.", default="ProxyNCA++")
    score: Literal[
        "CUB r@1", "CUB NMI", "Cars196 r@1", "Cars196 NMI", "SOP r@1", "SOP NMI", "In-Shop r@1"
    ] = knob("Data set and score; only the table of the Group Loss has several.", default="CUB r@1")
    upto: int = knob(
        "Number of rows to show; in some tables each adds a trick to those before.",
        default=20,
        ge=1,
        le=20,
    )

    def idle(self, runs: object = None) -> set[str]:
        return set() if self.knobs.table == GROUP_LOSS else {"score"}

    def numbers(self) -> Numbers:
        table = self.knobs.table
        score = "CUB r@1"
        if table == GROUP_LOSS:
            score = self.knobs.score
            steps = zip(AT_INFERENCE, SCORES[score], strict=True)
            rows = [(name, value) for name, value in steps if value is not None][: self.knobs.upto]
        else:
            rows = list(CHAINS[table][: self.knobs.upto])
        values = [value for _, value in rows]
        deviations = DEVIATIONS.get(table, (None,) * len(rows))[: len(rows)]
        return {
            "names": [name for name, _ in rows],
            "values": values,
            "deviations": deviations,
            "score": score,
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        names = numbers["names"]
        values = numbers["values"]
        adds = self.knobs.table == "ProxyNCA++"
        whole = f"together {values[-1] - values[0]:+.1f} points, the loss itself unchanged"
        figure = self.canvas(
            f"published {numbers['score']}, {self.knobs.table}; {whole if adds else 'each on its own'}",
            x="tricks, added from left to right" if adds else "variant",
            y=f"{numbers['score']} (%)",
            height=560,
        )
        names = ["<br>".join(textwrap.wrap(name, 16)) for name in names]
        texts = []
        for value, deviation in zip(values, numbers["deviations"], strict=True):
            spread = f" ± {deviation}" if deviation else ""
            texts.append(f"{value:.1f}{spread}")
        if adds:
            steps = [values[0]]
            for index in range(1, len(values)):
                steps.append(values[index] - values[index - 1])
                texts[index] = f"{steps[index]:+.1f} → {texts[index]}"
            figure.add_waterfall(
                x=names,
                y=steps,
                measure=["absolute"] + ["relative"] * (len(steps) - 1),
                text=texts,
                increasing={"marker": {"color": style.BLUE}},
                decreasing={"marker": {"color": style.VERMILLION}},
                totals={"marker": {"color": style.GREY}},
                connector={"line": {"dash": "dot", "color": style.GREY}},
                textposition="outside",
            )
        else:
            figure.add_bar(
                x=names,
                y=values,
                text=texts,
                textposition="outside",
                marker={"color": style.BLUE},
                error_y={
                    "array": [deviation or 0 for deviation in numbers["deviations"]],
                    "visible": any(numbers["deviations"]),
                },
            )
        # from zero: the length of a bar is its score
        figure.update_yaxes(range=[0, 1.08 * max(values)])
        return figure

    def alt(self, numbers: Numbers) -> str:
        rows = []
        for name, value in zip(numbers["names"], numbers["values"], strict=True):
            rows.append(f"{name} {value:.1f}")
        return f"Published {numbers['score']}, {self.knobs.table}: {', '.join(rows)}."
