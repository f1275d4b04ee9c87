"""000 figure 4, 001 figures 4 and 5, 003 figures 4 and 6, 004 figure 6, on own runs: a score over one setting."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from lab.core.estimates import deviation
from lab.figures import _bundled, _runs
from lab.figures._base import Numbers, PlotlyFigure, curve, knob

WIDE = 8
"""Largest over smallest value from which an axis of positive numbers is logarithmic."""


class RunSweep(_runs.RunFigure):
    """Mean and deviation over the runs that agree on the axis and the group, usually over seeds."""

    title = "A score over one setting of the runs"
    source = "RS@k, figure 4; ROADMAP, figures 4 and 5; CAM, figures 4 and 6; Contextual, figure 6"
    question = (
        "Is the difference between two settings larger than the difference between two seeds?"
    )
    stops = {
        "study": (
            "anchor_epochs",
            "anchor_shots",
            "anchor_widths",
            "batch_size",
            "calibration_gain",
            "contextual_noise",
            "contextual_weights",
            "tau1",
        ),
        "metric": ("MAP@R", "r@1"),
    }

    study: str = knob(
        "Sweep that comes with the package and is shown, on its own axes, when no runs are given.",
        default="batch_size",
    )
    axis: str = knob(
        "Setting on the horizontal axis, for instance loss.tau1.", default="sampler.batch_size"
    )
    group: str = knob("Setting that makes the lines.", default="loss.name")
    metric: str = knob("Score.", default="MAP@R")
    split: str = _runs.SPLIT

    def idle(self, runs: Sequence | None = None) -> set[str]:
        return {"axis", "group", "split"} if runs is None else {"study"}

    def example(self) -> Sequence:
        return _bundled.swept(self.knobs.study)

    def numbers(self, runs: Sequence = ()) -> Numbers:
        k = self.knobs
        axis, group = _bundled.axes(runs) or (k.axis, k.group)
        cells: dict[str, dict[Any, list[float]]] = defaultdict(lambda: defaultdict(list))
        for run in runs:
            value = _runs.score(run, k.metric, k.split)
            at = _runs.setting(run, axis)
            if at is not None and not np.isnan(value):
                cells[str(_runs.setting(run, group))][
                    at if isinstance(at, int | float) else str(at)
                ].append(value)
        if not cells:
            known = ", ".join(_runs.settings(runs))
            raise ValueError(
                f"RunSweep: no run has both {axis} and a {k.split} score {k.metric}. Settings: {known}."
            )
        lines = {}
        for name, values in cells.items():
            x = sorted(values, key=lambda v: (isinstance(v, str), v))
            lines[name] = {
                "x": x,
                "mean": np.array([np.mean(values[v]) for v in x]),
                "deviation": np.array([deviation(values[v]) for v in x]),
                "runs": [len(values[v]) for v in x],
            }
        return {"lines": lines, "axis": axis, "group": group, "origin": _bundled.origin(runs)}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        k = self.knobs
        total = sum(sum(line["runs"]) for line in numbers["lines"].values())
        figure = self.canvas(
            f"{total} runs; bars are standard deviations{numbers['origin']}",
            x=numbers["axis"],
            y=f"{k.metric}, {k.split}",
        )
        for index, (name, line) in enumerate(numbers["lines"].items()):
            curve(
                figure,
                index,
                name,
                line["x"],
                line["mean"],
                size=9,
                error_y={"array": line["deviation"]},
                customdata=line["runs"],
                hovertemplate="%{x}: %{y:.4f} over %{customdata} runs",
            )
        places = sorted(
            {
                x
                for line in numbers["lines"].values()
                for x in line["x"]
                if isinstance(x, int | float)
            }
        )
        if places and places[0] > 0 and places[-1] >= WIDE * places[0]:
            title = f"{numbers['axis']} (log scale)"
            figure.update_xaxes(
                type="log", tickvals=places, ticktext=[f"{x:g}" for x in places], title_text=title
            )
        return figure.update_layout(showlegend=True)

    def alt(self, numbers: Numbers) -> str:
        values = [
            f"{name}: best {line['mean'].max():.3f} at {line['x'][int(line['mean'].argmax())]}"
            for name, line in numbers["lines"].items()
        ]
        return f"{self.knobs.metric} over {numbers['axis']}, by {numbers['group']}. {'; '.join(values)}."
