"""002: what each trick of the trade brought, measured: one after the other, and each alone."""

from typing import Literal

import numpy as np

from lab.core import style
from lab.core.estimates import Estimate
from lab.core.outcome_file import OutcomeFile, read_outcome
from lab.core.stored import read
from lab.figures._base import Figure, Numbers, PlotlyFigure, knob
from lab.figures._bundled import EXAMPLES

CHAIN = "one after the other"
ALONE = "alone"
"""The two halves of the report, as `lab papers protocol tricks` writes them."""

UNSURE = "≈"

_STYLES = {
    1: (style.RIGHT, style.BLUE, ""),
    -1: (style.WRONG, style.VERMILLION, "/"),
    0: (UNSURE, style.GREY, "."),
}
"""Mark, colour and pattern of a gain, a loss, and of what may be either."""


class MeasuredTricks(Figure):
    """A waterfall of measured scores; whiskers are the 95 % intervals of the gains over seeds (Student's t).

    Shows the outcome of `lab papers protocol tricks`; without a file that of Emoji-7, which comes with the project.
    """

    title = "Measured gain of each trick"
    source = "DML deck, slides on tricks to improve performance"
    tier = "static"
    question = "Which tricks add up, which take away from one another, and which gains does another seed undo?"

    file: str = knob(
        "File outcome.json of `lab papers protocol tricks`; by default the results on Emoji-7.",
        default="",
        path=True,
    )
    metric: str = knob("Score to show.", default="MAP@R")
    show: Literal["one after the other", "alone"] = knob(
        "Show tricks added one after the other, or each alone.", default=CHAIN
    )

    def numbers(self) -> Numbers:
        stored = _read(self.knobs.file)
        metric = self.knobs.metric
        gain_of_metric = f"{self.knobs.metric} gain"
        rows = [row for row in stored["rows"] if row["setting"].get("tricks") == self.knobs.show]

        # Put the baseline first, and refuse a file that does not hold the metric.
        base = next(
            (row for row in stored["rows"] if row["setting"].get("switched on") == "baseline"), None
        )
        columns: list[str] = []
        if base is not None:
            columns = [column for column in base["scores"] if not column.endswith(" gain")]
            if self.knobs.show == ALONE and rows:
                rows = [base, *rows]
        if base is None or metric not in columns or len(rows) < 2:
            raise ValueError(
                f"MeasuredTricks: {self.knobs.file or 'the example'} holds no waterfall of {metric!r}; it has "
                f"{', '.join(columns) or 'no scores of tricks'}."
            )
        for row in rows:
            if metric not in row["scores"]:
                raise ValueError(f"MeasuredTricks: {self.knobs.file} has a row without {metric!r}.")
        for row in rows[1:]:
            if gain_of_metric not in row["scores"]:
                raise ValueError(
                    f"MeasuredTricks: {self.knobs.file} has a row without {gain_of_metric!r}."
                )

        gains = [Estimate.read(row["scores"][gain_of_metric]) for row in rows[1:]]
        return {
            "names": [str(row["setting"].get("switched on")) for row in rows],
            "scores": np.array([Estimate.read(row["scores"][metric]).mean for row in rows]),
            "gains": np.array([gain.mean for gain in gains]),
            "halves": np.array([np.nan if gain.half is None else gain.half for gain in gains]),
            "seeds": gains[0].count,
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        gains = 100 * numbers["gains"]
        halves = 100 * numbers["halves"]
        names = numbers["names"]
        base = 100 * numbers["scores"][0]
        chained = self.knobs.show == CHAIN
        if chained:
            start = 100 * numbers["scores"][:-1]
        else:
            start = np.full(len(gains), base)
        # No sign where the interval over seeds holds zero, or where one seed gives no interval.
        verdict = np.where(np.abs(gains) > halves, np.sign(gains), 0)
        if chained:
            whole = f"all together <b>{gains.sum():+.1f} points</b>"
        else:
            whole = "each over the same baseline"
        figure = self.canvas(
            f"{numbers['seeds']} seeds; whiskers: 95 % over seeds, grey ({UNSURE}) if they reach zero; {whole}",
            x="tricks, added from left to right" if chained else "trick, each by itself",
            y=f"{self.knobs.metric} (%)",
            height=520,
        )
        figure.add_bar(
            x=names[:1],
            y=[base],
            name="baseline",
            marker={"color": style.BLACK},
            showlegend=False,
            text=[f"{base:.1f}"],
            textposition="outside",
        )
        for sign, (_, colour, shape) in _STYLES.items():
            mine = np.flatnonzero(verdict == sign)
            if len(mine):
                figure.add_bar(
                    x=[names[i + 1] for i in mine],
                    y=gains[mine],
                    base=start[mine],
                    showlegend=False,
                    marker={"color": colour, "pattern": {"shape": shape}},
                    error_y={
                        "array": np.nan_to_num(halves[mine]),
                        "color": style.BLACK,
                        "thickness": 1.5,
                    },
                    customdata=[[_gain(gains[i], halves[i], 2), start[i] + gains[i]] for i in mine],
                    hovertemplate="%{x}: %{customdata[0]} points, to %{customdata[1]:.1f}<extra></extra>",
                )
        tops = np.maximum(start, start + gains + np.nan_to_num(halves))
        for i, name in enumerate(names[1:]):
            style.note(
                figure,
                f"{_STYLES[verdict[i]][0]} {gains[i]:+.1f}",
                name,
                tops[i],
                yanchor="bottom",
                yshift=4,
            )
        # from zero: the length of the first bar is its score
        figure.update_yaxes(range=[0, 1.08 * max(base, *tops)])
        broken = [name.replace(" ", "<br>") for name in names]
        return figure.update_xaxes(
            type="category",
            categoryorder="array",
            categoryarray=names,
            tickvals=names,
            ticktext=broken,
            tickangle=0,
        )

    def alt(self, numbers: Numbers) -> str:
        rows = zip(
            numbers["names"][1:], 100 * numbers["gains"], 100 * numbers["halves"], strict=True
        )
        values = ", ".join(f"{name} {_gain(gain, half, 1)}" for name, gain, half in rows)
        if self.knobs.show == CHAIN:
            how = "added one after the other"
        else:
            how = "each alone"
        return (
            f"{self.knobs.metric} of {100 * numbers['scores'][0]:.1f} % without tricks; gains in points of tricks "
            f"{how}, over {numbers['seeds']} seeds: {values}."
        )


def _gain(gain: float, half: float, digits: int) -> str:
    """A gain with half its interval, in points."""
    if np.isnan(half):
        interval = "(one seed, no interval)"
    else:
        interval = f"± {half:.{digits}f}"
    return f"{gain:+.{digits}f} {interval}"


def _read(file: str) -> OutcomeFile:
    """Return the outcome in a file, or the example of the package.

    Raises:
        ValueError: the file cannot be read or is no outcome of the tricks.
    """
    if not file:
        return read(EXAMPLES / "tricks_emoji7.json", OutcomeFile)
    stored = read_outcome(file, "MeasuredTricks", "lab papers protocol tricks")
    if stored["protocol"] != "tricks":
        raise ValueError(
            f"MeasuredTricks: {file} is an outcome of the protocol {stored['protocol']}, not of tricks."
        )
    return stored
