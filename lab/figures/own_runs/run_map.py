"""004, figures 7, 13, 16 and 18 to 29: one heat map for any two settings of any set of runs."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from lab.core import style
from lab.figures import _bundled, _runs
from lab.figures._base import Numbers, PlotlyFigure, knob


class RunMap(_runs.RunFigure):
    """Mean score of the runs in each cell of two settings."""

    title = "A score over two settings of the runs"
    source = "Contextual, figures 7, 13, 16, 18 to 29"
    question = "Is there a ridge, or a single lucky cell?"
    stops = {
        "study": (
            "anchor_epochs",
            "anchor_widths",
            "batch_size",
            "contextual_classes",
            "contextual_gap",
            "contextual_noise",
            "contextual_parts",
            "contextual_weights",
        ),
        "metric": ("MAP@R", "r@1"),
    }

    study: str = knob("Stored sweep to show if no runs are selected.", default="contextual_weights")
    x: str = knob("Setting on the horizontal axis.", default="loss.lam")
    y: str = knob("Setting on the vertical axis.", default="optimiser.lr")
    metric: str = knob("Score.", default="r@1")
    split: str = _runs.SPLIT

    def idle(self, runs: Sequence | None = None) -> set[str]:
        return {"x", "y", "split"} if runs is None else {"study"}

    def example(self) -> Sequence:
        return _bundled.swept(self.knobs.study)

    def numbers(self, runs: Sequence = ()) -> Numbers:
        k = self.knobs
        on_x, on_y = _bundled.axes(runs) or (k.x, k.y)
        cells = defaultdict(list)
        there = _runs.settings(runs)
        missing = [name for name in (on_x, on_y) if name not in there]
        if missing:
            raise ValueError(
                f"RunMap: no run has {' or '.join(missing)}. Settings: {', '.join(there)}."
            )
        for run in runs:
            value = _runs.score(run, k.metric, k.split)
            if not np.isnan(value):
                cells[str(_runs.setting(run, on_x)), str(_runs.setting(run, on_y))].append(value)
        if not cells:
            raise ValueError(
                f"RunMap: none of the {len(runs)} runs has a {k.split} score {k.metric}."
            )
        xs, ys = (sorted({key[axis] for key in cells}, key=_numeric) for axis in (0, 1))
        mean = np.array(
            [[np.mean(cells[x, y]) if (x, y) in cells else np.nan for x in xs] for y in ys]
        )
        count = np.array([[len(cells[x, y]) if (x, y) in cells else 0 for x in xs] for y in ys])
        return {
            "x": xs,
            "y": ys,
            "axes": (on_x, on_y),
            "mean": mean,
            "runs": count,
            "origin": _bundled.origin(runs),
        }

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        k = self.knobs
        (x, y) = numbers["axes"]
        figure = self.canvas(
            f"{int(numbers['runs'].sum())} runs; the star marks the best cell{numbers['origin']}",
            x=x,
            y=y,
            height=480,
        )
        figure.add_heatmap(
            x=numbers["x"],
            y=numbers["y"],
            z=numbers["mean"],
            colorscale=style.SEQUENTIAL,
            xgap=2,
            ygap=2,
            colorbar={"title": k.metric},
            customdata=numbers["runs"],
            texttemplate="%{z:.3f}",
            hovertemplate=f"{x} %{{x}}<br>{y} %{{y}}<br>%{{z:.4f}} over %{{customdata}} runs<extra></extra>",
        )
        row, column = np.unravel_index(np.nanargmax(numbers["mean"]), numbers["mean"].shape)
        figure.add_annotation(
            x=int(column),
            y=int(row),
            text="★",
            showarrow=False,
            yshift=18,
            font={"size": 20, "color": style.VERMILLION},
        )
        figure.update_xaxes(type="category")
        return figure.update_yaxes(type="category")

    def alt(self, numbers: Numbers) -> str:
        row, column = np.unravel_index(np.nanargmax(numbers["mean"]), numbers["mean"].shape)
        x, y = numbers["axes"]
        return (
            f"{self.knobs.metric} over {x} and {y}; best {np.nanmax(numbers['mean']):.3f} at "
            f"{x} {numbers['x'][column]}, {y} {numbers['y'][row]}."
        )


def _numeric(text: str) -> tuple:
    """Return a sort key: numbers by value, before words."""
    try:
        return 0, float(text), ""
    except ValueError:
        return 1, 0.0, text
