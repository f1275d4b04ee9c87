"""Loss and validation scores of finished or running runs over their steps."""

from collections.abc import Sequence

import numpy as np

from lab.core import style
from lab.figures._base import LEFT, Numbers, PlotlyFigure, curve, knob, panel
from lab.figures._runs import RunFigure


class RunCurves(RunFigure):
    """Training loss on the left, one validation metric on the right, a line a run."""

    title = "Loss and validation curves of the runs"
    source = "RS@k, figure 4; CAM, figure 5; Contextual, figures 3 and 15, on own runs"
    question = "Does the run with the lower loss also have the higher score?"

    metric: str = knob("Validation metric.", default="r@1")
    smooth: int = knob("Number of steps over which the loss is averaged.", default=20, ge=1, le=500)
    log_loss: bool = knob("Logarithmic loss axis.", default=False)

    def offers(self, runs: Sequence) -> dict[str, Sequence[str]]:
        names = (
            name for run in runs for record in run.metrics("validated") for name in record["values"]
        )
        return {"metric": list(dict.fromkeys(names))}

    def numbers(self, runs: Sequence = ()) -> Numbers:
        curves = {}
        for run in runs:
            stepped = [
                (r["step"], r["loss"]) for r in run.metrics("stepped") if r.get("loss") is not None
            ]
            validated = [
                (r["step"], r["values"][self.knobs.metric])
                for r in run.metrics("validated")
                if r["values"].get(self.knobs.metric) is not None
            ]
            steps, losses = np.array(stepped, dtype=float).reshape(-1, 2).T
            window = min(self.knobs.smooth, max(1, len(losses)))
            if len(losses):
                smooth = np.convolve(losses, np.ones(window) / window, "valid")
            else:
                smooth = losses
            curves[run.name] = {
                "steps": steps[len(steps) - len(smooth) :],
                "loss": smooth,
                "validated": np.array(validated, dtype=float).reshape(-1, 2).T,
            }
        return {"curves": curves}

    def draw(self, numbers: Numbers) -> PlotlyFigure:
        figure = self.canvas(
            f"loss averaged over {self.knobs.smooth} steps",
            panels=("training loss", f"validation {self.knobs.metric}"),
            x="training step",
            y=("loss", self.knobs.metric),
        )
        for index, (name, one) in enumerate(numbers["curves"].items()):
            curve(figure, index, name, one["steps"], one["loss"], **panel(1, name))
            curve(figure, index, name, *one["validated"], size=7, **panel(2, name))
        figure.update_yaxes(type="log" if self.knobs.log_loss else "linear", **LEFT)
        return style.legend_below(figure)

    def alt(self, numbers: Numbers) -> str:
        values = [
            f"{name} ends at a loss of {c['loss'][-1]:.4g}"
            + (f", {c['validated'][1][-1]:.3f}" if c["validated"].size else "")
            for name, c in numbers["curves"].items()
            if len(c["loss"])
        ]
        return f"Loss and validation {self.knobs.metric} of {len(numbers['curves'])} runs: {'; '.join(values)}."
